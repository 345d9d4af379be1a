/** Runs the deterministic simulation in test/sim/world.ts. */
import { memoryDirectory } from "../test/harness/scratch.ts";
import { PLANTS, type PlantName } from "../test/sim/plants.ts";
import { simulate } from "../test/sim/world.ts";
import { scriptArguments } from "./arguments.ts";

const USAGE = `npm run sim -- --seeds N [--from S] | --seed S [--plant BUG] [--no-sweep]

Runs the daemon's own code in a world where time, network and disk are made from a seed: the same seed, the same run.
Bugs to plant: ${Object.keys(PLANTS).join(", ")}`;

const { values, refuse } = scriptArguments(USAGE, {
  seeds: { type: "string", default: "100" },
  from: { type: "string", default: "0" },
  seed: { type: "string" },
  plant: { type: "string", default: "none" },
  "no-sweep": { type: "boolean", default: false },
});
const scratch = process.env.TMPDIR ?? memoryDirectory();
if (scratch !== undefined) process.env.TMPDIR = scratch;
if (!(values.plant in PLANTS)) refuse(`There is no bug "${values.plant}" to plant.`);
const first = Number(values.seed ?? values.from);
const count = values.seed === undefined ? Number(values.seeds) : 1;
if (!Number.isSafeInteger(first) || !(count >= 1)) refuse("--seeds, --from and --seed are whole numbers.");
const total = { acked: 0, attempts: 0, crashes: 0, violations: 0 };
const startedAt = performance.now();

for (let seed = first; seed < first + count; seed++) {
  const report = await simulate(seed, values.plant as PlantName, !values["no-sweep"]);
  total.acked += report.acked;
  total.attempts += report.attempts;
  total.crashes += report.crashes;
  total.violations += report.violations.length;
  if (report.violations.length === 0) continue;
  console.error(
    `seed ${seed} (trace ${report.trace}; ${report.faults.join(", ")}): replay it with npm run sim -- --seed ${seed}`,
  );
  for (const violation of report.violations.slice(0, 10)) console.error(`  ${violation}`);
}

const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
console.log(
  `${count} seeds in ${seconds} s: ${total.acked} events acked, ${total.attempts} attempts, ${total.crashes} crashes, ${total.violations} violations`,
);
process.exitCode = total.violations === 0 ? 0 : 1;
