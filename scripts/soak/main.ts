/**
 * Publishes steadily for hours on one data directory, with receivers that fail now and then, kill -9 every few minutes,
 * and continuous pruning. Nothing may be lost, and nothing may grow.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { scriptArguments } from "../arguments.ts";
import { SOURCES } from "../crash/daemon.ts";
import { soak } from "./run.ts";

const USAGE = `npm run soak -- [--minutes N] [--kill-every SECONDS] [--rate N] [--seed S] [--executable FILE] [--json]

Publishes for hours, kills the daemon every few minutes, and looks for what is lost and for what grows.`;

const { values, refuse } = scriptArguments(USAGE, {
  minutes: { type: "string", default: "120" },
  "kill-every": { type: "string", default: "300" },
  rate: { type: "string", default: "150" },
  seed: { type: "string", default: "1" },
  executable: { type: "string" },
  json: { type: "boolean", default: false },
});
const [minutes, killEverySeconds, rate, seed] = [values.minutes, values["kill-every"], values.rate, values.seed].map(
  Number,
) as [number, number, number, number];
if (!(minutes > 0) || !(killEverySeconds > 0) || !(rate > 0) || !Number.isSafeInteger(seed)) {
  refuse("--minutes, --kill-every, --rate and --seed are numbers.");
}
process.once("SIGINT", () => process.exit(130));
process.once("SIGTERM", () => process.exit(143));
const dir = mkdtempSync(join(tmpdir(), "webhookd-soak-"));
process.once("exit", (code) => code !== 1 && rmSync(dir, { recursive: true, force: true }));

let saidAt = 0;
const report = await soak({
  home: {
    dir,
    compileCache: join(dir, "compile-cache"),
    program: [
      "/usr/bin/env",
      "WEBHOOKD_RETENTION_DELIVERED=10m",
      ...(values.executable === undefined ? SOURCES : [resolve(values.executable)]),
    ],
  },
  seconds: minutes * 60,
  killEverySeconds,
  rate,
  seed,
  onProgress({ seconds, acked, open }) {
    if (values.json || seconds < saidAt + 60) return;
    saidAt = seconds;
    console.error(`${Math.round(seconds / 60)} min: ${acked} events acked, ${open} open`);
  },
});
const { lost, wrong, growth, ...counts } = report;
const isGood = lost.length === 0 && wrong.length === 0 && report.acked > 0;
if (values.json) console.log(JSON.stringify({ minutes, ...counts, lost: lost.length, wrong: wrong.length, growth }));
else {
  const mib = (value: number | null) => (value === null ? "too short to tell" : `${value.toFixed(1)} MiB`);
  const rows: [string, string | number][] = [
    ["minutes", minutes],
    ["kills", report.kills],
    ["acked", `${report.acked} events, ${report.requests} requests`],
    ["acked and lost", lost.length],
    ["wrong", wrong.length],
    ["sent again after a 2xx", report.repeated],
    ["resident, slope", growth.slope === null ? mib(null) : `${mib(growth.slope)} an hour`],
    ["resident at most", `${mib(growth.first)} in the first lives, ${mib(growth.last)} in the last`],
    ["store and WAL at most", `${mib(growth.storeMax)}, ${mib(growth.walMax)}`],
  ];
  for (const [name, value] of rows) console.log(`${name.padEnd(24)}${value}`);
}
for (const line of [...wrong, ...lost.slice(0, 10).map((id) => `${id} was acknowledged and never arrived`)]) {
  console.error(`  ${line}`);
}
if (!isGood) {
  console.error(`kept, with the daemon's log: ${dir}`);
  process.exitCode = 1;
}
