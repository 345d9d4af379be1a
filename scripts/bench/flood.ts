/**
 * Publishes without waiting until far more events are acked than memory holds. Measures how long the late ones wait,
 * whether first attempts keep the order of their commits, and how an endpoint of another tenant is affected. P19.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { atMost, Measures, none, ratios, type Measure } from "./measure.ts";
import type { BenchOptions } from "./options.ts";
import { tenantName } from "./payload.ts";
import { monotonic, type Ledger } from "./ledger.ts";
import { faults, latency, type Latency } from "./run.ts";
import { Site } from "./site.ts";
import { Trial } from "./trial.ts";

const EVENTS = 100_000;
const ROUNDS = 2;
const BATCH = { connections: 8, eventsPerRequest: 100, tenants: 0 } as const;
const OTHER = { connections: 4, eventsPerRequest: 1, tenants: 1, pace: { perSecond: 50 } } as const;
/**
 * The first attempts of an endpoint that memory may have read from disk, plus the requests that one commit may hold.
 */
const WINDOW = 512 + BATCH.connections * BATCH.eventsPerRequest;
const WARM_MS = 5000;
const ALONE_MS = 6000;
const SETTLE_MS = 120_000;

interface Sample {
  readonly name: string;
  readonly flooded: Latency;
  readonly disorder: number;
  readonly perSecond: number;
  readonly other: Latency;
  readonly faults: number;
}

export async function flood(options: BenchOptions): Promise<Measure[]> {
  const measures = new Measures("flood");
  const sides = [
    { name: "no window", window: Number.POSITIVE_INFINITY, samples: [] as Sample[] },
    { name: "2,000 outstanding", window: 2000, samples: [] as Sample[] },
  ];
  const alone: Latency[] = [];
  const rounds = options.rounds ?? ROUNDS;
  for (let round = 1; round <= rounds; round++) {
    for (const { name, window, samples } of round % 2 === 1 ? sides : sides.toReversed()) {
      const { quiet, ...sample } = await run(name, window, options);
      samples.push(sample);
      alone.push(quiet);
      const { p50, p99 } = sample.flooded;
      options.note(`round ${round} of ${rounds}, ${name}: p50 ${p50.toFixed(0)} ms, p99 ${p99.toFixed(0)} ms`);
    }
  }
  for (const { name, samples } of sides) {
    const each = (value: (sample: Sample) => number) => samples.map(value);
    const [p50, p99] = [each(({ flooded }) => flooded.p50), each(({ flooded }) => flooded.p99)];
    measures.add(
      `${name}: delivered`,
      "/s",
      each(({ perSecond }) => perSecond),
    );
    measures.add(`${name}: publish to arrival, p50`, "ms", p50);
    measures.add(`${name}: publish to arrival, p99`, "ms", p99);
    measures.add(`${name}: p99 ÷ p50`, "×", ratios(p99, p50), name === "no window" ? atMost("P19", 3) : null);
    measures.add(
      `${name}: most places out of order`,
      "",
      each((one) => one.disorder),
      atMost("P19", WINDOW),
    );
    measures.add(
      `${name}: lost, forged or broken`,
      "",
      each((one) => one.faults),
      none("P19"),
    );
  }
  const others = (at: 0 | 1) => sides[at]!.samples.map(({ other }) => other.p99);
  measures.add(
    "another tenant's 50/s alone, p99",
    "ms",
    alone.map(({ p99 }) => p99),
  );
  measures.add("beside 2,000 outstanding, p99", "ms", others(1));
  measures.add("beside the flood, p99", "ms", others(0));
  measures.add("beside the flood ÷ beside 2,000 outstanding", "×", ratios(others(0), others(1)), atMost("P19", 1.5));
  return measures.all;
}

async function run(
  name: string,
  window: number,
  { threads, seconds, note }: BenchOptions,
): Promise<Sample & { readonly quiet: Latency }> {
  const trial = await Trial.start({ threads });
  const { daemon, site } = trial;
  const other = await Site.open();
  await trial.register(["/ok/flooded"]);
  await other.expect({ "/ok/other": await daemon.register(other.url("/ok/other"), tenantName(0)) });
  const stopOther = other.publish({ ...OTHER, port: daemon.port, key: daemon.key });
  await sleep(WARM_MS);
  const begun = monotonic();
  await sleep(ALONE_MS);

  const from = monotonic();
  const quiet = latency(other.ledger, { from: begun, to: from - 1000 }, "arrivedAt");
  const events = seconds === null ? EVENTS : Math.min(EVENTS, seconds * 10_000);
  const stop = trial.publish({ ...BATCH, pace: { window } });
  while (site.ledger.get("submitted") < events) await sleep(1);
  await stop();
  const to = monotonic();
  const waiting = site.ledger.get("acked") - site.ledger.get("arrived");
  note(`${name}: ${site.ledger.get("acked")} acked in ${((to - from) / 1000).toFixed(1)} s, ${waiting} waiting`);
  const lost = await site.settle(SETTLE_MS);
  const all = { from, to: monotonic() };
  await stopOther();
  const otherLost = await other.settle(SETTLE_MS);
  const sample = {
    name,
    quiet,
    flooded: latency(site.ledger, all, "arrivedAt"),
    disorder: disorder(site.ledger),
    perSecond: (site.ledger.get("arrived") * 1000) / (all.to - from),
    other: latency(other.ledger, all, "arrivedAt"),
    faults: faults(site.ledger, lost) + faults(other.ledger, otherLost),
  };
  await trial.end("kill");
  await other.close();
  return sample;
}

/** Returns by how many places events arrived too early or too late, compared with the order of their acks. */
function disorder(ledger: Ledger): number {
  const by = (times: Float64Array) => {
    const events = Array.from({ length: ledger.get("submitted") }, (_, at) => at + 1);
    return events.toSorted((a, b) => times[a]! - times[b]! || a - b);
  };
  const place = new Map(by(ledger.ackedAt).map((seq, at) => [seq, at]));
  return by(ledger.arrivedAt).reduce((most, seq, at) => Math.max(most, Math.abs(place.get(seq)! - at)), 0);
}
