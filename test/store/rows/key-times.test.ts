import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { firstKeyAt, instantOf } from "../../../src/store/rows/codes.ts";
import { KeyTimes, RisingKeys } from "../../../src/store/rows/key-times.ts";

const START = 1.8e12;
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/**
 * Objects that are created one after another: the time that passes before each, and the change of the clock at that
 * moment.
 */
const steps = fc.array(
  fc.record({
    passed: fc.integer({ min: 0, max: 2 * HOUR }),
    set: fc.oneof(
      { weight: 5, arbitrary: fc.constant(0) },
      { weight: 1, arbitrary: fc.integer({ min: -3 * DAY, max: 3 * DAY }) },
    ),
  }),
  { minLength: 1, maxLength: 60 },
);

function made(all: readonly { readonly passed: number; readonly set: number }[]) {
  const keys = new RisingKeys(0);
  let clock = START;
  return all.map(({ passed, set }) => {
    clock += passed + set;
    return { key: keys.next(clock), shown: clock, times: keys.times };
  });
}

/**
 * These files use the time in a key itself, and not the time when an object was created. They compare it with others of
 * its kind.
 */
const RAW = [
  "rows/codes.ts",
  "rows/key-times.ts",
  "sqlite/attempts/attempts-by-time.ts",
  "sqlite/damage/salvage.ts",
  "sqlite/endpoints/sweep.ts",
  "sqlite/statistics/failures.ts",
];

it("is asked of KeyTimes wherever that matters", () => {
  const store = fileURLToPath(new URL("../../../src/store", import.meta.url));
  const files = readdirSync(store, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts"));
  const reads = (name: string) => /(?<![.#\w])(?:instantOf|firstKeyAt)\(/.test(readFileSync(join(store, name), "utf8"));
  expect(files.filter(reads).toSorted()).toEqual(RAW);
});

describe("the time that a key says", () => {
  it("is what the clock showed, but for a second, unless that was ahead of it later", () => {
    fc.assert(
      fc.property(steps, (all) => {
        const things = made(all);
        const { times } = things.at(-1)!;
        for (const [at, { key, shown }] of things.entries()) {
          const later = Math.min(...things.slice(at).map((one) => one.shown));
          const told = times.madeAt(key);
          // A later key with an earlier time shows that the clock was ahead.
          expect(told).toBeLessThanOrEqual(shown + 1000);
          if (later >= shown - 1000) expect(told).toBeGreaterThanOrEqual(shown - 1001);
          else expect(told).toBeGreaterThanOrEqual(Math.min(later, shown) - 1001);
        }
      }),
      { numRuns: 2000 },
    );
  });

  it("rises with the keys, and so does the first key of each instant", () => {
    fc.assert(
      fc.property(steps, fc.integer({ min: -4 * DAY, max: 10 * DAY }), (all, offset) => {
        const things = made(all);
        const { times } = things.at(-1)!;
        const instant = START + offset;
        const first = times.firstKeyAt(instant);
        let [before, keyBefore] = [Number.NEGATIVE_INFINITY, 0];
        for (const { key } of things) {
          expect(key).toBeGreaterThan(keyBefore);
          const at = times.madeAt(key);
          expect(at).toBeGreaterThanOrEqual(before);
          expect(key >= first).toBe(at >= instant);
          [before, keyBefore] = [at, key];
        }
      }),
      { numRuns: 2000 },
    );
  });

  it("is that of the key itself where no clock was ever ahead, and nothing is noted", () => {
    const things = made(Array.from({ length: 50 }, (_, at) => ({ passed: at % 3, set: at % 7 === 0 ? -900 : 0 })));
    const { times } = things.at(-1)!;
    expect(times.slowdowns.length).toBeLessThanOrEqual(7);
    const straight = made(Array.from({ length: 50 }, (_, at) => ({ passed: at % 3, set: 0 })));
    expect(straight.at(-1)!.times.slowdowns).toEqual([]);
    for (const { key, shown, times: none } of straight) {
      expect([instantOf(key), none.madeAt(key), none.firstKeyAt(shown)]).toEqual([shown, shown, firstKeyAt(shown)]);
    }
  });

  it("is right after six months' jump and back, with two notes at most, until ids are those of the clock again", () => {
    const half = 182 * DAY;
    const all = [
      { passed: 0, set: half },
      { passed: 1000, set: -half },
      ...Array.from({ length: 400 }, () => ({ passed: DAY, set: 0 })),
    ];
    const things = made(all);
    const { times } = things.at(-1)!;
    for (const { key, shown } of things.slice(1)) {
      expect(Math.abs(times.madeAt(key) - shown)).toBeLessThanOrEqual(1);
    }
    // The object was created while the clock was ahead, and so before the next one.
    expect(times.madeAt(things[0]!.key)).toBe(things[1]!.shown);
    expect(times.slowdowns.length).toBeLessThanOrEqual(2);
    expect(instantOf(things.at(-1)!.key)).toBe(things.at(-1)!.shown);
    expect(instantOf(things[200]!.key)).toBeGreaterThan(things[200]!.shown);
  });

  it("is between the bounds that a period has", () => {
    const times = new KeyTimes([{ key: firstKeyAt(START + DAY), at: START }]);
    expect(times.within({})).toEqual({ low: -1, high: Number.MAX_SAFE_INTEGER });
    const { low, high } = times.within({ since: START + 10, until: START + 20 });
    expect([times.madeAt(low), times.madeAt(low + 1)]).toEqual([START + 8, START + 10]);
    expect([times.madeAt(high - 1), times.madeAt(high)]).toEqual([START + 18, START + 20]);
  });
});
