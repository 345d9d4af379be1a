/**
 * Simulates power cuts. A recording of a daemon's writes, syncs and names is turned into disks as a cut may leave them:
 * what was not synced is gone, torn or there. The store is opened on each disk, and the daemon is started on some of
 * them. Two kinds of disks that lie are the controls: they must lose something.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { memoryDirectory } from "../../test/harness/scratch.ts";
import { scriptArguments } from "../arguments.ts";
import { buildRecorder } from "./recorder.ts";
import { isGood, run } from "./run.ts";

const SHOWN = 20;

const USAGE = `npm run power -- [--states N] [--controls N] [--seconds S] [--seed S] [--json]

Rebuilds disks as a cut of the power may leave them, and starts the daemon on each.`;

const { values, refuse } = scriptArguments(USAGE, {
  states: { type: "string", default: "200" },
  controls: { type: "string", default: "20" },
  seconds: { type: "string", default: "4" },
  seed: { type: "string" },
  json: { type: "boolean", default: false },
});
const [states, controls, seconds] = [Number(values.states), Number(values.controls), Number(values.seconds)];
const seed = Number(values.seed ?? Math.floor(Math.random() * 1_000_000));
if (!(states >= 1) || !(controls >= 2) || !(seconds > 0) || !Number.isSafeInteger(seed)) {
  refuse("--states, --controls, --seconds and --seed are numbers, and --controls is at least 2.");
}
process.once("SIGINT", () => process.exit(130));
process.once("SIGTERM", () => process.exit(143));
const dir = mkdtempSync(join(process.env.TMPDIR ?? memoryDirectory() ?? tmpdir(), "webhookd-power-"));
// Keep the directory after a violation, and after an unexpected error, with which Node exits with 1 too.
process.once("exit", (code) => code !== 1 && rmSync(dir, { recursive: true, force: true }));
const recorder = buildRecorder(dir);
if ("missing" in recorder) {
  console.error(`power: nothing was checked: ${recorder.missing}`);
  process.exit(3);
}

const startedAt = performance.now();
let saidAt = startedAt;
const report = await run({
  dir,
  recorder: recorder.file,
  states,
  controls,
  seconds,
  seed,
  onProgress({ disk, states: done, bad }) {
    if (values.json || performance.now() < saidAt + 10_000) return;
    saidAt = performance.now();
    console.error(`${disk}: ${done} disks, ${bad} bad`);
  },
});
const took = Math.round((performance.now() - startedAt) / 100) / 10;
if (values.json) console.log(JSON.stringify({ seed, seconds: took, ...report }));
else {
  console.log(`${report.operations} operations and ${report.acked} acked events recorded; ${took} s in all`);
  for (const { disk, disks, states: done, started, promised, bad, lost } of report.sweeps) {
    const kinds = `${done} states, ${disks} disks that differ, the daemon started on ${started}`;
    console.log(`${disk.padEnd(8)} ${kinds}, ${promised} answers held against them: ${bad} bad, ${lost} answers lost`);
  }
}
if (!isGood(report)) {
  const { violations, kept } = report.sweeps[0]!;
  for (const line of violations.slice(0, SHOWN)) console.error(`  ${line}`);
  for (const { disk, dropped, unseen } of report.sweeps.slice(1)) {
    for (const id of unseen.slice(0, SHOWN)) console.error(`  ${disk}: ${id} is not on the disk, and was not missed`);
    if (dropped.store * dropped.daemon === 0) console.error(`  ${disk}: the disk kept all that was answered`);
  }
  console.error(`seed ${seed}; kept: ${kept.slice(0, SHOWN).join(" ") || dir}`);
  process.exitCode = 1;
}
