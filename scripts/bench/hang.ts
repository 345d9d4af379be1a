/** Measures how the others are affected if a tenth of a thousand endpoints never responds: P8. */
import { setTimeout as sleep } from "node:timers/promises";
import { atLeast, atMost, Measures, none, ratios, type Measure } from "./measure.ts";
import type { BenchOptions } from "./options.ts";
import { tenantName } from "./payload.ts";
import { faults, latency, measure } from "./run.ts";
import { Trial } from "./trial.ts";

/** Longer than the ten seconds after which an attempt times out. */
const SECONDS = 15;
const ROUNDS = 2;
const ENDPOINTS = 1000;
const HANGS_EVERY = 10;
const PER_SECOND = 2000;
const WARM_MS = 3000;
const SETTLE_MS = 5000;

interface Sample {
  readonly healthyPerSecond: number;
  readonly p50: number;
  readonly p99: number;
  readonly rssMiB: number;
  readonly faults: number;
}

export async function hang(options: BenchOptions): Promise<Measure[]> {
  const sides = [
    { name: "none hangs", path: "/ok", samples: [] as Sample[] },
    { name: "10 % hang", path: "/hang", samples: [] as Sample[] },
  ] as const;
  const rounds = options.rounds ?? ROUNDS;
  for (let round = 1; round <= rounds; round++) {
    for (const { name, path, samples } of round % 2 === 1 ? sides : sides.toReversed()) {
      const sample = await run(path, options);
      samples.push(sample);
      options.note(`round ${round} of ${rounds}, ${name}: p99 ${sample.p99.toFixed(1)} ms`);
    }
  }
  const measures = new Measures("hang");
  const [without, within] = sides;
  const each = ({ samples }: (typeof sides)[number], value: keyof Sample) => samples.map((sample) => sample[value]);
  for (const side of sides) {
    measures.add(`${side.name}: healthy deliveries`, "/s", each(side, "healthyPerSecond"));
    measures.add(`${side.name}: healthy, publish to arrival, p50`, "ms", each(side, "p50"));
    measures.add(`${side.name}: healthy, publish to arrival, p99`, "ms", each(side, "p99"));
    measures.add(`${side.name}: RSS`, "MiB", each(side, "rssMiB"));
    measures.add(`${side.name}: healthy lost, forged or broken`, "", each(side, "faults"), none(""));
  }
  const rate = ratios(each(within, "healthyPerSecond"), each(without, "healthyPerSecond"));
  measures.add("healthy deliveries ÷ none hanging", "×", rate, atLeast("P8", 0.98));
  measures.add("healthy p99 ÷ none hanging", "×", ratios(each(within, "p99"), each(without, "p99")), atMost("P8", 1.5));
  return measures.all;
}

async function run(sick: "/ok" | "/hang", { threads, seconds }: BenchOptions): Promise<Sample> {
  const trial = await Trial.start({ threads });
  const { site, daemon } = trial;
  const paths = Array.from({ length: ENDPOINTS }, (_, index) => `${isHealthy(index) ? "/ok" : sick}/${index}`);
  await trial.register(paths, tenantName);
  const pace = { perSecond: PER_SECOND };
  const stop = trial.publish({ connections: 32, eventsPerRequest: 10, tenants: ENDPOINTS, pace });
  await sleep(WARM_MS);
  const window = await measure(daemon.pid, site.ledger, seconds ?? SECONDS);
  await stop();
  await site.settle(SETTLE_MS);
  const lost = [...site.ledger.missing()].filter(isHealthy).length;
  const { p50, p99 } = latency(site.ledger, window, "arrivedAt", isHealthy);
  const healthyPerSecond = arrivedIn(site.ledger.arrivedAt, window, site.ledger.get("submitted"));
  await trial.end("kill");
  return { healthyPerSecond, p50, p99, rssMiB: window.rssMiB, faults: faults(site.ledger, lost) };
}

/** Takes the index of an endpoint or the number of an event: event n goes to endpoint n modulo their count. */
function isHealthy(index: number): boolean {
  return index % HANGS_EVERY !== 0;
}

function arrivedIn(arrivedAt: Float64Array, { from, to }: { from: number; to: number }, last: number): number {
  let count = 0;
  for (let seq = 1; seq <= last; seq++) {
    const at = arrivedAt[seq]!;
    if (isHealthy(seq) && at >= from && at <= to) count++;
  }
  return (count * 1000) / (to - from);
}
