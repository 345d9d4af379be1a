/** Filters of lists, as both stores apply them to a row. */
import type { OneOf } from "../../domain/lists.ts";
import type { ResultFilter } from "../store.ts";
import type { AttemptRow } from "../rows/attempt-row.ts";

type ResultRow = Pick<AttemptRow, "error" | "status_code">;

export function seeksResult({ error, statusCode }: ResultFilter): boolean {
  return error !== undefined || statusCode !== undefined;
}

/** Returns true if no success can match, so that successes can be skipped. */
export function seeksFailure({ error, statusCode }: ResultFilter): boolean {
  return error !== undefined || (statusCode !== undefined && statusCode.least >= 300);
}

export function severalOf<T extends string>(some: OneOf<T> | undefined): readonly T[] {
  return some === undefined ? [] : typeof some === "string" ? [some] : some;
}

export function isOneOf<T extends string>(value: T, some: OneOf<T>): boolean {
  return typeof some === "string" ? value === some : some.includes(value);
}

export function matches(row: ResultRow, { error, statusCode }: ResultFilter): boolean {
  if (error !== undefined && (row.error === null || !isOneOf(row.error, error))) return false;
  if (statusCode === undefined) return true;
  return row.status_code !== null && row.status_code >= statusCode.least && row.status_code <= statusCode.most;
}
