import { describe, expect, it } from "vitest";
import { payloadHash, type Sent, Sides } from "../../../cli/import/shadow/sides.ts";

const SPAN = { since: 1000, until: 2000 };
const sent = (event: string, more: Partial<Sent> = {}): Sent => ({
  event,
  type: "order.paid",
  publisherId: null,
  payload: payloadHash({ n: 1 }),
  at: 1500,
  ...more,
});

function counts(there: readonly Sent[], here: readonly Sent[]) {
  const sides = new Sides(SPAN);
  for (const one of there) sides.there(one);
  for (const one of here) sides.here(one);
  const { both, onlyThere, onlyHere, different } = sides.compared();
  return [both, onlyThere.count, onlyHere.count, different.count];
}

describe("the two sides of an endpoint", () => {
  it("pair events by the publisher's id, however different their times are", () => {
    const [there, here] = [sent("a", { publisherId: "17", at: 1000 }), sent("b", { publisherId: "17", at: 2000 })];
    expect(counts([there], [here])).toEqual([1, 0, 0, 0]);
    expect(counts([there], [{ ...here, publisherId: "18" }])).toEqual([0, 1, 1, 0]);
  });

  it("say which events have the same publisher's id, and another payload or type", () => {
    const there = [sent("a", { publisherId: "17" }), sent("b", { publisherId: "18" })];
    const here = [
      sent("c", { publisherId: "17", payload: payloadHash({ n: 2 }) }),
      sent("d", { publisherId: "18", type: "order.refunded" }),
    ];
    expect(counts(there, here)).toEqual([0, 0, 0, 2]);
  });

  it("take the event of the same payload first, if a publisher used an id twice", () => {
    const [one, other] = [payloadHash({ n: 1 }), payloadHash({ n: 2 })];
    const both = (event: string) => [
      sent(`${event}1`, { publisherId: "17", payload: one }),
      sent(`${event}2`, { publisherId: "17", payload: other }),
    ];
    expect(counts(both("a"), both("b").toReversed())).toEqual([2, 0, 0, 0]);
  });

  it("pair by type and payload where one side has no publisher's id, each event once", () => {
    expect(counts([sent("a", { publisherId: "17" }), sent("b")], [sent("c")])).toEqual([1, 1, 0, 0]);
    expect(counts([sent("a")], [sent("b"), sent("c")])).toEqual([1, 0, 1, 0]);
    expect(counts([sent("a")], [sent("b", { type: "order.refunded" })])).toEqual([0, 1, 1, 0]);
  });

  it("take no longer for each event if all have the same payload, and ids that only one side knows", () => {
    const one = sent("a");
    const many = (name: string) => Array.from({ length: 60_000 }, (_, at) => ({ ...one, publisherId: `${name}${at}` }));
    expect(counts(many("there"), many("here"))).toEqual([0, 60_000, 60_000, 0]);
    expect(counts([sent("a", { publisherId: "17" }), sent("b")], [sent("c", { publisherId: "18" })])).toEqual([
      1, 1, 0, 0,
    ]);
  });

  it("leave out what is outside of the span, but let it be the partner of what is within", () => {
    const early = sent("a", { publisherId: "17", at: 900 });
    expect(counts([early], [sent("b", { publisherId: "17" })])).toEqual([1, 0, 0, 0]);
    expect(counts([early, sent("c", { at: 2100 })], [])).toEqual([0, 0, 0, 0]);
    expect(counts([], [sent("d", { at: 999 })])).toEqual([0, 0, 0, 0]);
  });

  it("hash a payload by what it says, not by how it is written", () => {
    expect(payloadHash({ a: 1, b: [{ d: 2, c: 3 }] })).toBe(payloadHash({ b: [{ c: 3, d: 2 }], a: 1 }));
    expect(payloadHash({ a: 1 })).not.toBe(payloadHash({ a: "1" }));
  });
});
