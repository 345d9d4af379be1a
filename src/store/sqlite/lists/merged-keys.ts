/**
 * Merges the keys of deliveries, or of events, from several indexes. Each index has its own keys in order, and the page
 * reads no more of it than it needs: for a tenant with many endpoints, one look at each of them, and then the rows
 * shown.
 */
import type { Database, Statement } from "better-sqlite3";
import type { PageQuery } from "../../store.ts";
import { FAILED, WAITING } from "../../rows/codes.ts";
import { IS_FRESH } from "../numbers/fragments.ts";

type Order = PageQuery["order"];

/** Rows of a table, in the order of an index. */
export interface Source {
  readonly from: string;
  readonly where: string;
  /** SQL for the columns that have these keys. */
  readonly event: string;
  readonly endpoint: string;
  /** True if the two columns are in different tables, which no index spans. */
  readonly isAcross?: boolean;
  /** The source's own parameters. */
  readonly bound: Readonly<Record<string, number | string>>;
}

export type OfEndpoint = (endpoint: number) => Source;

const DELIVERY = { event: "event", endpoint: "endpoint" };
export const OF_EVENT: Source = { ...DELIVERY, from: "delivery", where: "event = @event", bound: {} };
export const OF_ENDPOINT: OfEndpoint = (endpoint) => ({
  ...DELIVERY,
  from: "delivery INDEXED BY delivery_endpoint",
  where: "endpoint = @endpoint",
  bound: { endpoint },
});
export const FAILED_OF_ENDPOINT: OfEndpoint = (endpoint) => ({
  ...DELIVERY,
  from: "delivery INDEXED BY delivery_endpoint_failed",
  where: `status = ${FAILED} AND endpoint = @endpoint`,
  bound: { endpoint },
});
/** SQL for failed attempts. */
export const FAILURES = {
  from: "attempt INDEXED BY attempt_endpoint_failed",
  where: "outcome <> 0 AND endpoint = @endpoint",
};
export const FAILURES_OF_ENDPOINT: OfEndpoint = (endpoint) => ({ ...DELIVERY, ...FAILURES, bound: { endpoint } });
export const ALL_FAILED: Source = {
  ...DELIVERY,
  from: "delivery INDEXED BY delivery_failed",
  where: `status = ${FAILED}`,
  bound: {},
};
export const ALL_FAILURES: Source = {
  ...DELIVERY,
  from: "attempt INDEXED BY attempt_failed",
  where: "outcome <> 0",
  bound: {},
};

/** All deliveries, and all events. */
export const ALL_DELIVERIES: Source = { ...DELIVERY, from: "delivery", where: "TRUE", bound: {} };
export const ALL_EVENTS: Source = { ...ofEvents("events", null, "TRUE"), bound: {} };

/** The deliveries of a tenant, or those that failed. They are not in key order, so they can only be counted. */
export function ofTenantsEndpoints(tenant: number, only: "all" | "failed"): Source {
  const [index, status] =
    only === "all" ? ["delivery_endpoint", ""] : ["delivery_endpoint_failed", ` AND d.status = ${FAILED}`];
  return {
    event: "d.event",
    endpoint: "d.endpoint",
    from: `endpoint p INDEXED BY endpoint_tenant CROSS JOIN delivery d INDEXED BY ${index}`,
    where: `p.tenant = @tenant AND d.endpoint = p.number${status}`,
    bound: { tenant },
  };
}

export function ofCause(endpoint: number, cause: number): Source {
  const from = "delivery INDEXED BY delivery_cause";
  return { ...DELIVERY, from, where: "endpoint = @endpoint AND cause = @cause", bound: { endpoint, cause } };
}

