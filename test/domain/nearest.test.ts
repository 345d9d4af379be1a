import { describe, expect, it } from "vitest";
import { nearest } from "../../src/domain/nearest.ts";
import { Random } from "../sim/random.ts";

/** Insertions, deletions, substitutions and swaps of neighbours, as plainly as they can be counted. */
function plainDistance(from: string, to: string): number {
  if (from === "" || to === "") return from.length + to.length;
  const [one, other] = [from.slice(1), to.slice(1)];
  if (from[0] === to[0]) return plainDistance(one, other);
  const isSwap = from.length > 1 && from[0] === to[1] && from[1] === to[0];
  const swapped = isSwap ? plainDistance(from.slice(2), to.slice(2)) : Number.POSITIVE_INFINITY;
  return 1 + Math.min(plainDistance(one, to), plainDistance(from, other), plainDistance(one, other), swapped);
}

describe("the nearest name", () => {
  it("is the first of those that differ by the fewest letters, if these are few", () => {
    const random = new Random(1);
    const word = () => Array.from({ length: random.between(1, 6) }, () => random.pick(["a", "b", "c", "."])).join("");
    let found = 0;
    for (let turn = 0; turn < 500; turn++) {
      const typed = word();
      const names = Array.from({ length: 4 }, word);
      const distances = names.map((name) => plainDistance(typed, name));
      const least = Math.min(...distances);
      const expected = least <= Math.max(1, Math.floor(typed.length / 3)) ? names[distances.indexOf(least)]! : null;
      expect(nearest(typed, names), JSON.stringify({ typed, names })).toBe(expected);
      found += Number(expected !== null);
    }
    expect(found).toBeGreaterThan(100);
  });

  it("is found among a thousand long names in a millisecond, so that a batch of unknown types delays nobody", () => {
    const names = Array.from({ length: 1000 }, (_, at) => `order.created.by.some.customer.${at}.and.more.words`);
    const before = process.cpuUsage();
    for (let turn = 0; turn < 100; turn++) {
      expect(nearest(`order.created.by.some.custmer.${turn}.and.more.words`, names)).toBe(names[turn]);
      expect(nearest(`other.created.by.some.custom.${turn}.and.more`, names)).toBeNull();
    }
    expect(process.cpuUsage(before).user).toBeLessThan(2_000_000);
  });
});
