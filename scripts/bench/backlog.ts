/** Measures how a dead endpoint with a million due deliveries affects a fresh event of another endpoint. P9. */
import { setTimeout as sleep } from "node:timers/promises";
import { FEW } from "./flat.ts";
import { atMost, Measures, none, ratios, type Measure } from "./measure.ts";
import type { BenchOptions } from "./options.ts";
import { faults, latency, measure } from "./run.ts";
import { copyStore, seeded, type SeedPlan } from "./seed.ts";
import { Trial } from "./trial.ts";

const SECONDS = 8;
const ROUNDS = 2;
const DUE: SeedPlan = { pending: 1_000_000, endpoints: 1, tenant: "dead", as: "due" };
const PER_SECOND = 100;
const WARM_MS = 3000;
const SETTLE_MS = 10_000;

interface Side {
  readonly name: string;
  readonly plan: SeedPlan;
  /** The path of the dead endpoint. Null for a port on which nobody listens. */
  readonly path: string | null;
  readonly goal: boolean;
  readonly samples: Sample[];
}

interface Sample {
  readonly p50: number;
  readonly p99: number;
  readonly cores: number;
  /** Attempts per second to the dead endpoint that reach a receiver. */
  readonly dead: number;
  readonly refused: number;
  readonly faults: number;
}

export async function backlog(options: BenchOptions): Promise<Measure[]> {
  const without: Side = { name: "without", plan: FEW, path: null, goal: false, samples: [] };
  const sides: Side[] = [
    without,
    { name: "connections refused", plan: DUE, path: null, goal: true, samples: [] },
    { name: "never answers", plan: DUE, path: "/hang/dead", goal: true, samples: [] },
    { name: "answers 500", plan: DUE, path: "/fail/dead", goal: false, samples: [] },
  ];
  const rounds = options.rounds ?? ROUNDS;
  for (let round = 1; round <= rounds; round++) {
    for (const side of round % 2 === 1 ? sides : sides.toReversed()) {
      const sample = await run(side, options);
      side.samples.push(sample);
      options.note(`round ${round} of ${rounds}, ${side.name}: p99 ${sample.p99.toFixed(1)} ms`);
    }
  }
  const measures = new Measures("backlog");
  for (const { name, samples, goal } of sides) {
    const each = (value: keyof Sample) => samples.map((sample) => sample[value]);
    measures.add(`${name}: publish to arrival, p50`, "ms", each("p50"));
    measures.add(`${name}: publish to arrival, p99`, "ms", each("p99"));
    measures.add(`${name}: cores`, "", each("cores"));
    if (each("dead").some((dead) => dead > 0)) measures.add(`${name}: attempts to the dead one`, "/s", each("dead"));
    measures.add(`${name}: publishes refused`, "", each("refused"), none("P9"));
    measures.add(`${name}: lost, forged or broken`, "", each("faults"), none(""));
    const ratio = ratios(
      each("p99"),
      without.samples.map(({ p99 }) => p99),
    );
    if (name !== without.name) measures.add(`${name}: p99 ÷ without`, "×", ratio, goal ? atMost("P9", 1.5) : null);
  }
  return measures.all;
}

async function run({ plan, path }: Side, { threads, seconds, note }: BenchOptions): Promise<Sample> {
  const kept = await seeded(plan, note);
  const trial = await Trial.start({
    threads,
    prepare: (dir, site) => copyStore(kept, dir, path === null ? undefined : site.url(path)),
  });
  const { site, daemon } = trial;
  await trial.register(["/ok/fresh"]);
  const stop = trial.publish({ connections: 8, eventsPerRequest: 1, tenants: 0, pace: { perSecond: PER_SECOND } });
  await sleep(WARM_MS);
  const deadBefore = site.ledger.get("requests") - site.ledger.get("arrived");
  const window = await measure(daemon.pid, site.ledger, seconds ?? SECONDS);
  const deadAfter = site.ledger.get("requests") - site.ledger.get("arrived");
  const dead = ((deadAfter - deadBefore) * 1000) / (window.to - window.from);
  await stop();
  const lost = await site.settle(SETTLE_MS);
  const { p50, p99 } = latency(site.ledger, window, "arrivedAt");
  await trial.end("kill");
  const refused = site.ledger.get("refused");
  return { p50, p99, cores: window.cores, dead, refused, faults: faults(site.ledger, lost) };
}
