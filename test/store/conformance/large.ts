/** The part of the contract that needs many rows or many seeds, which take long. It belongs to `npm run test:all`. */
import { describe } from "vitest";
import type { OpenFresh } from "../stores.ts";
import { followsTheRule } from "./deliveries/record-rule.ts";
import { healthOfMany } from "./endpoints/health.ts";
import { withdrawingMany } from "./events/withdraw.ts";
import { jobsOfMany } from "./jobs.ts";
import { totalsOfMany } from "./reads/totals.ts";
import { walks } from "./reads/walks.ts";
import { clockSetBy } from "./recovery/clock.ts";
import { rotatingMany } from "./secrets.ts";
import { failuresOfHistories } from "./statistics/failures.ts";
import { pruningMany } from "./upkeep.ts";

export function largeSuite(open: OpenFresh, walked: number): void {
  describe("with many rows", () => {
    walks(open, walked);
    totalsOfMany(open);
    withdrawingMany(open);
    rotatingMany(open);
    pruningMany(open);
    jobsOfMany(open);
    healthOfMany(open);
  });
  describe("with many seeds", () => {
    followsTheRule(open, [4, 5, 6, 7, 8, 9, 10]);
    failuresOfHistories(open, 12);
    clockSetBy(open, [-1, 1, 3_600_000]);
  });
}
