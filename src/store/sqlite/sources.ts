/** Which index finds the rows of a list: the narrowest that holds them in key order. */
import type { PageQuery, ResultFilter } from "../store.ts";
import { FAILED } from "./codes.ts";

export type Order = PageQuery["order"];

/** A table of deliveries or attempts, whose rows name an `event` and an `endpoint`. */
export interface Source {
  readonly from: string;
  readonly where: string;
}

export interface Sought extends ResultFilter {
  readonly status?: string;
  readonly endpoint?: string;
  readonly event?: string;
}

/** Null when no index is narrower than all there is. Parameters: `@event`, `@endpoint`. */
export function sourceOf(sought: Sought): Source | null {
  const { status, endpoint, event } = sought;
  if (event !== undefined) return { from: "delivery", where: "event = @event" };
  if (endpoint !== undefined) {
    if (status === "failed") {
      return {
        from: "delivery INDEXED BY delivery_endpoint_failed",
        where: `status = ${FAILED} AND endpoint = @endpoint`,
      };
    }
    return seeksFailure(sought) ? FAILURES_OF_ENDPOINT : OF_ENDPOINT;
  }
  if (status === "failed") return { from: "delivery INDEXED BY delivery_failed", where: `status = ${FAILED}` };
  return seeksFailure(sought) ? { from: "attempt INDEXED BY attempt_failed", where: "outcome <> 0" } : null;
}

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

export function direction(order: Order): "ASC" | "DESC" {
  return order === "oldest" ? "ASC" : "DESC";
}
