/**
 * Sends raw requests, most of them malformed, to the real daemon in each of the ways that it listens, and to the
 * receiver of `webhookd listen`. None may end the process, cause an internal error, or get a response that is not HTTP.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { memoryDirectory } from "../../test/harness/scratch.ts";
import { scriptArguments } from "../arguments.ts";
import { type Mode, MODES } from "./modes.ts";
import { DELIBERATE, RSS_BOUND_MIB, runRound } from "./run.ts";

const USAGE = `npm run fuzz -- [--requests N] [--mode ${MODES.join("|")}] [--seed N] [--only N] [--json]

Sends at least N raw requests (20000) in each mode: the API over plain TCP, behind a proxy, over TLS and over the unix
socket, and the receiver of webhookd listen. At the end the same process must be alive and answer a good request; no
answer may be a 5xx (except ${[...DELIBERATE].join(", ")}) or malformed, and memory may grow by up to ${RSS_BOUND_MIB} MiB.
The same seed sends the same bytes; --only sends those of one connection.`;

const { values, refuse } = scriptArguments(USAGE, {
  requests: { type: "string", default: "20000" },
  mode: { type: "string" },
  seed: { type: "string" },
  only: { type: "string" },
  json: { type: "boolean", default: false },
});
const requests = Number(values.requests);
if (!(requests >= 1)) refuse("--requests is a number.");
const seed = values.seed === undefined ? Math.trunc(Math.random() * 2 ** 31) : Number(values.seed);
if (!Number.isSafeInteger(seed)) refuse("--seed is a whole number.");
const only = values.only === undefined ? null : Number(values.only);
if (only !== null && (!Number.isSafeInteger(only) || values.mode === undefined))
  refuse("--only is a whole number, and needs --mode.");
if (values.mode !== undefined && !(MODES as readonly string[]).includes(values.mode))
  refuse("--mode is none of the modes.");
const modes = values.mode === undefined ? MODES : [values.mode as Mode];

const home = mkdtempSync(join(process.env["TMPDIR"] ?? memoryDirectory() ?? tmpdir(), "webhookd-fuzz-"));
process.once("SIGINT", () => process.exit(130));
process.once("exit", () => rmSync(home, { recursive: true, force: true }));
let isGood = true;
for (const mode of modes) {
  const outcome = await runRound({ mode, home, seed, requests, only });
  isGood &&= outcome.faults.length === 0;
  if (values.json) {
    console.log(JSON.stringify({ seed, ...outcome }));
    continue;
  }
  const statuses = Object.entries(outcome.statuses).map(([status, times]) => `${status}: ${times}`);
  const [quarter, end] = outcome.rssMib.map((mib) => (mib === null ? "?" : mib.toFixed(0)));
  console.log(
    `${mode}: ${outcome.requests} requests on ${outcome.connections} connections in ${outcome.seconds.toFixed(0)} s, ` +
      `${outcome.responses} answers (${statuses.join(", ")}), ${quarter} → ${end} MiB, ${outcome.faults.length} faults`,
  );
  for (const fault of outcome.faults) console.error(`  ${fault}`);
}
if (!values.json)
  console.log(`To repeat it: npm run fuzz -- --seed ${seed} --requests ${requests}; one connection: --mode M --only N`);
process.exitCode = isGood ? 0 : 1;
