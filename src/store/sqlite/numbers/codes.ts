/** How rows hold words, traces and the hash of bytes. The order of the words is on disk: only ever add at the end. */
import { hash } from "node:crypto";
import type { Outcome, Trigger } from "../../../domain/deliveries/attempt.ts";
import type { DeliveryStatus } from "../../../domain/deliveries/delivery.ts";
import type { TraceContext } from "../../../domain/events/event.ts";

export const FRESH = 0;
export const WAITING = 1;
export const DELIVERED = 2;
export const FAILED = 3;
export const CANCELLED = 4;

const STATUSES: readonly DeliveryStatus[] = ["pending", "pending", "delivered", "failed", "cancelled"];
const TRIGGERS: readonly Trigger[] = ["ladder", "replay", "manual", "test"];
const OUTCOMES: readonly Outcome["outcome"][] = ["succeeded", "failed", "interrupted"];

export const statusOf = (code: number): DeliveryStatus => STATUSES[code]!;
export const triggerCode = (trigger: Trigger): number => TRIGGERS.indexOf(trigger);
export const triggerOf = (code: number): Trigger => TRIGGERS[code]!;
export const outcomeCode = (outcome: Outcome["outcome"]): number => OUTCOMES.indexOf(outcome);
export const outcomeOf = (code: number): Outcome["outcome"] => OUTCOMES[code]!;

/** One text: the traceparent, which holds no space, and the tracestate after one. */
export function traceText(trace: TraceContext | undefined): string | null {
  if (trace === undefined) return null;
  return trace.tracestate === null ? trace.traceparent : `${trace.traceparent} ${trace.tracestate}`;
}

export function traceOf(text: string | null): TraceContext | undefined {
  if (text === null) return undefined;
  const space = text.indexOf(" ");
  if (space < 0) return { traceparent: text, tracestate: null };
  return { traceparent: text.slice(0, space), tracestate: text.slice(space + 1) };
}

/** SHA-256 of an event's bytes: SQLite notices no flipped bit in a row's data. */
export function bodyHash(body: Uint8Array): Buffer {
  // As a Buffer, each would be an allocation of its own outside the heap, and cost half as much again.
  return Buffer.from(hash("sha256", body, "binary"), "binary");
}
