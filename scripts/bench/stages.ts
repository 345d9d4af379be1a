/**
 * A budget: the cost of each stage that an event passes, in a loop of its own, and how their sum differs from the cost
 * of the whole daemon. The difference is the glue between the stages: the dispatcher, smaller commits, colder caches.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { watchOver } from "../crash/children.ts";
import { BATCH, daemon, SINGLE, messageFrom } from "./capacity.ts";
import { median, Measures, none, ratios, type Measure } from "./measure.ts";
import type { BenchOptions } from "./options.ts";
import { Site } from "./site.ts";
import type { Shape } from "./stage-loops.ts";
import type { StageResult } from "./stage-process.ts";

const SECONDS = 2;
const ROUNDS = 2;
const WHOLE = { batches: BATCH, single: SINGLE } as const;

interface Stage {
  readonly name: string;
  readonly loop: string;
  /** Null for a stage that does not depend on how events are published. */
  readonly shape: Shape | null;
  /** The stage that includes this one, so that it is not counted twice. */
  readonly within?: string;
}

const SHAPED = ["batches", "single"] as const satisfies readonly Shape[];
const STAGES: readonly Stage[] = [
  ...SHAPED.map((shape) => ({ name: "HTTP in", loop: "http", shape })),
  ...SHAPED.map((shape) => ({ name: "JSON scan", loop: "scan", shape, within: "HTTP in" })),
  ...SHAPED.map((shape) => ({ name: "store: publish", loop: "publish", shape })),
  { name: "to the sender's thread and back", loop: "hop", shape: null },
  { name: "fair queue", loop: "queue", shape: null },
  { name: "sign", loop: "sign", shape: null },
  { name: "wire", loop: "wire", shape: null },
  ...SHAPED.map((shape) => ({ name: "store: record", loop: "record", shape })),
];

export async function stages(options: BenchOptions): Promise<Measure[]> {
  const seconds = options.seconds ?? SECONDS;
  const rounds = options.rounds ?? ROUNDS;
  const results = new Map<Stage, StageResult[]>(STAGES.map((stage) => [stage, []]));
  const wholes = { batches: [] as number[], single: [] as number[] };
  const faults: number[] = [];
  for (let round = 1; round <= rounds; round++) {
    for (const stage of round % 2 === 1 ? STAGES : STAGES.toReversed()) {
      const result = await run(stage, seconds);
      results.get(stage)!.push(result);
      options.note(`round ${round} of ${rounds}, ${titleOf(stage)}: ${result.cpuUs.toFixed(2)} µs`);
    }
    for (const shape of SHAPED) {
      const sample = await daemon(WHOLE[shape], 2 * seconds, options);
      wholes[shape].push(sample.cpuUs);
      faults.push(sample.faults);
      options.note(`round ${round} of ${rounds}, whole, ${shape}: ${sample.cpuUs.toFixed(1)} µs`);
    }
  }
  return present(results, wholes, faults);
}

function present(
  results: ReadonlyMap<Stage, readonly StageResult[]>,
  wholes: Readonly<Record<Shape, readonly number[]>>,
  faults: readonly number[],
): Measure[] {
  const measures = new Measures("stages");
  const calibration = [...results.values()].flat().map(({ calibrationUs }) => calibrationUs);
  measures.add("a turn of the calibration loop", "µs", calibration);
  for (const [stage, own] of results) {
    const name = titleOf(stage);
    measures.add(
      name,
      "µs",
      own.map(({ cpuUs }) => cpuUs),
    );
    measures.add(
      `${name} ÷ calibration`,
      "×",
      own.map(({ cpuUs, calibrationUs }) => cpuUs / calibrationUs),
    );
    measures.add(
      `${name}: of it the collector's pauses`,
      "µs",
      own.map(({ garbageUs }) => garbageUs),
    );
  }
  for (const shape of SHAPED) {
    const counted = [...results].filter(([stage]) => !stage.within && (stage.shape ?? shape) === shape);
    const sums = wholes[shape].map((_, round) => counted.reduce((sum, [, own]) => sum + own[round]!.cpuUs, 0));
    measures.add(`sum of the stages, ${shape}`, "µs", sums);
    measures.add(`whole, ${shape}`, "µs", wholes[shape]);
    measures.add(
      `whole, ${shape} ÷ calibration`,
      "×",
      wholes[shape].map((us) => us / median(calibration)),
    );
    measures.add(`whole ÷ sum, ${shape}`, "×", ratios(wholes[shape], sums));
  }
  measures.add("whole: lost, forged or broken", "", faults, none(""));
  return measures.all;
}

function titleOf({ name, shape, within }: Stage): string {
  return `${within === undefined ? "" : `${within}, `}${name}${shape === null ? "" : `, ${shape}`}`;
}

async function run({ loop, shape }: Stage, seconds: number): Promise<StageResult> {
  const site = loop === "http" || loop === "wire" ? await Site.open() : null;
  const beside = loop === "wire" ? site!.url("/ok/stages") : (shape ?? "");
  const child = watchOver(fork(new URL("stage-process.ts", import.meta.url), [loop, beside, String(seconds)]));
  const exited = once(child, "exit");
  let stop = async () => {};
  if (loop === "http") {
    const at = await messageFrom<{ port: number; key: string }>(child);
    // Nothing arrives anywhere, so only the number of connections limits the requests in flight.
    stop = site!.publish({ ...WHOLE[shape!], ...at, tenants: 0, pace: { window: Number.MAX_SAFE_INTEGER } });
    child.send("publishing");
  }
  const result = await messageFrom<StageResult>(child);
  await exited;
  await stop();
  await site?.close();
  return result;
}
