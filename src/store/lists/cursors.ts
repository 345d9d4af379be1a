/** Positions in a list, and the limit up to which its rows are counted. */
import { createHash } from "node:crypto";
import { WebhookdError } from "../../domain/errors.ts";
import type { PageQuery } from "../store.ts";

/** The maximum number of rows that are counted. */
export const MOST_COUNTED = 10_000;

/** The values that a row is sorted by. No two rows of a list have the same keys, and keys never change. */
export type Keys = readonly number[];

export interface Sifted<Row> {
  /** The rows that may be wanted, in the order of the list. */
  readonly rows: readonly Row[];
  /** The keys of the last row that was examined. */
  readonly reached: Keys;
  /** The number of rows examined. If it is smaller than the number asked for, no more rows are left. */
  readonly looked: number;
}

/** The length of the mark: short, but enough that nobody can guess one. */
const MARK_BYTES = 9;

/**
 * The place at which a list continues: the keys of the last row that was examined, bound to the list, its order, its
 * tenant and its filters. With other filters, the list would look complete although its beginning is missing.
 * Each cursor carries a mark that only this store can make. Without it, a truncated cursor would be read as another
 * place.
 */
export class Cursors {
  readonly #mark: (bytes: Uint8Array) => Uint8Array;

  constructor(mark: (bytes: Uint8Array) => Uint8Array) {
    this.#mark = mark;
  }

  encode(list: string, query: PageQuery, keys: readonly number[]): string {
    const text = [list, query.order, ...keys].join(":");
    const mark = this.#mark(Buffer.from(`cursor:${scopeOf(query)}:${text}`)).subarray(0, MARK_BYTES);
    return `${Buffer.from(text).toString("base64url")}.${Buffer.from(mark).toString("base64url")}`;
  }

  /** Throws `invalid_query` for anything that `encode` did not return for this list and query. */
  decode(cursor: string, list: string, query: PageQuery, count: number): number[] {
    const [, , ...parts] = Buffer.from(cursor.split(".")[0]!, "base64url").toString().split(":");
    const keys = parts.map(Number);
    // Encoding the keys again must give the same text, because each cursor has only one spelling.
    if (keys.length === count && this.encode(list, query, keys) === cursor) return keys;
    const detail = "is for another list, or for other parameters than these; start again without it";
    throw new WebhookdError("invalid_query", `cursor ${detail}`, {
      errors: [{ pointer: "?cursor", code: "invalid_type", detail }],
    });
  }
}

/** The parts of a query that decide which rows are in the list, as a digest. A page may be longer than the one before. */
function scopeOf(query: PageQuery): string {
  const { limit: _, cursor: __, total: ___, order: ____, ...asked } = query;
  const given = Object.entries(asked).filter(([, value]) => value !== undefined);
  const text = JSON.stringify(given.toSorted(([a], [b]) => (a < b ? -1 : 1)));
  return createHash("sha256").update(text).digest("base64url");
}
