/** Reads deliveries, and counts the pending ones of each tenant. */
import { OF_EVENTS } from "../../rows/key-times.ts";
import { StoredTimes } from "../numbers/keys.ts";
import type { Database, Statement } from "better-sqlite3";
import type { DeliveryQuery, DeliveryView } from "../../store.ts";
import type { Attempts } from "../attempts/attempts.ts";
import type { DataSearch, PageSearch } from "../lists/data-search.ts";
import type { Labels } from "../lists/labels.ts";
import { type EndpointIndex } from "../numbers/endpoint-index.ts";
import type { Looked, Walk } from "../engine/page.ts";
import { beyond, direction, MergedKeys } from "../lists/merged-keys.ts";
import { type Sources } from "../lists/sources.ts";
import { Totals } from "../lists/totals.ts";
import { IS_FRESH } from "../numbers/fragments.ts";
import { WAITING, deliveryId, eventId, parseDeliveryId, parseEventId } from "../../rows/codes.ts";
import type { Interned } from "../numbers/names.ts";
import { blockerSql } from "../../rows/blocker.ts";
import { deliveryOf, type DeliveryRow } from "../../rows/delivery-row.ts";
import { shownStatus } from "../../rows/shown-status.ts";
import { checkOf } from "../../lists/conditions.ts";
import { planOf } from "../lists/plan.ts";
import type { Keys, Sifted } from "../../lists/cursors.ts";
import { isOneOf, seeksResult } from "../../lists/filters.ts";

/** The part of its event that a delivery shows. */
export interface OfEvent {
  readonly random: string;
  readonly tenant: number;
  readonly type: number;
  readonly test: number;
}

type Row = DeliveryRow & OfEvent;
/** An event of the tenant without recipients has a row without a delivery. */
type ListedRow = Row | { readonly event: number; readonly endpoint: null };

export interface FoundDelivery {
  readonly id: string;
  /** The id of the event. */
  readonly event: string;
  readonly row: DeliveryRow & OfEvent;
}

interface Sifting {
  readonly after: Keys;
  readonly end: number;
  readonly limit: number;
  readonly tenant: number | null;
}

interface Parts {
  readonly tenants: Interned;
  readonly types: Interned;
  readonly index: EndpointIndex;
  readonly attempts: Attempts;
  readonly labels: Labels;
  readonly data: DataSearch;
  readonly sources: Sources;
}

const COLUMNS = `event, endpoint, status, attempts, round, retry, trigger, due_at, sequence,
  ${blockerSql("json_array")} AS behind`;
const LISTED = `d.endpoint, d.status, d.attempts, d.round, d.retry, d.trigger, d.due_at, d.sequence,
  ${blockerSql("json_array")} AS behind,
  e.key AS event, e.random, e.tenant, e.type, e.test`;

export class Deliveries {
  readonly #parts: Parts;
  readonly #times: StoredTimes;
  readonly #all: Statement<[number], DeliveryRow>;
  readonly #one: Statement<[number, number], DeliveryRow>;
  readonly #listed: Statement<[number, number], Row>;
  readonly #keys: MergedKeys;
  readonly #totals: Totals;
  readonly #everything: Readonly<Record<DeliveryQuery["order"], Statement<unknown[], Row>>>;

