/** Which index finds the rows of a list: the narrowest that holds them in key order. */
import type { Database, Statement } from "better-sqlite3";
import type { OneOf, PageQuery, ResultFilter } from "../../store.ts";
import { FAILED, IS_FRESH, WAITING } from "../numbers/codes.ts";

/** Open deliveries that are sorted for a page. */
const FEW = 5000;
/** Endpoints that are looked at one by one for a page of their tenant's. */
const MOST_ENDPOINTS = 1000;

export type Order = PageQuery["order"];

/** A table of deliveries or attempts, whose rows name an `event` and an `endpoint`. */
export interface Source {
  readonly from: string;
  readonly where: string;
  /** For `@endpoint`. */
  readonly endpoint?: number;
}

/** Numbers; null stands for any. */
export interface Whose {
  readonly tenant: number | null;
  readonly endpoint: number | null;
}

export interface Sought extends ResultFilter {
  readonly status?: OneOf<string> | undefined;
  readonly event?: string;
}

export class Sources {
  readonly #db: Database;
  readonly #endpoints: Statement<[number, number], number>;
  readonly #counts = new Map<string, Statement<[object], number>>();

  constructor(db: Database) {
    this.#db = db;
    this.#endpoints = db
      .prepare<[number, number], number>(
        "SELECT number FROM endpoint INDEXED BY endpoint_tenant WHERE tenant = ? LIMIT ?",
      )
      .pluck();
  }

  /**
   * Each holds some of what is sought, in key order, and together they hold all of it; none when no index is narrower
   * than all there is. Parameters: `@event`, `@endpoint`, `@tenant`.
   */
  of(sought: Sought, whose: Whose): Source[] {
    const statuses = severalOf(sought.status);
    const found = statuses.map((status) => this.#ofOne(sought, status, whose));
    const all = found.length === 0 || found.includes(null) ? [this.#ofOne(sought, undefined, whose)] : found;
    const sources = all.flatMap((some) => some ?? []);
    const isSame = (one: Source, other: Source) => one.from === other.from && one.endpoint === other.endpoint;
    return sources.filter((source, index) => sources.findIndex((other) => isSame(source, other)) === index);
  }

  /** All that may have failed and not arrived since. */
  missing(whose: Whose): Source[] {
    const open = this.#countOpen(whose);
    if (open > FEW) return this.#failures(whose, FAILURES_OF_ENDPOINT, ALL_FAILURES);
    const failed = this.#failures(whose, FAILED_OF_ENDPOINT, ALL_FAILED);
    return open === 0 ? failed : [...failed, openOf(whose)];
  }

  #ofOne(sought: Sought, status: string | undefined, whose: Whose): Source[] | null {
    if (sought.event !== undefined) return [{ from: "delivery", where: "event = @event" }];
    if ((status === "pending" || status === "held") && this.#countOpen(whose) <= FEW) return [openOf(whose)];
    const failed = status === "failed";
    if (whose.endpoint !== null) {
      const source = failed ? FAILED_OF_ENDPOINT : seeksFailure(sought) ? FAILURES_OF_ENDPOINT : OF_ENDPOINT;
      return [{ ...source, endpoint: whose.endpoint }];
    }
    if (!failed && !seeksFailure(sought)) return null;
    return failed
      ? this.#failures(whose, FAILED_OF_ENDPOINT, ALL_FAILED)
      : this.#failures(whose, FAILURES_OF_ENDPOINT, ALL_FAILURES);
  }

  /** Of one endpoint, of each that the tenant has, or of all where it has too many. */
  #failures({ tenant, endpoint }: Whose, ofOne: Source, ofAll: Source): Source[] {
    if (endpoint !== null) return [{ ...ofOne, endpoint }];
    const endpoints = tenant === null ? [] : this.#endpoints.all(tenant, MOST_ENDPOINTS + 1);
    const areAll = tenant === null || endpoints.length > MOST_ENDPOINTS;
    return areAll ? [ofAll] : endpoints.map((number) => ({ ...ofOne, endpoint: number }));
  }

  /** A few can all be sorted: no index holds them in key order, because each retry would pay for it. */
  #countOpen(whose: Whose): number {
    const sql = `SELECT count(*) FROM (SELECT 1 FROM ${openOf(whose).from} LIMIT ${FEW + 1})`;
    let count = this.#counts.get(sql);
    if (count === undefined) this.#counts.set(sql, (count = this.#db.prepare<[object], number>(sql).pluck()));
    return count.get(whose)!;
  }
}

function openOf({ endpoint, tenant }: Whose): Source {
  const ofTenant = "AND endpoint IN (SELECT number FROM endpoint INDEXED BY endpoint_tenant WHERE tenant = @tenant)";
  const only = endpoint !== null ? "AND endpoint = @endpoint" : tenant !== null ? ofTenant : "";
  return {
    ...(endpoint !== null && { endpoint }),
    from: `(
      SELECT event, endpoint FROM delivery INDEXED BY delivery_waiting WHERE status = ${WAITING} ${only}
      UNION ALL
      SELECT event, endpoint FROM delivery WHERE ${IS_FRESH} ${only}
    )`,
    where: "TRUE",
  };
}

const FAILED_OF_ENDPOINT: Source = {
  from: "delivery INDEXED BY delivery_endpoint_failed",
  where: `status = ${FAILED} AND endpoint = @endpoint`,
};
export const FAILURES_OF_ENDPOINT: Source = {
  from: "attempt INDEXED BY attempt_endpoint_failed",
  where: "outcome <> 0 AND endpoint = @endpoint",
};
const ALL_FAILED: Source = { from: "delivery INDEXED BY delivery_failed", where: `status = ${FAILED}` };
const ALL_FAILURES: Source = { from: "attempt INDEXED BY attempt_failed", where: "outcome <> 0" };
const OF_ENDPOINT: Source = { from: "delivery INDEXED BY delivery_endpoint", where: "endpoint = @endpoint" };

export function seeksResult({ error, statusCode }: ResultFilter): boolean {
  return error !== undefined || statusCode !== undefined;
}

/** Whether no success can be what is sought: then none need be looked at. */
export function seeksFailure({ error, statusCode }: ResultFilter): boolean {
  return error !== undefined || (statusCode !== undefined && statusCode.least >= 300);
}

/**
 * What lies beyond `(@key, @minor)` and before the event `@end`. One bound on each side, because SQLite starts from one
 * and would skip row by row what another excludes.
 */
export function beyond(order: Order, key: string, minor: string): string {
  return order === "oldest"
    ? `(${key}, ${minor}) > (@key, @minor) AND ${key} < @end`
    : `(${key}, ${minor}) < (@key, @minor) AND ${key} > @end`;
}

/** The same where the second column is of another table, which no index spans. It may be NULL in an outer join. */
export function beyondAcross(order: Order, key: string, minor: string): string {
  return order === "oldest"
    ? `${key} >= @key AND ${key} < @end AND (${key} > @key OR ${minor} > @minor)`
    : `${key} <= @key AND ${key} > @end AND (${key} < @key OR ${minor} < @minor)`;
}

export function severalOf<T extends string>(some: OneOf<T> | undefined): readonly T[] {
  return some === undefined ? [] : typeof some === "string" ? [some] : some;
}

export function isOneOf<T extends string>(value: T, some: OneOf<T>): boolean {
  return typeof some === "string" ? value === some : some.includes(value);
}

export function direction(order: Order): "ASC" | "DESC" {
  return order === "oldest" ? "ASC" : "DESC";
}
