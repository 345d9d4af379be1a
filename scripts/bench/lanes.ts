/**
 * Measures when the fresh events of a receiver arrive that handles 50 per second and has a backlog of 40,000 replays.
 * P15.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { atMost, Measures, none, type Measure } from "./measure.ts";
import type { BenchOptions } from "./options.ts";
import { latency, measure } from "./run.ts";
import { copyStore, seeded, type SeedPlan } from "./seed.ts";
import { Trial } from "./trial.ts";

const SECONDS = 20;
const REPLAYS: SeedPlan = { pending: 40_000, endpoints: 1, tenant: "default", as: "replay" };
const PER_SECOND = 10;
/** By then the replays have filled all slots. */
const WARM_MS = 10_000;
const SETTLE_MS = 10_000;

export async function lanes({ threads, seconds, note }: BenchOptions): Promise<Measure[]> {
  const kept = await seeded(REPLAYS, note);
  const trial = await Trial.start({
    threads,
    // Use one thread, so that there is one queue.
    receivers: 1,
    prepare: (dir, site) => copyStore(kept, dir, site.url("/slow/50")),
  });
  const { site, daemon } = trial;
  const { ledger } = site;
  await sleep(WARM_MS);
  const stop = trial.publish({ connections: 2, eventsPerRequest: 1, tenants: 0, pace: { perSecond: PER_SECOND } });
  const requestsBefore = ledger.get("requests");
  const window = await measure(daemon.pid, ledger, seconds ?? SECONDS);
  const requests = ledger.get("requests") - requestsBefore;
  await stop();
  const lost = await site.settle(SETTLE_MS);
  const { p50, p99 } = latency(ledger, window, "arrivedAt");
  await trial.end("kill");

  const measures = new Measures("lanes");
  measures.add("attempts, fresh and replayed", "/s", [(requests * 1000) / (window.to - window.from)]);
  measures.add("fresh, publish to arrival, p50", "ms", [p50]);
  measures.add("fresh, publish to arrival, p99", "ms", [p99], atMost("P15", 1000, " ms"));
  measures.add("fresh ones lost or broken", "", [lost + ledger.get("broken") + ledger.get("malformed")], none(""));
  return measures.all;
}