  constructor(db: Database, parts: Parts) {
    this.#times = new StoredTimes(db, OF_EVENTS);
    this.#keys = new MergedKeys(db);
    this.#totals = new Totals(db, parts.sources);
    this.#parts = parts;
    this.#all = db.prepare(`SELECT ${COLUMNS} FROM delivery d WHERE event = ? ORDER BY endpoint`);
    this.#one = db.prepare(`SELECT ${COLUMNS} FROM delivery d WHERE event = ? AND endpoint = ?`);
    this.#listed = db.prepare(
      `SELECT ${LISTED} FROM delivery d JOIN event e ON e.key = d.event WHERE d.event = ? AND d.endpoint = ?`,
    );
    const everything = (order: DeliveryQuery["order"]) => {
      const way = direction(order);
      return db.prepare<unknown[], Row>(
        `SELECT ${LISTED} FROM delivery d CROSS JOIN event e ON e.key = d.event
         WHERE ${beyond(order, "d.event", "d.endpoint")} ORDER BY d.event ${way}, d.endpoint ${way} LIMIT @limit`,
      );
    };
    this.#everything = { newest: everything("newest"), oldest: everything("oldest") };
  }

  /** Returns the deliveries of an event, or only the one to an endpoint. */
  of(event: number, endpoint: number | null = null): DeliveryRow[] {
    return endpoint === null ? this.#all.all(event) : this.#one.all(event, endpoint);
  }

  /** Returns the delivery with exactly this id, if the tenant may see it. */
  find(tenant: string | null, id: string): FoundDelivery | null {
    const parsed = parseDeliveryId(id);
    const found = parsed === null ? null : this.at(tenant, parsed.event, parsed.endpoint);
    return found?.id === id ? found : null;
  }

  /** Returns the delivery of this event to this endpoint, if the tenant may see it. */
  at(tenant: string | null, key: number, endpoint: number): FoundDelivery | null {
    const row = this.#listed.get(key, endpoint);
    if (row === undefined || (tenant !== null && this.#parts.tenants.name(row.tenant) !== tenant)) return null;
    const event = eventId(key, row.random);
    return { id: deliveryId(event, endpoint), event, row };
  }

  view(row: DeliveryRow, event: OfEvent): DeliveryView {
    const { index, tenants, types, attempts } = this.#parts;
    const endpoint = index.byNumber(row.endpoint);
    const id = eventId(row.event, event.random);
    return deliveryOf(row, {
      event: id,
      type: types.name(event.type),
      tenant: tenants.name(event.tenant),
      test: event.test,
      receivedAt: this.#times.now.madeAt(row.event),
      endpoint: endpoint.id,
      status: shownStatus(endpoint, row),
      lastAttempt: attempts.lastOf(id, row.event, row.endpoint),
    });
  }

  /** Returns null if the query names something that never existed. */
  list(query: DeliveryQuery): Walk<ListedRow, DeliveryView> | null {
    const { labels } = this.#parts;
    const event = query.event === undefined ? null : parseEventId(query.event);
    if (query.event !== undefined && event === null) return null;
    const plan = planOf(query, "pairs", this.#parts, this.#times.now);
    if (plan === null) return null;
    const { checks, end, search, sifts, sources, start, whose } = plan;
    const meets = checkOf(checks);
    const isFound = (key: number) => sifts || search?.has(key) !== false;
    const isOf = (row: ListedRow): row is Row =>
      row.endpoint !== null &&
      meets(row) &&
      (event === null || row.random === event.random) &&
      labels.has(row.event, query);
    return {
      list: "deliveries",
      ...(search && { searched: ([key]) => search.searched(key!) }),
      ...(sifts && {
        sift: (after, limit) => this.#sift(search!, query, { after, end, limit, tenant: whose.tenant }),
      }),
      count: (limit) => this.#totals.of(query, whose, "pairs", limit),
      has: (row) => isOf(row) && this.#fits(row, query) && isFound(row.event),
      start: [start, query.order === "oldest" ? Number.MAX_SAFE_INTEGER : -1],
      rows: ([key, minor], limit) => {
        if (sources === null) return this.#everything[query.order].all({ key, minor, end, limit });
        const place = { key: key!, minor: minor!, end, event: event?.key };
        const pairs = this.#keys.rows(sources, "pairs", query.order, place, limit);
        return pairs.map((pair) =>
          pair.endpoint === 0 ? { ...pair, endpoint: null } : this.#listed.get(pair.event, pair.endpoint)!,
        );
      },
      keysOf: (row) => [row.event, row.endpoint ?? 0],
      look: (row): Looked<DeliveryView> => {
        const wanted = isOf(row) && this.#fits(row, query) && isFound(row.event);
        return wanted ? { item: this.view(row, row), rows: 1 } : { item: null, rows: seeksResult(query) ? 1 : 0 };
      },
    };
  }

  #sift(search: PageSearch, { order }: DeliveryQuery, { after, end, limit, tenant }: Sifting): Sifted<Row> {
    const [key, minor] = after as [number, number];
    const [step, last] = order === "oldest" ? [1, Number.MAX_SAFE_INTEGER] : [-1, -1];
    // The last page may have ended among the deliveries of one event.
    const from = minor === last ? key : key - step;
    const { keys, reached, looked } = search.step(order, { key: from, end, limit, tenant });
    const pairs = keys.flatMap((event) => (order === "oldest" ? this.of(event) : this.of(event).toReversed()));
    const left = pairs.filter(({ event, endpoint }) => event !== key || (endpoint - minor) * step > 0);
    const rows = left.map(({ event, endpoint }) => this.#listed.get(event, endpoint)!);
    return { rows, reached: [reached, last], looked };
  }

  #fits(row: Row, query: DeliveryQuery): boolean {
    const { index, attempts } = this.#parts;
    const status = shownStatus(index.byNumber(row.endpoint), row);
    if (query.status !== undefined && !isOneOf(status, query.status)) return false;
    return !seeksResult(query) || attempts.lastMatches(row.event, row.endpoint, query);
  }
}

const COUNTS = `
  CREATE TEMP TABLE pending (tenant INTEGER PRIMARY KEY, deliveries INTEGER NOT NULL) STRICT;
  INSERT INTO pending
    SELECT e.tenant, sum(d.deliveries) FROM (
      SELECT endpoint, count(*) AS deliveries FROM delivery INDEXED BY delivery_waiting WHERE status = 1 GROUP BY endpoint
      UNION ALL
      SELECT endpoint, count(*) FROM delivery WHERE ${IS_FRESH} GROUP BY endpoint
    ) d JOIN endpoint e ON e.number = d.endpoint GROUP BY e.tenant;
  ${trigger("inserted", "INSERT", `new.status <= ${WAITING}`, "new", 1)}
  ${trigger("left", "UPDATE OF status", `old.status <= ${WAITING} AND new.status > ${WAITING}`, "old", -1)}
  ${trigger("back", "UPDATE OF status", `old.status > ${WAITING} AND new.status <= ${WAITING}`, "new", 1)}
`;

/**
 * Counts the pending deliveries of each tenant, for `[limits] max_pending_per_tenant` and `[tenants.NAME] max_pending`.
 * Made only if there is such a limit. Temporary triggers update the counts with every change of a status, whatever
 * causes it, in the same transaction. A row is never deleted before it is settled.
 */
export class Pending {
  readonly #count: Statement<[number], number>;

  /** Do not call it inside a transaction. Reads the index of all pending deliveries once: about 0.1 s for a million. */
  constructor(db: Database) {
    db.exec(COUNTS);
    this.#count = db.prepare<[number], number>("SELECT deliveries FROM pending WHERE tenant = ?").pluck();
  }

  of(tenant: number): number {
    return this.#count.get(tenant) ?? 0;
  }
}

function trigger(name: string, change: string, condition: string, row: "new" | "old", by: 1 | -1): string {
  return `CREATE TEMP TRIGGER pending_${name} AFTER ${change} ON main.delivery WHEN ${condition} BEGIN
    INSERT INTO pending VALUES ((SELECT tenant FROM endpoint WHERE number = ${row}.endpoint), ${by})
    ON CONFLICT (tenant) DO UPDATE SET deliveries = deliveries + ${by};
  END;`;
}
