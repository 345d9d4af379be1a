/**
 * Two nodes, with a fault at each statement of a transaction in which a delivery or an endpoint moves.
 * WEBHOOKD_CASES=100 tries that many of all statements with each fault; WEBHOOKD_CASES=all tries every one.
 */
import { twoNodes } from "./node-faults.ts";

const CASES = process.env["WEBHOOKD_CASES"];

if (CASES === undefined) twoNodes({ moves: "all" }, 7200);
else twoNodes({ statements: CASES === "all" ? "all" : Number(CASES) }, 7200);
