import { WebhookdError } from "../../domain/errors.ts";

type Order = "newest" | "oldest";

/** Where a list goes on: the keys of the last row that was looked at, bound to the list and its order. */
export function encodeCursor(list: string, order: Order, keys: readonly number[]): string {
  return Buffer.from([list, order, ...keys].join(":")).toString("base64url");
}

export function decodeCursor(cursor: string, list: string, order: Order, count: number): number[] {
  const [ofList, ofOrder, ...parts] = Buffer.from(cursor, "base64url").toString().split(":");
  const keys = parts.map(Number);
  const whole = keys.length === count && keys.every((key) => Number.isSafeInteger(key) && key >= 0);
  // Written again it must be the same text: there is one spelling only.
  if (ofList === list && ofOrder === order && whole && encodeCursor(list, order, keys) === cursor) return keys;
  throw new WebhookdError("invalid_query", "the cursor is not one that this list gave in this order");
}
