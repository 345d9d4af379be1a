/**
 * Measures how much CPU an event costs, and how many events per second are possible: for webhookd with batches and with
 * single publishes, for a client that only posts (`bare`), and for one that also accepts HTTP (`relay`). They take
 * turns within each round.
 */
import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { watchOver } from "../crash/children.ts";
import type { LoadPlan } from "./load-thread.ts";
import { atLeast, atMost, median, Measures, none, ratios, type Measure } from "./measure.ts";
import type { BenchOptions } from "./options.ts";
import { SECRET } from "./payload.ts";
import { profileReport } from "./profile.ts";
import { faults, latency, measure, warmUp, type Latency, type Window } from "./run.ts";
import { Site } from "./site.ts";
import { countStore } from "./store-check.ts";
import { Trial } from "./trial.ts";

export const SIDES = ["bare", "batch", "single", "relay"] as const;
export type Side = (typeof SIDES)[number];

export interface Sample extends Window {
  readonly ack: Latency;
  readonly arrival: Latency;
  readonly faults: number;
}

type Shape = Pick<LoadPlan, "connections" | "eventsPerRequest" | "pace">;

const WINDOW = 2000;
export const BATCH: Shape = { connections: 2, eventsPerRequest: 100, pace: { window: WINDOW } };
export const SINGLE: Shape = { connections: 32, eventsPerRequest: 1, pace: { window: WINDOW } };
const BARE_CONNECTIONS = 64;
const SECONDS = 4;
const ROUNDS = 3;
const SETTLE_MS = 15_000;

export async function capacity(chosen: readonly Side[], options: BenchOptions): Promise<Measure[]> {
  const seconds = options.seconds ?? SECONDS;
  const rounds = options.rounds ?? ROUNDS;
  const sides = SIDES.filter((side) => side === "bare" || chosen.includes(side));
  const samples = new Map<string, Sample[]>();
  const ceiling = await ceilingOf(Math.min(2, seconds));
  for (let round = 1; round <= rounds; round++) {
    for (const side of round % 2 === 1 ? sides : sides.toReversed()) {
      for (const [name, sample] of await RUNS[side](seconds, options)) {
        samples.set(name, [...(samples.get(name) ?? []), sample]);
        options.note(
          `round ${round} of ${rounds}, ${name}: ${Math.round(sample.perSecond)}/s, ${sample.cpuUs.toFixed(1)} µs`,
        );
      }
    }
  }
  return [...samples].flatMap(([name, own]) => present(name, own, samples.get("bare")!, ceiling));
}

const RUNS: Record<Side, (seconds: number, options: BenchOptions) => Promise<[name: string, Sample][]>> = {
  bare: async (seconds) => [["bare", await bare(seconds)]],
  batch: async (seconds, options) => [["batch", await daemon(BATCH, seconds, options)]],
  single: async (seconds, options) => [["single", await daemon(SINGLE, seconds, options)]],
  relay: async (seconds) => [
    ["relay, batch", await relay(BATCH, seconds)],
    ["relay, single", await relay(SINGLE, seconds)],
  ],
};

function present(name: string, samples: readonly Sample[], bareSamples: readonly Sample[], ceiling: number): Measure[] {
  const measures = new Measures(name);
  const each = (value: (sample: Sample) => number) => samples.map(value);
  measures.add(
    "delivered",
    "/s",
    each(({ perSecond }) => perSecond),
  );
  measures.add(
    "CPU per event",
    "µs",
    each(({ cpuUs }) => cpuUs),
  );
  if (name === "bare") {
    measures.add("the receiver's ceiling", "/s", [ceiling]);
    measures.add("receiver's ceiling ÷ bare", "×", [ceiling / median(each(({ perSecond }) => perSecond))]);
  } else {
    const cpu = ratios(
      each(({ cpuUs }) => cpuUs),
      bareSamples.map(({ cpuUs }) => cpuUs),
    ); // oxfmt
    const goals = { batch: atMost("P1", 3), single: atMost("P2", 5) } as const;
    measures.add("CPU ÷ bare", "×", cpu, goals[name as keyof typeof goals] ?? null);
    const rate = ratios(
      each(({ perSecond }) => perSecond),
      bareSamples.map(({ perSecond }) => perSecond),
    );
    measures.add("delivered ÷ bare", "×", rate, name === "batch" ? atLeast("P3", 0.5) : null);
    measures.add(
      "publish to 202, p50",
      "ms",
      each(({ ack }) => ack.p50),
    );
    measures.add(
      "publish to 202, p99",
      "ms",
      each(({ ack }) => ack.p99),
    );
    measures.add(
      "publish to arrival, p50",
      "ms",
      each(({ arrival }) => arrival.p50),
    );
    measures.add(
      "RSS",
      "MiB",
      each(({ rssMiB }) => rssMiB),
      name in goals ? atMost("P10", 300) : null,
    );
  }
  measures.add(
    "cores",
    "",
    each(({ cores }) => cores),
  );
  measures.add(
    "lost, forged or broken",
    "",
    each((sample) => sample.faults),
    none(""),
  );
  return measures.all;
}

