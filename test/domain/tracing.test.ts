import { describe, expect, it } from "vitest";
import type { TraceContext } from "../../src/domain/events/event.ts";
import {
  attemptSpanId,
  isSampled,
  parentSpanIdOf,
  publishSpanId,
  sentTrace,
  traceIdOf,
} from "../../src/domain/events/tracing.ts";
import { eventId, RandomChars } from "../../src/store/rows/codes.ts";
import { randomBytes } from "node:crypto";

const EVENT = "evt_06fbqxw6v8s2d4f6g8h0j2k4m6";
const TRACE_ID = "0af7651916cd43dd8448eb211c80319c";
const traceOf = (flags: string, tracestate: string | null = null): TraceContext => {
  return { traceparent: `00-${TRACE_ID}-b7ad6b7169203331-${flags}`, tracestate };
};
const SEND = { event: EVENT, delivery: "dlv_06fbqxw6v8s2d4f6g8h0j2k4n0", number: 1 };

/** The 128 bits of an event's id, computed in another way. */
function bitsOf(event: string): bigint {
  const digits = "0123456789abcdefghjkmnpqrstvwxyz";
  return [...event].slice(4).reduce((bits, digit) => bits * 32n + BigInt(digits.indexOf(digit)), 0n);
}

describe("the ids of spans", () => {
  it("are those of the event's own trace, if there is no other", () => {
    const random = new RandomChars(randomBytes);
    for (let key = 1; key < 2 ** 50; key *= 7) {
      const event = eventId(key, random.next());
      const hex = bitsOf(event).toString(16).padStart(32, "0");
      expect(traceIdOf({ event })).toBe(hex);
      expect(publishSpanId({ event })).toBe(hex.slice(16));
    }
    expect(parentSpanIdOf({ event: EVENT })).toBeNull();
  });

  it("continue the trace of the publisher", () => {
    const traced = { event: EVENT, trace: traceOf("01") };
    expect([traceIdOf(traced), parentSpanIdOf(traced)]).toEqual([TRACE_ID, "b7ad6b7169203331"]);
    expect(publishSpanId(traced)).toBe(publishSpanId({ event: EVENT }));
  });

  it("differ for each attempt, each delivery and each wait, and never change", () => {
    const all = ["dlv_1", "dlv_2"].flatMap((delivery) =>
      [1, 2].flatMap((number) => [attemptSpanId(delivery, number), attemptSpanId(delivery, number, "wait")]),
    );
    expect(new Set(all).size).toBe(8);
    for (const id of all) expect(id).toMatch(/^[0-9a-f]{16}$/);
    expect(attemptSpanId("dlv_1", 1)).toBe(all[0]);
  });
});

describe("sampling", () => {
  it.each([
    ["00", false],
    ["01", true],
    ["02", false],
    ["03", true],
  ])("follows the publisher's flags %s, whatever the ratio", (flags, expected) => {
    for (const ratio of [0, 1]) expect(isSampled({ event: EVENT, trace: traceOf(flags) }, ratio)).toBe(expected);
  });

  it("takes that part of all other events, by the bits that OpenTelemetry calls random", () => {
    const random = new RandomChars(randomBytes);
    const events = Array.from({ length: 4000 }, (_, at) => eventId(1e15 + at, random.next()));
    for (const ratio of [0, 0.01, 0.25, 1]) {
      const sampled = events.filter((event) => isSampled({ event }, ratio));
      expect(Math.abs(sampled.length / events.length - ratio)).toBeLessThan(0.02);
      // The consistent threshold of OpenTelemetry: the lowest 56 bits of the trace id, against 1 - ratio.
      const expected = events.filter((event) => Number(bitsOf(event) & (2n ** 56n - 1n)) >= (1 - ratio) * 2 ** 56);
      expect(Math.abs(sampled.length - expected.length)).toBeLessThanOrEqual(1);
    }
  });
});

describe("the trace that a receiver gets", () => {
  it("is the publisher's, if the daemon records no spans or does not sample this one", () => {
    const trace = traceOf("00", "a=1");
    expect(sentTrace({ ...SEND, trace }, 1)).toBe(trace);
    expect(sentTrace({ ...SEND, trace: traceOf("01") }, null)).toEqual(traceOf("01"));
    expect(sentTrace(SEND, null)).toBeUndefined();
    expect(sentTrace(SEND, 0)).toBeUndefined();
  });

  it("names the span of the attempt, if that is recorded", () => {
    const span = attemptSpanId(SEND.delivery, 1);
    const trace = traceOf("03", "a=1");
    expect(sentTrace({ ...SEND, trace }, 0)).toEqual({
      traceparent: `00-${TRACE_ID}-${span}-03`,
      tracestate: "a=1",
    });
    expect(sentTrace(SEND, 1)).toEqual({
      traceparent: `00-${traceIdOf(SEND)}-${span}-01`,
      tracestate: null,
    });
  });
});
