import { expect, it } from "vitest";
import { Refusals } from "../../../src/api/pipeline/limits.ts";

const waits = (refusals: Refusals, who: string, at: number, count: number) =>
  Array.from({ length: count }, () => refusals.waitMs(who, at));

it("answers who repeats refused requests in a loop later and later, one after the other, and nobody else", () => {
  const refusals = new Refusals();
  expect(waits(refusals, "loop", 1000, 64)).toEqual(Array(64).fill(0));
  expect(waits(refusals, "loop", 1000, 3)).toEqual([50, 100, 150]);
  expect(waits(refusals, "other", 1000, 10)).toEqual(Array(10).fill(0));
  // What was saved up comes back at the same pace.
  expect(waits(refusals, "loop", 5150, 64).filter((ms) => ms === 0)).toHaveLength(64);
});

it("lets nobody wait for long", () => {
  const refusals = new Refusals();
  expect(Math.max(...waits(refusals, "loop", 1000, 10_000))).toBe(2000);
  expect(refusals.waitMs("loop", 1000 + 2000 + 3200)).toBe(0);
});
