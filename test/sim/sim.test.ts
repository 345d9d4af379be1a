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

  it.each(["ack-before-commit", "early-retry"] as const)("catches a bug put in on purpose: %s", async (plant) => {
    for (let seed = 0; seed < 20; seed++) if ((await simulate(seed, plant)).violations.length > 0) return;
    expect.fail("twenty seeds did not notice it");
  });
});
