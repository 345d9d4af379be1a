/**
 * An event: one thing that happened. It is immutable; its body is fixed at publish and has the same bytes on every
 * attempt.
 */
import type { Idempotency } from "./idempotency.ts";
import { formatInstant } from "../time/instant.ts";

export interface EventDraft {
  readonly tenant: string;
  readonly type: string;
  /** The time at which it happened, in epoch milliseconds. */
  readonly createdAt: number;
  /** The caller's own bytes of `data`: one JSON object, already validated. */
  readonly data: Uint8Array;
  /** The labels by which the publisher finds it. Undefined if there are none. */
  readonly labels?: EventLabels | undefined;
  /** Events with the same key arrive in order at endpoints that ask for it. Undefined if there is none. */
  readonly orderingKey?: string | undefined;
  /** Sent with each attempt to the endpoints that ask for it. */
  readonly trace?: TraceContext | undefined;
  /** Set for a test event, which is sent once, to this endpoint only, whether it is enabled or not. */
  readonly testFor?: string;
  /** Set if the publish may be repeated. Each tenant has its own keys. */
  readonly idempotency?: Idempotency;
}

/** The publisher's own names for an event. Receivers do not get them. */
export interface EventLabels {
  /** The publisher's id. Two events may have the same one. */
  readonly publisherId: string | null;
  /** At most `MAX_TAGS`, without duplicates. */
  readonly tags: readonly string[];
}

export const NO_LABELS: EventLabels = { publisherId: null, tags: [] };
export const MAX_TAGS = 5;
/** Visible ASCII, so that it can be typed as a word of a filter. */
export const PUBLISHER_ID = /^[\x21-\x7e]{1,128}$/;
/** Commas are excluded, because they separate the tags of a list. */
export const TAG = /^[\x21-\x2b\x2d-\x7e]{1,64}$/;

const COMMA_DATA = ',"data":';
/** The end of an envelope, after its data. */
export const ENVELOPE_END = "}";

/**
 * The envelope, `{"id","type","created_at","data"}` in that order, compact. The bytes of `data` are copied unchanged,
 * because a round trip through JSON.parse changes numbers, key order and escapes.
 */
export function envelope(id: string, type: string, createdAt: number, data: Uint8Array): Buffer {
  const head = envelopeHead(id, type, formatInstant(createdAt));
  // Ids and type names contain only one-byte characters.
  const body = Buffer.allocUnsafe(head.length + data.length + ENVELOPE_END.length);
  body.write(head, "latin1");
  body.set(data, head.length);
  body.write(ENVELOPE_END, head.length + data.length, "latin1");
  return body;
}

/** The beginning of the envelope, up to its data. */
export function headOf(id: string, type: string, createdAt: number): Buffer {
  return Buffer.from(envelopeHead(id, type, formatInstant(createdAt)), "latin1");
}

/** The same, of an instant in ISO 8601. `dataOf` and `readEnvelope` count on its length. */
export function envelopeHead(id: string, type: string, createdAt: string): string {
  return `{"id":"${id}","type":"${type}","created_at":"${createdAt}"${COMMA_DATA}`;
}

/** Returns the span of `data` inside an envelope made by `envelope()` for an event of this id and type. */
export function dataOf(body: Uint8Array, id: string, type: string): Uint8Array {
  // The length of {"id":"…","type":"…","created_at":"2026-11-20T09:55:00.123Z","data":
  const start = 7 + id.length + 10 + type.length + 16 + 24 + 1 + COMMA_DATA.length;
  return body.subarray(start, body.length - ENVELOPE_END.length);
}

/** Returns the parts of an envelope made by `envelope()` for an event of this id. */
export function readEnvelope(body: Uint8Array, id: string): { type: string; createdAt: string; data: Uint8Array } {
  // The type begins after {"id":"…","type":" and contains no quote.
  const start = 7 + id.length + 10;
  const end = body.indexOf(QUOTE, start);
  const text = (from: number, to: number) => String.fromCharCode(...body.subarray(from, to));
  const type = text(start, end);
  return { type, createdAt: text(end + 16, end + 40), data: dataOf(body, id, type) };
}

const QUOTE = 0x22;

/**
 * W3C Trace Context: the trace that a publisher's request belongs to. Receivers that may have it get it unchanged, as
 * from any hop that takes no part in the trace. A malformed one is treated as if it had not been sent.
 */
export interface TraceContext {
  readonly traceparent: string;
  readonly tracestate: string | null;
}

/** Version, trace id, parent id and flags. A version after 00 may append more. `ff` and ids of zeros are invalid. */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-[\x21-\x7e]*)?$/;
const LENGTH_00 = 55;
/** No existing version is longer. */
const MAX_LENGTH = 256;

const MEMBER = /^([a-z0-9][a-z0-9_\-*/@]{0,255})=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/;
const MAX_MEMBERS = 32;
/** The length that every hop must pass on. */
const MAX_STATE = 512;
const LONG_MEMBER = 128;

/** Takes the values of the two headers, each as one string. Returns undefined for an invalid traceparent. */
export function traceContext(traceparent: string, tracestate: string | undefined): TraceContext | undefined {
  if (!TRACEPARENT.test(traceparent) || traceparent.length > MAX_LENGTH) return undefined;
  if (traceparent.startsWith("00") && traceparent.length !== LENGTH_00) return undefined;
  return { traceparent, tracestate: tracestate === undefined ? null : stateOf(tracestate) };
}

/** Returns null if it is empty or malformed, which does not affect the traceparent. */
function stateOf(text: string): string | null {
  const members = text
    .split(",")
    .map((member) => member.trim())
    .filter((member) => member !== "");
  const keys = members.map((member) => MEMBER.exec(member)?.[1]);
  if (members.length > MAX_MEMBERS || keys.includes(undefined) || new Set(keys).size < keys.length) return null;
  const fitting = fit(members);
  return fitting.length === 0 ? null : fitting.join(",");
}

/** Keeps whole members, removing the long ones first and then the last ones. */
function fit(members: readonly string[]): readonly string[] {
  const fits = (list: readonly string[]) => list.join(",").length <= MAX_STATE;
  if (fits(members)) return members;
  const kept = [...members];
  for (let at = kept.length - 1; at >= 0 && !fits(kept); at--) if (kept[at]!.length > LONG_MEMBER) kept.splice(at, 1);
  while (!fits(kept)) kept.pop();
  return kept;
}
