import { WebhookdError } from "../../../domain/errors.ts";

export type Order = "newest" | "oldest";

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

  encode(list: string, order: Order, keys: readonly number[]): string {
    const text = [list, order, ...keys].join(":");
    const mark = this.#mark(Buffer.from(`cursor:${text}`)).subarray(0, MARK_BYTES);
    return `${Buffer.from(text).toString("base64url")}.${Buffer.from(mark).toString("base64url")}`;
  }

  /** Throws `invalid_query` for anything that `encode` did not give for this list in this order. */
  decode(cursor: string, list: string, order: Order, count: number): number[] {
    const [, , ...parts] = Buffer.from(cursor.split(".")[0]!, "base64url").toString().split(":");
    const keys = parts.map(Number);
    // Written again it must be the same text: there is one spelling only.
    if (keys.length === count && this.encode(list, order, keys) === cursor) return keys;
    const detail = "is not one that this list gave in this order; begin again without it";
    throw new WebhookdError("invalid_query", `cursor ${detail}`, {
      errors: [{ pointer: "?cursor", code: "invalid_type", detail }],
    });
  }
}
