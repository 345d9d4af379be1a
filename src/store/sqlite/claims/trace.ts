/** A trace context as one text: the traceparent, which holds no space, and the tracestate after one. */
import type { TraceContext } from "../../../domain/trace-context.ts";

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
