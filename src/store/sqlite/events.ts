/** Reads of events and what became of them. */
import type { Database, Statement } from "better-sqlite3";
import { eventStatus, type EventStatus } from "../../domain/delivery.ts";
import { dataOf } from "../../domain/event.ts";
import type { DeliveryView, EventQuery, EventSummary, EventView, Page } from "../store.ts";
import type { Attempts } from "./attempts.ts";
import { FAILED, WAITING } from "./codes.ts";
import { shownStatus, type EndpointIndex } from "./endpoint-index.ts";
import { deliveryId, eventId, firstKeyAt, instantOf, parseEventId } from "./ids.ts";
import type { Interned } from "./interned.ts";
import { boundsOf, pageOf, type Looked } from "./page.ts";

/** Deliveries shown inside an event. */
const MAX_SHOWN = 100;

interface Row {
  readonly key: number;
  readonly random: string;
  readonly tenant: number;
  readonly type: number;
  readonly created_at: number;
  readonly test: number;
}

interface DeliveryRow {
  readonly endpoint: number;
  readonly status: number;
  readonly attempts: number;
  readonly trigger: number;
  readonly due_at: number | null;
}

interface Parts {
  readonly tenants: Interned;
  readonly types: Interned;
  readonly index: EndpointIndex;
  readonly attempts: Attempts;
}

const COLUMNS = "e.key, e.random, e.tenant, e.type, e.created_at, e.test";

export class Events {
  readonly #db: Database;
  readonly #parts: Parts;
  readonly #select: Statement<[number], Row>;
  readonly #body: Statement<[number], Buffer | null>;
  readonly #deliveries: Statement<[number], DeliveryRow>;
  readonly #delivery: Statement<[number, number], DeliveryRow>;
  readonly #lists = new Map<string, Statement<unknown[], Row>>();

  constructor(db: Database, parts: Parts) {
    this.#db = db;
    this.#parts = parts;
    this.#select = db.prepare(`SELECT ${COLUMNS} FROM event e WHERE e.key = ?`);
    this.#body = db.prepare<[number], Buffer | null>("SELECT body FROM event WHERE key = ?").pluck();
    const delivery = "SELECT endpoint, status, attempts, trigger, due_at FROM delivery WHERE event = ?";
    this.#deliveries = db.prepare(`${delivery} ORDER BY endpoint`);
    this.#delivery = db.prepare(`${delivery} AND endpoint = ?`);
  }

