import type { Delivery } from "../../src/client/operations.ts";
import type { StreamMessage } from "../../src/client/stream.ts";

export type Change = Extract<StreamMessage, { readonly kind: "attempt" | "delivery" | "endpoint" }>;
export type Counts = Extract<StreamMessage, { readonly kind: "counts" }>;
/** A message about the connection, for people and for programs. */
export interface Note {
  readonly kind: "note";
  readonly text: string;
  readonly data: { readonly kind: string; readonly [field: string]: unknown };
}
export type TailItem = Change | Counts | Note;

/** Returns a delivery's last change, as the stream would have reported it. */
export function changeOf(delivery: Delivery): Change {
  const { id, event, endpoint, tenant, status, last_attempt: last, next_attempt_at } = delivery;
  const about = { tenant, endpoint, event, delivery: id, status };
  if (last === null) return { kind: "delivery", data: { at: delivery.received_at, ...about } };
  const { number, outcome, error, status_code, duration_ms } = last;
  const at = new Date(Date.parse(last.started_at) + last.duration_ms).toISOString();
  return { kind: "attempt", data: { at, ...about, number, outcome, error, status_code, duration_ms, next_attempt_at } };
}

/**
 * Returns the same key for the same change, whether it came from a list or from the stream. Null if the change cannot
 * be told apart from others.
 */
export function keyOf({ kind, data }: Change): string | null {
  if (kind === "endpoint") return null;
  if (kind === "delivery") return data.event === null ? null : `${data.event} ${data.endpoint}`;
  return `${data.delivery} ${data.number}`;
}
