import { expect, it } from "vitest";
import { Refusals } from "../../../src/api/pipeline/limits.ts";

it("has who repeats refused requests in a loop wait for most of the answers, and nobody else", () => {
  const refusals = new Refusals();
  const waits = (key: string, at: number, count: number) =>
    Array.from({ length: count }, () => refusals.waitMs(key, at)).filter((ms) => ms > 0).length;
  expect(waits("loop", 1000, 200)).toBe(0);
  expect(waits("loop", 1500, 300)).toBe(300);
  expect(waits("other", 1600, 10)).toBe(0);
  expect(waits("loop", 2000, 200)).toBe(0);
});
