/**
 * Seeds of the simulation. `npm test` runs some; the others are split into several files, so that all cores are busy.
 */
import { describe, expect, it } from "vitest";
import { simulate } from "./world.ts";

export function describeSeeds(from: number, to: number): void {
  describe("the simulation", () => {
    it.each(Array.from({ length: to - from }, (_, at) => from + at))(
      "finds nothing wrong with seed %i",
      async (seed) => {
        const { violations } = await simulate(seed);
        expect(violations, `npm run sim -- --seed ${seed}`).toEqual([]);
      },
    );
  });
}