  /** The event, if there is one of exactly this id that the tenant may see. */
  find(tenant: string | null, id: string): { id: string; key: number; test: boolean; row: Row } | null {
    const parsed = parseEventId(id);
    const row = parsed === null ? undefined : this.#select.get(parsed.key);
    if (row === undefined || row.random !== parsed!.random) return null;
    if (tenant !== null && this.#parts.tenants.name(row.tenant) !== tenant) return null;
    return { id, key: row.key, test: row.test === 1, row };
  }

  get(tenant: string | null, id: string): EventView | null {
    const found = this.find(tenant, id);
    if (found === null) return null;
    const rows = this.#deliveries.all(found.key);
    const summary = this.#summary(found.row, this.#statusOf(rows));
    const body = this.#body.get(found.key) ?? null;
    return {
      ...summary,
      data: body === null ? null : dataOf(body, id, summary.type),
      deliveries: rows.slice(0, MAX_SHOWN).map((row) => this.#deliveryView(found.id, found.key, row)),
    };
  }

  list(query: EventQuery): Page<EventSummary> {
    const { tenants, types, index } = this.#parts;
    const first = query.since === undefined ? -1 : firstKeyAt(query.since) - 1;
    const end = query.until === undefined ? Number.MAX_SAFE_INTEGER : firstKeyAt(query.until);
    const [low, high] = boundsOf("events", query, first, end);
    const tenant = query.tenant === null ? null : tenants.find(query.tenant);
    const type = query.type === undefined ? null : types.find(query.type);
    const endpoint = query.endpoint === undefined ? null : index.byId(query.endpoint)?.number;
    // A name that nothing has ever had.
    if (tenant === undefined || type === undefined || endpoint === undefined) return { data: [], nextCursor: null };
    const rows = this.#listStatement(query).iterate({ low, high, tenant, endpoint });
    return pageOf(
      "events",
      query,
      rows,
      (row) => row.key,
      (row) => {
        const wanted =
          (tenant === null || row.tenant === tenant) &&
          (type === null || row.type === type) &&
          (query.test === undefined || query.test === (row.test === 1));
        return wanted ? this.#look(row, endpoint, query.status) : { item: null, rows: 0 };
      },
    );
  }

  #look(row: Row, endpoint: number | null, status: EventStatus | undefined): Looked<EventSummary> {
    const deliveries = endpoint === null ? this.#deliveries.all(row.key) : this.#delivery.all(row.key, endpoint);
    const summary = this.#summary(row, this.#statusOf(deliveries));
    return { item: status === undefined || status === summary.status ? summary : null, rows: deliveries.length };
  }

  /** The narrowest index in key order for what is asked; the rest is looked at row by row. */
  #listStatement({ tenant, endpoint, status, order }: EventQuery): Statement<unknown[], Row> {
    const direction = order === "oldest" ? "ASC" : "DESC";
    let sql: string;
    if (endpoint !== undefined) {
      sql = `SELECT ${COLUMNS} FROM delivery d INDEXED BY delivery_endpoint CROSS JOIN event e ON e.key = d.event
        WHERE d.endpoint = @endpoint AND d.event > @low AND d.event < @high ORDER BY d.event ${direction}`;
    } else if (status === "failed") {
      sql = `SELECT ${COLUMNS} FROM delivery d INDEXED BY delivery_failed CROSS JOIN event e ON e.key = d.event
        WHERE d.status = ${FAILED} AND d.event > @low AND d.event < @high
        GROUP BY d.event ORDER BY d.event ${direction}`;
    } else if (status === "unmatched") {
      sql = `SELECT ${COLUMNS} FROM event e INDEXED BY event_unmatched
        WHERE e.unmatched = 1 AND e.key > @low AND e.key < @high ORDER BY e.key ${direction}`;
    } else if (tenant !== null) {
      sql = `SELECT ${COLUMNS} FROM event e INDEXED BY event_tenant
        WHERE e.tenant = @tenant AND e.key > @low AND e.key < @high ORDER BY e.key ${direction}`;
    } else {
      sql = `SELECT ${COLUMNS} FROM event e WHERE e.key > @low AND e.key < @high ORDER BY e.key ${direction}`;
    }
    let statement = this.#lists.get(sql);
    if (statement === undefined) this.#lists.set(sql, (statement = this.#db.prepare<unknown[], Row>(sql)));
    return statement;
  }

  #summary(row: Row, status: EventStatus): EventSummary {
    return {
      id: eventId(row.key, row.random),
      type: this.#parts.types.name(row.type),
      createdAt: row.created_at,
      receivedAt: instantOf(row.key),
      tenant: this.#parts.tenants.name(row.tenant),
      test: row.test === 1,
      status,
    };
  }

  #statusOf(rows: readonly DeliveryRow[]): EventStatus {
    return eventStatus(
      rows.map((row) => shownStatus(this.#parts.index.byNumber(row.endpoint), row.status, row.trigger)),
    );
  }

  #deliveryView(event: string, key: number, row: DeliveryRow): DeliveryView {
    const endpoint = this.#parts.index.byNumber(row.endpoint);
    const status = shownStatus(endpoint, row.status, row.trigger);
    return {
      id: deliveryId(event, endpoint.number),
      event,
      endpoint: endpoint.id,
      status,
      attempts: row.attempts,
      nextAttemptAt: status === "pending" && row.status <= WAITING ? row.due_at : null,
      lastAttempt: this.#parts.attempts.lastOf(event, key, row.endpoint),
    };
  }
}