/** Sources of events, or of their deliveries. Endpoint 0 stands for an event without deliveries. */
export function ofEvents(of: "pairs" | "events", index: string | null, where: string): Omit<Source, "bound"> {
  const from = `event e ${index === null ? "NOT INDEXED" : `INDEXED BY ${index}`}`;
  if (of === "events") return { from, where, event: "e.key", endpoint: "0" };
  const joined = `${from} LEFT JOIN delivery d ON d.event = e.key`;
  return { from: joined, where, event: "e.key", endpoint: "coalesce(d.endpoint, 0)", isAcross: true };
}

/**
 * Open deliveries of an endpoint, of a tenant, or of all. They are sorted for each page. Held deliveries belong to
 * disabled endpoints, which have no other waiting ones. A test may be fresh at any endpoint.
 */
export function openOf(
  { endpoint, tenant }: { endpoint: number | null; tenant: number | null },
  status: "pending" | "held",
): Source {
  const all = endpoint !== null ? "endpoint = @endpoint" : tenant !== null ? OF_TENANT : "TRUE";
  const waiting = `${all} AND endpoint ${status === "held" ? "IN" : "NOT IN"} ${DISABLED}`;
  return {
    ...DELIVERY,
    bound: { endpoint: endpoint ?? -1, tenant: tenant ?? -1 },
    from: `(
      SELECT event, endpoint FROM delivery INDEXED BY delivery_waiting WHERE status = ${WAITING} AND ${waiting}
      UNION ALL
      SELECT event, endpoint FROM delivery WHERE ${IS_FRESH} AND ${status === "held" ? waiting : all}
    )`,
    where: "TRUE",
  };
}
const OF_TENANT = "endpoint IN (SELECT number FROM endpoint INDEXED BY endpoint_tenant WHERE tenant = @tenant)";
export const DISABLED =
  "(SELECT number FROM endpoint INDEXED BY endpoint_disabled WHERE enabled = 0 AND deleted_at IS NULL)";

export interface Pair {
  readonly event: number;
  readonly endpoint: number;
}

/** The rows after `(key, minor)` and before the event `end`. */
export interface Place {
  readonly key: number;
  readonly minor: number;
  readonly end: number;
  /** Only the deliveries of this event. */
  readonly event?: number | undefined;
}

/** The rows of one source, as far as they have been read. */
interface Head {
  readonly read: (after: Pick<Place, "key" | "minor">) => Pair[];
  rows: Pair[];
  at: number;
  isWhole: boolean;
}

/** The number of rows first read from one source. A source that turns out to have more is read again. */
const LEAST = 4;

export class MergedKeys {
  readonly #db: Database;
  readonly #statements = new Map<string, Statement<unknown[], Pair>>();

  constructor(db: Database) {
    this.#db = db;
  }

  /** Returns each pair once, or, for events, each event once with endpoint 0. */
  rows(sources: readonly Source[], of: "pairs" | "events", order: Order, place: Place, limit: number): Pair[] {
    const size = sources.length <= 2 ? limit : Math.max(LEAST, Math.ceil(limit / sources.length) + 1);
    const heads = sources.map((source): Head => {
      const statement = this.#statement(source, of, order);
      const read = (after: Pick<Place, "key" | "minor">) =>
        statement.all({ ...place, ...after, ...source.bound, limit: size });
      const rows = read(place);
      return { read, rows, at: 0, isWhole: rows.length < size };
    });
    const found: Pair[] = [];
    while (found.length < limit) {
      const next = this.#first(heads, order);
      if (next === null) break;
      found.push(next);
      for (const head of heads) {
        const row = head.rows[head.at];
        if (row !== undefined && row.event === next.event && (of === "events" || row.endpoint === next.endpoint)) {
          head.at++;
        }
      }
    }
    return found;
  }

