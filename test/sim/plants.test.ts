import { describe, expect, it } from "vitest";
import type { PlantName } from "./plants.ts";
import { simulate } from "./world.ts";

const HORIZON_BUGS = [
  "replay-unheard",
  "late-result-unheard",
  "clock-step-unheard",
  "forgotten-unheard",
  "forgotten-fresh-unwritten",
  "enable-unheard",
  "horizon-never-lowered",
] as const;

async function violationsOf(plant: PlantName, sweeps: boolean, expected: RegExp): Promise<void> {
  for (let seed = 0; seed < 40; seed++) {
    const { violations } = await simulate(seed, plant, sweeps);
    if (violations.some((violation) => expected.test(violation))) return;
  }
  expect.fail("forty seeds did not notice it");
}

/** A test that cannot fail shows nothing. Each of these bugs is planted to see it fail. */
describe("the simulation, with a bug in the program", () => {
  it.each(["early-retry", "disable-unheard"] as const)("catches a bug put in on purpose: %s", async (plant) => {
    await violationsOf(plant, true, /./);
  });

  it.each(["ack-before-commit", "fsync-that-lies"] as const)("sees that what was acked is gone: %s", async (plant) => {
    await violationsOf(plant, true, /^V1: .* was acked and is gone/);
  });

  it.each([
    ["deletion-unheard", /^V8: .* which is deleted/],
    ["job-unheard", /^V1[34]: /],
    ["attempt-unwritten", /^V10: /],
    ["restore-unpaused", /^V8: .* while everything was paused/],
    ["pruned-unsent", /^V1: .* was pruned, and .* never had it/],
  ] as const)("sees what people ask for in bulk, or once and for all, go wrong: %s", async (plant, expected) => {
    await violationsOf(plant, true, expected);
  });

  it.each(["guard-asleep", "rules-unheard"] as const)("sees that a refused address is dialled: %s", async (plant) => {
    await violationsOf(plant, true, /^V11: /);
  });

  it.each([
    ["filters-asleep", /^V1: .* is owed to others than its subscribers/],
    ["choice-unheard", /^V1: .* is not owed to /],
  ] as const)("sees that another endpoint receives an event than chose it: %s", async (plant, expected) => {
    await violationsOf(plant, true, expected);
  });

  it.each([
    ["full-for-good", /^V9: .* have been loaded/],
    ["counted-on", /^V9: .* at the end/],
  ] as const)("sees that memory is over its bounds: %s", async (plant, expected) => {
    await violationsOf(plant, true, expected);
  });

  it.each([
    ["any-order", /^V16: .* was attempted/],
    ["turn-unheard", /^V13/],
  ] as const)("sees that the events of an ordering key come in another order, or not: %s", async (plant, expected) => {
    await violationsOf(plant, true, expected);
  });

  it("sees that a cancelled event is sent all the same: cancel-unheard", async () => {
    await violationsOf("cancel-unheard", true, /^V8: .* after it was cancelled/);
  });

  it("sees that a manual attempt leaves its delivery behind the horizon: manual-unheard", async () => {
    await violationsOf("manual-unheard", true, /^V13/);
  });

  it("sees that a secret goes on signing after it was switched from: switch-unheard", async () => {
    await violationsOf("switch-unheard", true, /^V3: .* after the overlap/);
  });

  it.each(HORIZON_BUGS)("sees by the sweep's alarm that a delivery was lost: %s", async (plant) => {
    await violationsOf(plant, true, /^V13/);
  });

  it.each(HORIZON_BUGS)("sees without the sweep that a delivery is stuck: %s", async (plant) => {
    await violationsOf(plant, false, /^V1:/);
  });
});
