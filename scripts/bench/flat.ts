/** Measures how a million waiting deliveries affect other events: P7. */
import { DaemonUnderTest, type DaemonOptions } from "./daemon.ts";
import { atMost, Measures, none, ratios, type Measure } from "./measure.ts";
import type { BenchOptions } from "./options.ts";
import { faults, measure, warmUp } from "./run.ts";
import { copyStore, seeded, type SeedPlan } from "./seed.ts";
import { Trial } from "./trial.ts";

const SECONDS = 4;
const ROUNDS = 2;
const SETTLE_MS = 15_000;
/** The shortest start counts, because other work can only make a start longer. */
const STARTS = 4;
/** Both have ten thousand endpoints, so that only the backlog differs. */
export const FEW: SeedPlan = { pending: 10_000, endpoints: 10_000, tenant: "waiting", as: "retry" };
export const MANY: SeedPlan = { ...FEW, pending: 1_000_000 };

interface Sample {
  readonly startMs: number;
  readonly cpuUs: number;
  readonly rssMiB: number;
  readonly faults: number;
}

export async function flat(options: BenchOptions): Promise<Measure[]> {
  const few = { name: "10 k", kept: await seeded(FEW, options.note), samples: [] as Sample[] };
  const many = { name: "1 M", kept: await seeded(MANY, options.note), samples: [] as Sample[] };
  const rounds = options.rounds ?? ROUNDS;
  for (let round = 1; round <= rounds; round++) {
    for (const side of round % 2 === 1 ? [few, many] : [many, few]) {
      const sample = await run(side.kept, options);
      side.samples.push(sample);
      options.note(`round ${round} of ${rounds}, ${side.name}: ${sample.cpuUs.toFixed(1)} µs`);
    }
  }
  const measures = new Measures("flat");
  const each = ({ samples }: typeof few, value: keyof Sample) => samples.map((sample) => sample[value]);
  for (const side of [few, many]) {
    measures.add(`${side.name}: CPU per event`, "µs", each(side, "cpuUs"));
    measures.add(`${side.name}: start`, "ms", each(side, "startMs"));
    measures.add(`${side.name}: RSS`, "MiB", each(side, "rssMiB"));
    measures.add(`${side.name}: lost, forged or broken`, "", each(side, "faults"), none(""));
  }
  measures.add("CPU, 1 M ÷ 10 k", "×", ratios(each(many, "cpuUs"), each(few, "cpuUs")), atMost("P7", 1.15));
  measures.add("start, 1 M ÷ 10 k", "×", ratios(each(many, "startMs"), each(few, "startMs")), atMost("P7", 1.5));
  return measures.all;
}

async function run(kept: string, { threads, seconds: asked }: BenchOptions): Promise<Sample> {
  const seconds = asked ?? SECONDS;
  const starts: number[] = [];
  const trial = await Trial.start({
    threads,
    async prepare(dir) {
      copyStore(kept, dir);
      for (let i = 0; i < STARTS; i++) starts.push(await startUp({ dir, threads }));
    },
  });
  const { site, daemon } = trial;
  await trial.register(["/ok/flat"]);
  const stop = trial.publish({ connections: 2, eventsPerRequest: 100, tenants: 0, pace: { window: 2000 } });
  await warmUp(daemon.pid, seconds);
  const { cpuUs, rssMiB } = await measure(daemon.pid, site.ledger, seconds);
  await stop();
  const lost = await site.settle(SETTLE_MS);
  await trial.end("stop");
  return { startMs: Math.min(...starts), cpuUs, rssMiB, faults: faults(site.ledger, lost) };
}

async function startUp(options: DaemonOptions): Promise<number> {
  const daemon = await DaemonUnderTest.start(options);
  await daemon.stop();
  return daemon.startMs;
}
