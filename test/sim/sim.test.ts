import { describe, expect, it } from "vitest";
import { simulate } from "./world.ts";

describe("the simulation", () => {
  it.each(Array.from({ length: 12 }, (_, seed) => seed))("finds nothing wrong with seed %i", async (seed) => {
    const { violations } = await simulate(seed);
    expect(violations, `npm run sim -- --seed ${seed}`).toEqual([]);
  });

  it("replays a seed exactly", async () => {
    expect((await simulate(7)).trace).toBe((await simulate(7)).trace);
  });
});
