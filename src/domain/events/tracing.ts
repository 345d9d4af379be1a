/**
 * The spans of an event: their ids, and which of them are recorded. All of it follows from the event's id, its
 * publisher's trace context and the settings. So a restart, another node or a replay comes to the same result, and
 * nothing about spans is stored.
 */
import { createHash } from "node:crypto";
import type { TraceContext } from "./event.ts";

/** An event's part in a trace. `event` is its id. */
export interface Traced {
  readonly event: string;
  readonly trace?: TraceContext | undefined;
}

const HEX = "0123456789abcdef";
/** The values of Crockford's base32 digits, by character code. */
const DIGITS = new Uint8Array(128);
for (const [value, digit] of [..."0123456789abcdefghjkmnpqrstvwxyz"].entries()) DIGITS[digit.charCodeAt(0)] = value;

const PREFIX = "evt_".length;
const SAMPLED = 0x01;
const FLAGS_AT = 53;

/** Returns the publisher's trace, or a trace of the event alone. */
export function traceIdOf({ event, trace }: Traced): string {
  return trace === undefined ? hexOf(event) : trace.traceparent.slice(3, 35);
}

/** Returns the span that the publisher named, or null if there is none. */
export function parentSpanIdOf({ trace }: Traced): string | null {
  return trace === undefined ? null : trace.traceparent.slice(36, 52);
}

export function publishSpanId({ event }: Pick<Traced, "event">): string {
  // These bits are random.
  return hexOf(event).slice(16);
}

/** The id of an attempt's span, or of the wait before it. */
export function attemptSpanId(delivery: string, number: number, part: "attempt" | "wait" = "attempt"): string {
  return createHash("sha256").update(`${part} ${delivery} ${number}`).digest("hex").slice(0, 16);
}

/**
 * Follows the publisher's decision, if there is a publisher's trace. Otherwise, `ratio` of the events are sampled, by
 * the random bits that OpenTelemetry compares too.
 */
export function isSampled({ event, trace }: Traced, ratio: number): boolean {
  if (trace !== undefined) return (flagsOf(trace) & SAMPLED) !== 0;
  return randomness(event) >= 1 - ratio;
}

/**
 * Returns the trace context for the receiver of an attempt: the attempt's own span if it is recorded, or what the
 * publisher sent. `ratio` is null if the daemon records no spans.
 */
export function sentTrace(
  send: Traced & { readonly delivery: string; readonly number: number },
  ratio: number | null,
): TraceContext | undefined {
  const { trace, delivery, number } = send;
  if (ratio === null || !isSampled(send, ratio)) return trace;
  const flags = trace === undefined ? "01" : trace.traceparent.slice(FLAGS_AT, FLAGS_AT + 2);
  const traceparent = `00-${traceIdOf(send)}-${attemptSpanId(delivery, number)}-${flags}`;
  return { traceparent, tracestate: trace?.tracestate ?? null };
}

function flagsOf({ traceparent }: TraceContext): number {
  return Number.parseInt(traceparent.slice(FLAGS_AT, FLAGS_AT + 2), 16);
}

/** Returns a number from 0 to less than 1: the highest 31 of the lowest 56 bits, which are random. */
function randomness(event: string): number {
  let bits = DIGITS[event.charCodeAt(PREFIX + 14)]! & 1;
  for (let at = PREFIX + 15; at < PREFIX + 21; at++) bits = bits * 32 + DIGITS[event.charCodeAt(at)]!;
  return bits / 2 ** 31;
}

/** Returns the 128 bits of an event's id. Its 26 characters have room for two more, which are 0. */
function hexOf(event: string): string {
  let text = "";
  let held = 0;
  let bits = -2;
  for (let at = PREFIX; at < event.length; at++) {
    held = (held << 5) | DIGITS[event.charCodeAt(at)]!;
    bits += 5;
    while (bits >= 4) {
      bits -= 4;
      text += HEX[(held >> bits) & 15];
    }
    held &= (1 << bits) - 1;
  }
  return text;
}
