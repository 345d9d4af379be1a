import { expect, it } from "vitest";
import { describeSeeds } from "./seeds.ts";
import { simulate } from "./world.ts";

describeSeeds(0, 25);

// V12: a violation can be examined, because its seed produces the same run again.
it("replays a seed exactly", async () => {
  expect((await simulate(7)).trace).toBe((await simulate(7)).trace);
});
