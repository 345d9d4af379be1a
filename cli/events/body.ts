/**
 * Rebuilds an event's body, as it is signed and sent, from the daemon's response. Its `data` must not pass through a
 * JSON parser, which would change the bytes.
 */
import type { Event } from "../../src/client/operations.ts";
import { envelope } from "../../src/domain/events/event.ts";
import type { Span } from "../../src/domain/json/json-token.ts";
import { scanObject } from "../../src/domain/json/json.ts";
import { Failure } from "../failure.ts";

/** Returns `{"id","type","created_at","data"}`. Throws for an event whose data was erased. */
export function bodyOf(answer: string): Buffer {
  const { id, type, created_at } = JSON.parse(answer) as Event;
  const data = dataOf(answer);
  if (data !== null) return envelope(id, type, Date.parse(created_at), data);
  throw new Failure(
    "conflict",
    `the data of ${id} was erased`,
    `Its attempts are kept: webhookd attempts list ${id}`,
    "gone",
  );
}

/** Returns the bytes that were published, or null if they were erased. */
export function dataOf(answer: string): Buffer | null {
  const bytes = Buffer.from(answer);
  const span: Span & { readonly kind: string } = scanObject(bytes).get("data")!;
  return span.kind === "null" ? null : bytes.subarray(span.start, span.end);
}
