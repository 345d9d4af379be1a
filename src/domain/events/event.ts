/** An event: one thing that happened. Immutable; its body bytes are fixed at publish and the same on every attempt. */
import type { Idempotency } from "./idempotency.ts";
import { formatInstant } from "../time/instant.ts";
import type { TraceContext } from "./trace-context.ts";

export interface EventDraft {
  readonly tenant: string;
  readonly type: string;
  /** When it happened, epoch milliseconds. */
  readonly createdAt: number;
  /** The caller's own bytes of `data`, one JSON object, already validated. */
  readonly data: Uint8Array;
  /** Passed on with each attempt. */
  readonly trace?: TraceContext | undefined;
  /** Given for a test event: it goes to this endpoint alone, enabled or not, once. */
  readonly testFor?: string;
  /** Given when the publish may come again; known per tenant. */
  readonly idempotency?: Idempotency;
}

const COMMA_DATA = ',"data":';
const CLOSE = 0x7d;

/**
 * The envelope, `{"id","type","created_at","data"}` in that order, compact; inside `data` nothing is altered, because
 * a round trip through JSON.parse changes numbers, key order and escapes.
 */
export function envelope(id: string, type: string, createdAt: number, data: Uint8Array): Buffer {
  const head = `{"id":"${id}","type":"${type}","created_at":"${formatInstant(createdAt)}"${COMMA_DATA}`;
  // Neither an id nor the name of a type has a character that takes more than a byte.
  const body = Buffer.allocUnsafe(head.length + data.length + 1);
  body.write(head, "latin1");
  body.set(data, head.length);
  body[body.length - 1] = CLOSE;
  return body;
}

/** The span of `data` inside an envelope made by `envelope()` for an event of this id and type. */
export function dataOf(body: Uint8Array, id: string, type: string): Uint8Array {
  // {"id":"…","type":"…","created_at":"2026-11-20T09:55:00.123Z","data":
  const start = 7 + id.length + 10 + type.length + 16 + 24 + 1 + COMMA_DATA.length;
  return body.subarray(start, body.length - 1);
}
