/** Seeds of the simulation: some in `npm test`, and several files for the rest, so that all cores have some. */
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
