/** Which index finds the rows of a list: the narrowest that holds them in key order. */
import type { Database, Statement } from "better-sqlite3";
import type { OneOf, PageQuery, ResultFilter } from "../../store.ts";
import { FAILED, FRESH, WAITING } from "../numbers/codes.ts";

/** Open deliveries that are sorted for a page. */
const FEW = 5000;

export type Order = PageQuery["order"];

/** A table of deliveries or attempts, whose rows name an `event` and an `endpoint`. */
export interface Source {
  readonly from: string;
  readonly where: string;
}

export interface Sought extends ResultFilter {
  readonly status?: OneOf<string> | undefined;
  readonly event?: string;
}

export class Sources {
  readonly #countOpen: Statement<[number], number>;
  readonly #countOpenOf: Statement<[number, number], number>;

  constructor(db: Database) {
    const count = <P extends number[]>(sql: string) => db.prepare<P, number>(sql).pluck();
    this.#countOpen = count(
      `SELECT count(*) FROM (
         SELECT 1 FROM delivery INDEXED BY delivery_waiting WHERE status = ${WAITING}
         UNION ALL SELECT 1 FROM delivery INDEXED BY delivery_fresh WHERE status = ${FRESH} LIMIT ?
       )`,
    );
    this.#countOpenOf = count(
      `SELECT count(*) FROM (
         SELECT 1 FROM delivery INDEXED BY delivery_waiting WHERE status = ${WAITING} AND endpoint = ?
         UNION ALL SELECT 1 FROM delivery INDEXED BY delivery_fresh WHERE status = ${FRESH} LIMIT ?
       )`,
    );
  }

  /**
   * Each holds some of what is sought, in key order, and together they hold all of it; none when no index is narrower
   * than all there is. Parameters: `@event`, `@endpoint`.
   */
  of(sought: Sought, endpoint: number | null): Source[] {
    const statuses = severalOf(sought.status);
    const found = statuses.map((status) => this.#ofOne(sought, status, endpoint));
    const all = found.length === 0 || found.includes(null) ? [this.#ofOne(sought, undefined, endpoint)] : found;
    const sources = all.filter((source) => source !== null);
    return sources.filter(({ from }, index) => sources.findIndex((other) => other.from === from) === index);
  }

  #ofOne(sought: Sought, status: string | undefined, endpoint: number | null): Source | null {
    const { event } = sought;
    if (event !== undefined) return { from: "delivery", where: "event = @event" };
    if ((status === "pending" || status === "held") && this.#fewAreOpen(endpoint)) return openOf(endpoint);
    if (endpoint !== null) {
      if (status === "failed") return FAILED_OF_ENDPOINT;
      return seeksFailure(sought) ? FAILURES_OF_ENDPOINT : OF_ENDPOINT;
    }
    if (status === "failed") return { from: "delivery INDEXED BY delivery_failed", where: `status = ${FAILED}` };
    return seeksFailure(sought) ? { from: "attempt INDEXED BY attempt_failed", where: "outcome <> 0" } : null;
  }

  /** So few that all of them can be sorted: no index holds them in key order, because each retry would pay for it. */
  #fewAreOpen(endpoint: number | null): boolean {
    const limit = FEW + 1;
    const count = endpoint === null ? this.#countOpen.get(limit) : this.#countOpenOf.get(endpoint, limit);
    return count! < limit;
  }
}

function openOf(endpoint: number | null): Source {
  const only = endpoint === null ? "" : "AND endpoint = @endpoint";
  return {
    from: `(
      SELECT event, endpoint FROM delivery INDEXED BY delivery_waiting WHERE status = ${WAITING} ${only}
      UNION ALL
      SELECT event, endpoint FROM delivery INDEXED BY delivery_fresh WHERE status = ${FRESH} ${only}
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
