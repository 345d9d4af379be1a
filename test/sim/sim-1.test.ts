import { expect, it } from "vitest";
import { describeSeeds } from "./seeds.ts";
import { simulate } from "./world.ts";

describeSeeds(25, 125);

it.each([8, 9])("replays seed %i exactly", async (seed) => {
  expect((await simulate(seed)).trace).toBe((await simulate(seed)).trace);
});