/** Measures the receiver when it gets nothing but bytes. The sender shares its cores, so this is a lower bound. */
async function ceilingOf(seconds: number): Promise<number> {
  const site = await Site.open();
  const stop = site.publish({
    port: site.port,
    key: null,
    connections: BARE_CONNECTIONS,
    eventsPerRequest: 1,
    tenants: 0,
    pace: { window: WINDOW },
  });
  await sleep(500);
  const { perSecond } = await measure(process.pid, site.ledger, seconds);
  await stop();
  await site.close();
  return perSecond;
}

async function bare(seconds: number): Promise<Sample> {
  const site = await Site.open();
  await site.expect({ "/ok/bare": SECRET });
  const args = [String(site.port), SECRET, String(BARE_CONNECTIONS)];
  const child = watchOver(fork(new URL("bare-process.ts", import.meta.url), args));
  await warmUp(child.pid!, seconds);
  const window = await measure(child.pid!, site.ledger, seconds);
  child.send("stop");
  const answered = await messageFrom<number>(child);
  const lost = Math.abs(answered - site.ledger.get("arrived"));
  const sample = { ...window, ack: NO_LATENCY, arrival: NO_LATENCY, faults: faults(site.ledger, lost) };
  await site.close();
  return sample;
}

/** Measures the relay in the same way. */
export async function relay(shape: Shape, seconds: number): Promise<Sample> {
  const site = await Site.open();
  await site.expect({ "/ok/relay": SECRET });
  const args = [site.url("/ok/relay"), String(BARE_CONNECTIONS)];
  const child = watchOver(fork(new URL("relay-process.ts", import.meta.url), args));
  const at = await messageFrom<{ port: number; key: string }>(child);
  const sample = await load(site, { pid: child.pid!, ...at }, shape, seconds);
  child.disconnect();
  await once(child, "exit");
  await site.close();
  return sample;
}

/** Measures a daemon under that load, from an empty store. */
export async function daemon(shape: Shape, seconds: number, { threads, profile, note }: BenchOptions): Promise<Sample> {
  const trial = await Trial.start({ threads, profile });
  await trial.register(["/ok/daemon"]);
  const sample = await load(trial.site, trial.daemon, shape, seconds);
  const { events, delivered, attempts } = (await trial.end("stop", (dir) => {
    if (profile) note(profileReport(dir, sample));
    return countStore(dir);
  }))!;
  const acked = trial.site.ledger.get("acked");
  const unrecorded = Math.abs(events - acked) + Math.abs(delivered - acked) + Math.max(0, acked - attempts);
  return { ...sample, faults: sample.faults + unrecorded };
}

async function load(
  site: Site,
  { pid, port, key }: { pid: number; port: number; key: string },
  shape: Shape,
  seconds: number,
): Promise<Sample> {
  const stop = site.publish({ ...shape, port, key, tenants: 0 });
  await warmUp(pid, seconds);
  const window = await measure(pid, site.ledger, seconds);
  await stop();
  const lost = await site.settle(SETTLE_MS);
  const ack = latency(site.ledger, window, "ackedAt");
  const arrival = latency(site.ledger, window, "arrivedAt");
  return { ...window, ack, arrival, faults: faults(site.ledger, lost + site.ledger.get("refused")) };
}

const NO_LATENCY: Latency = { p50: Number.NaN, p99: Number.NaN, count: 0 };

/** Returns the next message of a child. Rejects if the child ends first. */
export async function messageFrom<T>(child: ChildProcess): Promise<T> {
  const ended = once(child, "exit").then(([code]) => Promise.reject(new Error(`a process ended with ${String(code)}`)));
  const [message] = (await Promise.race([once(child, "message"), ended])) as [T];
  return message;
}
