/** Positions in a list, and the limit up to which its rows are counted. */
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
 * The place at which a list continues: the keys of the last row that was examined, bound to the list and its order.
 * Each cursor carries a mark that only this store can make. Without it, a truncated cursor would be read as another
 * place.
 */
export class Cursors {
  readonly #mark: (bytes: Uint8Array) => Uint8Array;

  constructor(mark: (bytes: Uint8Array) => Uint8Array) {
    this.#mark = mark;
  }

  encode(list: string, order: PageQuery["order"], keys: readonly number[]): string {
    const text = [list, order, ...keys].join(":");
    const mark = this.#mark(Buffer.from(`cursor:${text}`)).subarray(0, MARK_BYTES);
    return `${Buffer.from(text).toString("base64url")}.${Buffer.from(mark).toString("base64url")}`;
  }

  /** Throws `invalid_query` for anything that `encode` did not return for this list in this order. */
  decode(cursor: string, list: string, order: PageQuery["order"], count: number): number[] {
    const [, , ...parts] = Buffer.from(cursor.split(".")[0]!, "base64url").toString().split(":");
    const keys = parts.map(Number);
    // Encoding the keys again must give the same text, because each cursor has only one spelling.
    if (keys.length === count && this.encode(list, order, keys) === cursor) return keys;
    const detail = "is for another list or another order; start again without it";
    throw new WebhookdError("invalid_query", `cursor ${detail}`, {
      errors: [{ pointer: "?cursor", code: "invalid_type", detail }],
    });
  }
}
