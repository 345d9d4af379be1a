import { expect, it } from "vitest";
import { describeSeeds } from "./seeds.ts";
import { simulate } from "./world.ts";

describeSeeds(0, 25);

// V12: a violation can be looked into, because its seed makes it again.
it("replays a seed exactly", async () => {
  expect((await simulate(7)).trace).toBe((await simulate(7)).trace);
});
