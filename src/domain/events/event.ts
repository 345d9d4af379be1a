/** An event: one thing that happened. Immutable; its body bytes are fixed at publish and the same on every attempt. */
import type { Idempotency } from "./idempotency.ts";
import { formatInstant } from "../time/instant.ts";

export interface EventDraft {
  readonly tenant: string;
  readonly type: string;
  /** When it happened, epoch milliseconds. */
  readonly createdAt: number;
  /** The caller's own bytes of `data`, one JSON object, already validated. */
  readonly data: Uint8Array;
  /** What the publisher finds it by; undefined where there is nothing. */
  readonly labels?: EventLabels | undefined;
  /** Passed on with each attempt. */
  readonly trace?: TraceContext | undefined;
  /** Given for a test event: it goes to this endpoint alone, enabled or not, once. */
  readonly testFor?: string;
  /** Given when the publish may come again; known per tenant. */
  readonly idempotency?: Idempotency;
}

/** The publisher's own names for an event. Receivers are not told of them. */
export interface EventLabels {
  /** The publisher's id. Two events may have the same one. */
  readonly publisherId: string | null;
  /** At most `MAX_TAGS`, none of them twice. */
  readonly tags: readonly string[];
}

export const NO_LABELS: EventLabels = { publisherId: null, tags: [] };
export const MAX_TAGS = 5;
/** Visible ASCII, so that they can be typed as words of a filter. */
export const PUBLISHER_ID = /^[\x21-\x7e]{1,128}$/;
/** A list of them is separated by commas. */
export const TAG = /^[\x21-\x2b\x2d-\x7e]{1,64}$/;

const COMMA_DATA = ',"data":';
const CLOSE = 0x7d;

/**
 * The envelope, `{"id","type","created_at","data"}` in that order, compact; inside `data` nothing is altered, because
 * a round trip through JSON.parse changes numbers, key order and escapes.
 */
export function envelope(id: string, type: string, createdAt: number, data: Uint8Array): Buffer {
  const head = headText(id, type, createdAt);
  // Neither an id nor the name of a type has a character that takes more than a byte.
  const body = Buffer.allocUnsafe(head.length + data.length + 1);
  body.write(head, "latin1");
  body.set(data, head.length);
  body[body.length - 1] = CLOSE;
  return body;
}

/** The envelope as far as its data. */
export function headOf(id: string, type: string, createdAt: number): Buffer {
  return Buffer.from(headText(id, type, createdAt), "latin1");
}

function headText(id: string, type: string, createdAt: number): string {
  return `{"id":"${id}","type":"${type}","created_at":"${formatInstant(createdAt)}"${COMMA_DATA}`;
}

/** The span of `data` inside an envelope made by `envelope()` for an event of this id and type. */
export function dataOf(body: Uint8Array, id: string, type: string): Uint8Array {
  // {"id":"…","type":"…","created_at":"2026-11-20T09:55:00.123Z","data":
  const start = 7 + id.length + 10 + type.length + 16 + 24 + 1 + COMMA_DATA.length;
  return body.subarray(start, body.length - 1);
}

/**
 * W3C Trace Context: what a publisher's request says of the trace that it belongs to. Receivers get it as it came, as
 * from any hop that takes no part in the trace; what is malformed is as if it had not been sent.
 */
export interface TraceContext {
  readonly traceparent: string;
  readonly tracestate: string | null;
}

/** Version, trace id, parent id and flags; a version after 00 may append more. `ff` and ids of zeros are invalid. */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-[\x21-\x7e]*)?$/;
const LENGTH_00 = 55;
/** Longer ones are of no version that there is. */
const MAX_LENGTH = 256;

const MEMBER = /^([a-z0-9][a-z0-9_\-*/@]{0,255})=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/;
const MAX_MEMBERS = 32;
/** What any hop has to pass on. */
const MAX_STATE = 512;
const LONG_MEMBER = 128;

/** The values of the two headers, each as one text; undefined for a trace that cannot be told. */
export function traceContext(traceparent: string, tracestate: string | undefined): TraceContext | undefined {
  if (!TRACEPARENT.test(traceparent) || traceparent.length > MAX_LENGTH) return undefined;
  if (traceparent.startsWith("00") && traceparent.length !== LENGTH_00) return undefined;
  return { traceparent, tracestate: tracestate === undefined ? null : stateOf(tracestate) };
}

/** Null when it is malformed, which does no harm to the traceparent, or empty. */
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

/** Whole members, the long ones removed first and then the last ones. */
function fit(members: readonly string[]): readonly string[] {
  const fits = (list: readonly string[]) => list.join(",").length <= MAX_STATE;
  if (fits(members)) return members;
  const kept = [...members];
  for (let at = kept.length - 1; at >= 0 && !fits(kept); at--) if (kept[at]!.length > LONG_MEMBER) kept.splice(at, 1);
  while (!fits(kept)) kept.pop();
  return kept;
}
