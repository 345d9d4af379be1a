/** Positions in a list, and how far its rows are counted. */
import { WebhookdError } from "../../domain/errors.ts";
import type { PageQuery } from "../store.ts";

/** Rows are counted up to here. */
export const MOST_COUNTED = 10_000;

/** What a row is sorted by: no two rows of a list have the same keys, and they never change. */
export type Keys = readonly number[];

export interface Sifted<Row> {
  /** Those that may be wanted, in the order of the list. */
  readonly rows: readonly Row[];
  /** The keys of the last one that was looked at. */
  readonly reached: Keys;
  /** Fewer than were asked for: there are no more. */
  readonly looked: number;
}

/** Of the mark; enough that nobody guesses it, and short. */
const MARK_BYTES = 9;

/**
 * Where a list goes on: the keys of the last row that was looked at, bound to the list and its order. Each carries a
 * mark that only this store can make, or one that was cut short would be read as another place in the list.
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

  /** Throws `invalid_query` for anything that `encode` did not give for this list in this order. */
  decode(cursor: string, list: string, order: PageQuery["order"], count: number): number[] {
    const [, , ...parts] = Buffer.from(cursor.split(".")[0]!, "base64url").toString().split(":");
    const keys = parts.map(Number);
    // Written again it must be the same text: there is one spelling only.
    if (keys.length === count && this.encode(list, order, keys) === cursor) return keys;
    const detail = "is for another list or another order; start again without it";
    throw new WebhookdError("invalid_query", `cursor ${detail}`, {
      errors: [{ pointer: "?cursor", code: "invalid_type", detail }],
    });
  }
}
