/** Reads events with their deliveries and attempts. */
import { OF_EVENTS } from "../../rows/key-times.ts";
import { StoredTimes } from "../numbers/keys.ts";
import type { Database, Statement } from "better-sqlite3";
import { eventStatus, type EventStatus } from "../../../domain/deliveries/delivery.ts";
import { dataOf } from "../../../domain/events/event.ts";
import type { EventQuery, EventSummary, EventView } from "../../store.ts";
import type { Attempts } from "../attempts/attempts.ts";
import type { Deliveries } from "../deliveries/deliveries.ts";
import type { DeliveryRow } from "../../rows/delivery-row.ts";
import { checkOf } from "../../lists/conditions.ts";
import { planOf } from "../lists/plan.ts";
import { type EndpointIndex } from "../numbers/endpoint-index.ts";
import type { Looked, Walk } from "../engine/page.ts";
import { MergedKeys } from "../lists/merged-keys.ts";
import type { DataSearch } from "../lists/data-search.ts";
import type { Labels } from "../lists/labels.ts";
import { type Sources } from "../lists/sources.ts";
import { Totals } from "../lists/totals.ts";
import { shownStatus } from "../../rows/shown-status.ts";
import { eventId, parseEventId } from "../../rows/codes.ts";
import type { Interned } from "../numbers/names.ts";
import { LARGE_DATA } from "../numbers/fragments.ts";
import { isOneOf, seeksResult } from "../../lists/filters.ts";

/** The number of deliveries shown inside an event. */
const MAX_SHOWN = 100;

export interface EventRow {
  readonly key: number;
  readonly random: string;
  readonly tenant: number;
  readonly type: number;
  readonly created_at: number;
  readonly test: number;
  readonly choice: number;
  readonly erased_at: number | null;
  readonly ordering_key: string | null;
}

export interface FoundEvent {
  readonly id: string;
  readonly key: number;
  readonly test: boolean;
  readonly erased: boolean;
  readonly row: EventRow;
}

interface Parts {
  readonly tenants: Interned;
  readonly types: Interned;
  readonly index: EndpointIndex;
  readonly deliveries: Deliveries;
  readonly attempts: Attempts;
  readonly labels: Labels;
  readonly data: DataSearch;
  readonly sources: Sources;
}

const COLUMNS = "e.key, e.random, e.tenant, e.type, e.created_at, e.test, e.choice, e.erased_at, e.ordering_key";

export class Events {
  readonly #parts: Parts;
  readonly #select: Statement<[number], EventRow & { readonly erased: number }>;
  readonly #body: Statement<[number], { body: Buffer | null; large: number | null; data: Buffer | null }>;
  readonly #keys: MergedKeys;
  readonly #totals: Totals;
  readonly #everything: Readonly<Record<EventQuery["order"], Statement<unknown[], EventRow>>>;
  readonly #times: StoredTimes;

