import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  enter,
  enterTogether,
  holdsKey,
  isAhead,
  isInOrder,
  nextInLine,
  orderingKeyFault,
  releasedAt,
  type Line,
  type OpenPlace,
  type Place,
} from "../../src/domain/deliveries/ordering.ts";

const at = (sequence: number, event = sequence): Place => ({ sequence, event });
const due = (sequence: number): OpenPlace => ({ ...at(sequence), isBehind: false, isBeingCancelled: false });
const behind = (sequence: number): OpenPlace => ({ ...due(sequence), isBehind: true });
const line = (first: OpenPlace | null, holder: Place | null = null): Line => ({ first, holder });

describe("a line of an ordering key", () => {
  it("is only of endpoints that ask for order, and of events that have a key", () => {
    expect([isInOrder({ ordering: "by_key" }, "a"), isInOrder({ ordering: "by_key" }, undefined)]).toEqual([
      true,
      false,
    ]);
    expect([isInOrder({ ordering: "none" }, "a"), isInOrder({ ordering: "by_key" }, null)]).toEqual([false, false]);
  });

  it("is in the order of its numbers, and then of events", () => {
    expect(isAhead(at(1), at(2)) && isAhead(at(0, 5), at(0, 6))).toBe(true);
    expect(isAhead(at(2), at(1)) || isAhead(at(0, 6), at(0, 5)) || isAhead(at(1), at(1))).toBe(false);
  });

  it("lets the first one be due, and the others wait", () => {
    expect(enter(line(null), at(1))).toEqual({ isBehind: false, overtakes: null });
    expect(enter(line(due(1)), at(2))).toEqual({ isBehind: true, overtakes: null });
  });

  it("lets a replay overtake one that is due, and pass one that waits", () => {
    expect(enter(line(due(3)), at(2))).toEqual({ isBehind: false, overtakes: due(3) });
    expect(enter(line(behind(3)), at(2))).toEqual({ isBehind: false, overtakes: null });
  });

  it("goes no further than the one that holds the key", () => {
    expect(enter(line(null, at(1)), at(2))).toEqual({ isBehind: true, overtakes: null });
    expect(enter(line(behind(3), at(2)), at(1))).toEqual({ isBehind: false, overtakes: null });
    expect(nextInLine(line(behind(3), at(2)))).toBeNull();
    expect(nextInLine(line(behind(1), at(2)))).toEqual(behind(1));
  });

  it("lets the next one be due once, and none that is about to be cancelled", () => {
    expect(nextInLine(line(behind(2)))).toEqual(behind(2));
    expect([nextInLine(line(null)), nextInLine(line(due(2)))]).toEqual([null, null]);
    expect(nextInLine(line({ ...behind(2), isBeingCancelled: true }))).toBeNull();
  });

  it("is held by what failed, if the endpoint holds", () => {
    const rules = { ordering: "by_key", afterFailure: "hold", deleted: false } as const;
    expect([holdsKey(rules, "failed"), holdsKey(rules, "cancelled"), holdsKey(rules, "waiting")]).toEqual([
      true,
      false,
      false,
    ]);
    expect(holdsKey({ ...rules, afterFailure: "continue" }, "failed")).toBe(false);
    expect(holdsKey({ ...rules, ordering: "none" }, "failed")).toBe(false);
    expect(holdsKey({ ...rules, deleted: true }, "failed")).toBe(false);
  });

  it("makes no retry early, and keeps the time of what a disabled endpoint misses", () => {
    expect([releasedAt({ enabled: true }, 50, 100), releasedAt({ enabled: true }, 500, 100)]).toEqual([100, 500]);
    expect(releasedAt({ enabled: false }, 50, 100)).toBe(50);
  });

  it("has a key of 1 to 256 bytes without control characters", () => {
    const keys = ["a", "é".repeat(128), "", "é".repeat(129), "a\n", "\u007f", "\u0085", "\ud800"];
    expect(keys.map(orderingKeyFault)).toEqual([
      null,
      null,
      "too_few",
      "too_long",
      "forbidden_char",
      "forbidden_char",
      "forbidden_char",
      "forbidden_char",
    ]);
  });

  it("decides about several as about one after another", () => {
    const places = fc.uniqueArray(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 5 });
    const lines = fc.record({
      first: fc.option(fc.record({ sequence: fc.integer({ min: 1, max: 9 }), isBehind: fc.boolean() }), { nil: null }),
      holder: fc.option(fc.integer({ min: 1, max: 9 }), { nil: null }),
    });
    fc.assert(
      fc.property(lines, places, ({ first, holder }, sequences) => {
        const start = line(
          first && { ...at(first.sequence), isBehind: first.isBehind, isBeingCancelled: false },
          holder === null ? null : at(holder),
        );
        const some = sequences.filter((one) => one !== first?.sequence && one !== holder).map((one) => at(one));
        const together = enterTogether(start, some);
        let now = start;
        for (const place of some.toSorted((one, other) => one.sequence - other.sequence)) {
          const { isBehind } = enter(now, place);
          expect(together.behind.has(place)).toBe(isBehind);
          if (!isBehind) now = { ...now, first: due(place.sequence) };
        }
        // At most one of them is due.
        expect(some.length - together.behind.size).toBeLessThanOrEqual(1);
      }),
      { numRuns: 300, seed: 1 },
    );
  });
});

