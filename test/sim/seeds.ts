/** The seeds that every run of the tests goes through, in files of their own so that all cores have some. */
import { describe, expect, it } from "vitest";
import { simulate } from "./world.ts";

const BLOCK = 25;

export function describeSeeds(from: number, to: number): void {
  describe("the simulation", () => {
    const blocks = Array.from({ length: (to - from) / BLOCK }, (_, block) => from + block * BLOCK);
    it.each(blocks)(`finds nothing wrong with ${BLOCK} seeds from %i`, async (first) => {
      for (let seed = first; seed < first + BLOCK; seed++) {
        const { violations } = await simulate(seed);
        expect(violations, `npm run sim -- --seed ${seed}`).toEqual([]);
      }
    });
  });
}
