/** What an event carries beside its bytes, as its row has it. */
import { hash } from "node:crypto";
import type { TraceContext } from "../../../domain/trace-context.ts";

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