type Status = "due" | "behind" | "delivered" | "failed" | "cancelled";
type Step = readonly ["publish" | "deliver" | "fail" | "cancel" | "replay", number];

/** Keeps one line as a store does, by asking the rules. */
class Kept {
  readonly all: { readonly place: Place; status: Status; holds: boolean }[] = [];
  readonly #holds: boolean;

  constructor(holds: boolean) {
    this.#holds = holds;
  }

  get line(): Line {
    const open = this.all.find(({ status }) => status === "due" || status === "behind");
    const holder = this.all.find(({ holds }) => holds)?.place ?? null;
    const first = open && { ...open.place, isBehind: open.status === "behind", isBeingCancelled: false };
    return { first: first ?? null, holder };
  }

  do([what, which]: Step): void {
    if (what === "publish") {
      const one = { place: at(this.all.length + 1), status: "due" as Status, holds: false };
      this.#enter(one);
      this.all.push(one);
      return;
    }
    const some = this.all.filter((one) =>
      what === "deliver" || what === "fail"
        ? one.status === "due"
        : what === "cancel"
          ? one.status === "due" || one.status === "behind" || one.holds
          : one.status === "failed",
    );
    const one = some[which % Math.max(1, some.length)];
    if (one === undefined) return;
    one.holds = false;
    if (what === "replay") return this.#enter(one);
    one.status = ({ deliver: "delivered", fail: "failed", cancel: "cancelled" } as const)[what];
    const rules = { ordering: "by_key", afterFailure: this.#holds ? "hold" : "continue", deleted: false } as const;
    one.holds = what === "fail" && holdsKey(rules, "failed");
    const next = nextInLine(this.line);
    if (next !== null) this.#at(next).status = "due";
  }

  #enter(one: Kept["all"][number]): void {
    const { isBehind, overtakes } = enter(this.line, one.place);
    if (overtakes !== null) this.#at(overtakes).status = "behind";
    one.status = isBehind ? "behind" : "due";
  }

  #at({ sequence }: Place) {
    return this.all[sequence - 1]!;
  }
}

describe("whatever happens to a line", () => {
  const step = fc.tuple(
    fc.constantFrom("publish", "publish", "deliver", "deliver", "fail", "cancel", "replay"),
    fc.nat({ max: 20 }),
  ) as fc.Arbitrary<Step>;

  it.each([false, true])("the first open one is due unless the key is held, and no other is (hold: %s)", (holds) => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const kept = new Kept(holds);
        for (const one of steps) {
          kept.do(one);
          const open = kept.all.filter(({ status }) => status === "due" || status === "behind");
          const held = kept.all.findIndex((each) => each.holds);
          const isFree = open.length > 0 && (held === -1 || open[0]!.place.sequence <= held);
          expect(open.map(({ status }) => status)).toEqual(open.map((_, n) => (n === 0 && isFree ? "due" : "behind")));
          if (!holds) expect(held).toBe(-1);
        }
      }),
      { numRuns: 400, seed: 7 },
    );
  });
});