  #first(heads: readonly Head[], order: Order): Pair | null {
    let first: Pair | null = null;
    for (const head of heads) {
      if (head.at === head.rows.length && !head.isWhole) readOn(head);
      const row = head.rows[head.at];
      if (row !== undefined && (first === null || isAhead(row, first) === (order === "newest"))) first = row;
    }
    return first;
  }

  #statement(source: Source, of: "pairs" | "events", order: Order): Statement<unknown[], Pair> {
    const { from, where, event, endpoint, isAcross } = source;
    const way = direction(order);
    const within =
      of === "events"
        ? order === "oldest"
          ? `${event} > @key AND ${event} < @end`
          : `${event} < @key AND ${event} > @end`
        : isAcross === true
          ? beyondAcross(order, event, endpoint)
          : beyond(order, event, endpoint);
    const keys = of === "events" ? [event] : [event, endpoint];
    // A join of several tables has each pair once anyway.
    const once = isAcross === true || event === "e.key" ? "" : `GROUP BY ${keys.join()}`;
    const sql = `SELECT ${event} AS event, ${of === "pairs" ? endpoint : "0"} AS endpoint FROM ${from}
      WHERE ${where} AND ${within}
      ${once} ORDER BY ${(isAcross === true ? [event, "d.endpoint"] : keys).map((key) => `${key} ${way}`).join()} LIMIT @limit`;
    let statement = this.#statements.get(sql);
    if (statement === undefined) this.#statements.set(sql, (statement = this.#db.prepare<unknown[], Pair>(sql)));
    return statement;
  }
}

/** Counts the source's rows between these keys, exclusive. Counts no further than the limit. */
export function countOf(
  db: Database,
  statements: Map<string, Statement<[object], number>>,
  { from, where, event, bound }: Source,
  within: { readonly low: number; readonly high: number; readonly limit: number },
): number {
  const rows = `SELECT 1 FROM ${from} WHERE ${where} AND ${event} > @low AND ${event} < @high LIMIT @limit`;
  return numbers(db, statements, `SELECT count(*) FROM (${rows})`).get({ ...within, ...bound })!;
}

/** Returns the events of these rows, each once. Returns no more than the limit. */
export function keysIn(
  db: Database,
  statements: Map<string, Statement<[object], number>>,
  { from, where, event, bound }: Source,
  within: { readonly low: number; readonly high: number; readonly limit: number },
): number[] {
  const keys = `SELECT DISTINCT ${event} FROM ${from}`;
  const sql = `${keys} WHERE ${where} AND ${event} > @low AND ${event} < @high LIMIT @limit`;
  return numbers(db, statements, sql).all({ ...within, ...bound });
}

function numbers(db: Database, statements: Map<string, Statement<[object], number>>, sql: string) {
  let statement = statements.get(sql);
  if (statement === undefined) statements.set(sql, (statement = db.prepare<[object], number>(sql).pluck()));
  return statement;
}

function readOn(head: Head): void {
  const last = head.rows.at(-1)!;
  const size = head.rows.length;
  head.rows = head.read({ key: last.event, minor: last.endpoint });
  head.at = 0;
  head.isWhole = head.rows.length < size;
}

function isAhead(one: Pair, other: Pair): boolean {
  return one.event === other.event ? one.endpoint > other.endpoint : one.event > other.event;
}

/**
 * SQL for the rows after `(@key, @minor)` and before the event `@end`. There is one bound on each side, because SQLite
 * starts from one bound, and would skip row by row what a second one excludes.
 */
export function beyond(order: Order, key: string, minor: string): string {
  return order === "oldest"
    ? `(${key}, ${minor}) > (@key, @minor) AND ${key} < @end`
    : `(${key}, ${minor}) < (@key, @minor) AND ${key} > @end`;
}

/** The same if the second column is in another table, which no index spans. It may be NULL in an outer join. */
export function beyondAcross(order: Order, key: string, minor: string): string {
  return order === "oldest"
    ? `${key} >= @key AND ${key} < @end AND (${key} > @key OR ${minor} > @minor)`
    : `${key} <= @key AND ${key} > @end AND (${key} < @key OR ${minor} < @minor)`;
}

export function direction(order: Order): "ASC" | "DESC" {
  return order === "oldest" ? "ASC" : "DESC";
}
