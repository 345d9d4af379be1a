/**
 * Something happens at each statement in whose transaction something moves. WEBHOOKD_CASES=100 tries so many of all
 * statements, in each way; WEBHOOKD_CASES=all tries each.
 */
import { twoNodes } from "./node-faults.ts";

const CASES = process.env["WEBHOOKD_CASES"];

if (CASES === undefined) twoNodes({ moves: "all" }, 7200);
else twoNodes({ statements: CASES === "all" ? "all" : Number(CASES) }, 7200);
