/** Measures how a publish is affected while retention removes 200,000 old events. */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import Database from "better-sqlite3";
import { atMost, Measures, none, ratios, type Measure } from "./measure.ts";
import type { BenchOptions } from "./options.ts";
import { faults, latency, measure } from "./run.ts";
import { copyStore, seeded, type SeedPlan } from "./seed.ts";
import { Trial } from "./trial.ts";

const SECONDS = 8;
const ROUNDS = 3;
const PER_SECOND = 500;
const SETTLE_MS = 10_000;
/** The schedule begins a pass at each full minute. */
const MINUTE_MS = 60_000;
const EVENTS = 200_000;
/** Both use the same file, so that only the work differs. */
const STAYS: SeedPlan = { pending: EVENTS, endpoints: 1000, tenant: "old", as: "delivered" };
const GOES: SeedPlan = { ...STAYS, as: "old" };

interface Sample {
  readonly p50: number;
  readonly p99: number;
  readonly cores: number;
  /** Events per second. */
  readonly removed: number;
  readonly faults: number;
}

export async function prune(options: BenchOptions): Promise<Measure[]> {
  const without = { name: "without", kept: await seeded(STAYS, options.note), samples: [] as Sample[] };
  const pruning = { name: "pruning", kept: await seeded(GOES, options.note), samples: [] as Sample[] };
  const rounds = options.rounds ?? ROUNDS;
  for (let round = 1; round <= rounds; round++) {
    for (const side of round % 2 === 1 ? [without, pruning] : [pruning, without]) {
      const sample = await run(side.kept, options);
      side.samples.push(sample);
      options.note(`round ${round} of ${rounds}, ${side.name}: p99 ${sample.p99.toFixed(1)} ms`);
    }
  }
  const measures = new Measures("prune");
  const each = ({ samples }: typeof without, value: keyof Sample) => samples.map((sample) => sample[value]);
  for (const side of [without, pruning]) {
    measures.add(`${side.name}: publish to ack, p50`, "ms", each(side, "p50"));
    measures.add(`${side.name}: publish to ack, p99`, "ms", each(side, "p99"));
    measures.add(`${side.name}: cores`, "", each(side, "cores"));
    measures.add(`${side.name}: lost, forged or broken`, "", each(side, "faults"), none(""));
  }
  measures.add("events removed", "/s", each(pruning, "removed"));
  measures.add("p99, pruning ÷ without", "×", ratios(each(pruning, "p99"), each(without, "p99")), atMost("", 2));
  return measures.all;
}

async function run(kept: string, { threads, seconds }: BenchOptions): Promise<Sample> {
  const trial = await Trial.start({ threads, prepare: (dir) => copyStore(kept, dir) });
  const { site, daemon } = trial;
  await trial.register(["/ok/prune"]);
  const stop = trial.publish({ connections: 8, eventsPerRequest: 1, tenants: 0, pace: { perSecond: PER_SECOND } });
  await sleep(MINUTE_MS - (Date.now() % MINUTE_MS));
  const before = old(trial.dir);
  const window = await measure(daemon.pid, site.ledger, seconds ?? SECONDS);
  const removed = ((before - old(trial.dir)) * 1000) / (window.to - window.from);
  await stop();
  const lost = await site.settle(SETTLE_MS);
  const { p50, p99 } = latency(site.ledger, window, "ackedAt");
  await trial.end("stop");
  return { p50, p99, cores: window.cores, removed, faults: faults(site.ledger, lost) };
}

/** Counts the remaining events of the seed: those of its tenant. */
function old(dir: string): number {
  const db = new Database(join(dir, "data/webhookd.db"), { readonly: true });
  try {
    const sql = "SELECT count(*) FROM event WHERE tenant = (SELECT num FROM tenant WHERE name = 'old')";
    return db.prepare<[], number>(sql).pluck().get()!;
  } finally {
    db.close();
  }
}
