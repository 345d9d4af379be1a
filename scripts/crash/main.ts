/**
 * Kills the real process with kill -9 on the real disk, and checks it from outside. The seed fixes the moments of the
 * kills; the machine decides the schedule.
 */
import { resolve } from "node:path";
import { scriptArguments } from "../arguments.ts";
import { SOURCES } from "./daemon.ts";
import type { Plant } from "./life.ts";
import { nodesMain, VICTIMS } from "./nodes-main.ts";
import { run } from "./run.ts";
import { account, isGood, summaryOf, table } from "./summary.ts";

const USAGE = `npm run crash -- [--rounds N] [--seconds S] [--seed S] [--json] [--executable FILE]
                 [--start-up-limit MS] [--plant BUG]
npm run crash -- --nodes N [--victim node|primary|stall|sync|clocks] [--rounds N] [--seed S] [--json] [--executable FILE]

Kills the daemon over and over under load, and looks from outside for what was acknowledged and lost. With --nodes there
are so many of them on one PostgreSQL. The victim of a round is a node, which is killed or suspended, so that the others
take over; or the primary, whose synchronous standby is promoted; or nobody, but PostgreSQL answers nothing for 30 s.`;

const { values, refuse } = scriptArguments(USAGE, {
  rounds: { type: "string" },
  seconds: { type: "string" },
  seed: { type: "string" },
  json: { type: "boolean", default: false },
  executable: { type: "string" },
  "start-up-limit": { type: "string", default: "3000" },
  plant: { type: "string", default: "none" },
  nodes: { type: "string", default: "1" },
  victim: { type: "string", default: "node" },
});
const rounds = Number(values.rounds ?? (values.seconds === undefined ? 30 : Infinity));
const seconds = Number(values.seconds ?? Infinity);
const seed = Number(values.seed ?? Math.floor(Math.random() * 1_000_000));
if (!(rounds >= 1) || !(seconds > 0) || !Number.isSafeInteger(seed)) {
  refuse("--rounds, --seconds and --seed are numbers.");
}
const nodes = Number(values.nodes);
if (!(nodes >= 1 && nodes <= 16)) refuse("--nodes is a number up to 16.");
const victim = VICTIMS.find((one) => one === values.victim) ?? refuse(`--victim is one of ${VICTIMS.join(", ")}.`);
const program = values.executable === undefined ? SOURCES : [resolve(values.executable)];
// Child processes and directories are removed when this process exits.
process.once("SIGINT", () => process.exit(130));
process.once("SIGTERM", () => process.exit(143));

if (nodes > 1) {
  if (!(await nodesMain({ nodes, victim, rounds, seed, program, json: values.json }))) process.exitCode = 1;
} else await oneProcess();

async function oneProcess(): Promise<void> {
  let saidAt = 0;
  const totals = await run({
    rounds,
    seconds,
    seed,
    plant: values.plant as Plant,
    program,
    startUpLimitMs: Number(values["start-up-limit"]),
    onProgress(so) {
      if (values.json || so.seconds < saidAt + 10) return;
      saidAt = so.seconds;
      console.error(`${Math.round(so.seconds)} s: ${so.rounds} rounds, ${so.findings.acked} events acked`);
    },
  });
  const summary = summaryOf(totals, seed);
  process.stdout.write(values.json ? `${JSON.stringify(summary)}\n` : table(summary));
  if (!isGood(totals)) {
    process.stderr.write(account(summary));
    process.exitCode = 1;
  }
}