  constructor(db: Database, parts: Parts) {
    this.#times = new StoredTimes(db, OF_EVENTS);
    this.#keys = new MergedKeys(db);
    this.#totals = new Totals(db, parts.sources);
    this.#parts = parts;
    this.#select = db.prepare(`SELECT ${COLUMNS}, e.body IS NULL AS erased FROM event e WHERE e.key = ?`);
    this.#body = db.prepare(`SELECT body, large, ${LARGE_DATA} AS data FROM event WHERE key = ?`);
    const everything = (within: string, way: string) =>
      db.prepare<unknown[], EventRow>(
        `SELECT ${COLUMNS} FROM event e WHERE ${within} ORDER BY e.key ${way} LIMIT @limit`,
      );
    this.#everything = {
      newest: everything("e.key < @key AND e.key > @end", "DESC"),
      oldest: everything("e.key > @key AND e.key < @end", "ASC"),
    };
  }

  /** Returns the event with exactly this id, if the tenant may see it. */
  find(tenant: string | null, id: string): FoundEvent | null {
    const parsed = parseEventId(id);
    const row = parsed === null ? undefined : this.#select.get(parsed.key);
    if (row === undefined || row.random !== parsed!.random) return null;
    if (tenant !== null && this.#parts.tenants.name(row.tenant) !== tenant) return null;
    return { id, key: row.key, test: row.test === 1, erased: row.erased === 1, row };
  }

  get(tenant: string | null, id: string): EventView | null {
    const found = this.find(tenant, id);
    if (found === null) return null;
    const rows = this.#parts.deliveries.of(found.key);
    const summary = this.#summary(found.row, this.#statusOf(rows));
    return {
      ...summary,
      data: this.dataOf(found),
      deliveries: rows.slice(0, MAX_SHOWN).map((row) => this.#parts.deliveries.view(row, found.row)),
      deliveryCount: rows.length,
    };
  }

  /** Returns null once the data was erased, and if damage to the store lost it. */
  dataOf({ id, key, row }: FoundEvent): Uint8Array | null {
    const { body, large, data } = this.#body.get(key)!;
    return large === null && body !== null ? dataOf(body, id, this.#parts.types.name(row.type)) : data;
  }

  receivedAt({ key }: FoundEvent): number {
    return this.#times.now.madeAt(key);
  }

  /** Returns null if the query names something that never existed. */
  list(query: EventQuery): Walk<EventRow, EventSummary> | null {
    const { labels } = this.#parts;
    const plan = planOf(query, "events", this.#parts, this.#times.now);
    if (plan === null) return null;
    const { checks, end, search, sifts, sources, start, whose } = plan;
    const meets = checkOf(checks);
    return {
      list: "events",
      ...(search && { searched: ([key]) => search.searched(key!) }),
      ...(sifts && {
        sift: ([key], limit) => {
          const within = { key: key!, end, limit, tenant: whose.tenant };
          const { keys, reached, looked } = search!.step(query.order, within);
          return { rows: keys.map((found) => this.#select.get(found)!), reached: [reached], looked };
        },
      }),
      count: (limit) => this.#totals.of(query, whose, "events", limit),
      start: [start],
      rows: ([key], limit) => {
        if (sources === null) return this.#everything[query.order].all({ key, end, limit });
        const place = { key: key!, minor: 0, end };
        const keys = this.#keys.rows(sources, "events", query.order, place, limit);
        return keys.map(({ event }) => this.#select.get(event)!);
      },
      keysOf: (row) => [row.key],
      look: (row) => {
        const wanted = meets(row) && labels.has(row.key, query) && (sifts || search?.has(row.key) !== false);
        return wanted ? this.#look(row, whose.endpoint, query) : { item: null, rows: 0 };
      },
    };
  }

  #look(row: EventRow, endpoint: number | null, query: EventQuery): Looked<EventSummary> {
    const { deliveries, attempts } = this.#parts;
    const rows = deliveries.of(row.key, endpoint);
    if (endpoint !== null && rows.length === 0) return { item: null, rows: 0 };
    const summary = this.#summary(row, this.#statusOf(rows));
    const sameStatus = query.status === undefined || isOneOf(summary.status, query.status);
    if (!sameStatus || !seeksResult(query)) return { item: sameStatus ? summary : null, rows: rows.length };
    const sameResult = rows.some((delivery) => attempts.lastMatches(row.key, delivery.endpoint, query));
    return { item: sameResult ? summary : null, rows: 2 * rows.length };
  }

  #summary(row: EventRow, status: EventStatus): EventSummary {
    return {
      id: eventId(row.key, row.random),
      type: this.#parts.types.name(row.type),
      createdAt: row.created_at,
      receivedAt: this.#times.now.madeAt(row.key),
      tenant: this.#parts.tenants.name(row.tenant),
      test: row.test === 1,
      status,
      erasedAt: row.erased_at,
      orderingKey: row.ordering_key,
      ...this.#parts.labels.of(row.key),
    };
  }

  #statusOf(rows: readonly DeliveryRow[]): EventStatus {
    const { index } = this.#parts;
    return eventStatus(rows.map((row) => shownStatus(index.byNumber(row.endpoint), row)));
  }
}
