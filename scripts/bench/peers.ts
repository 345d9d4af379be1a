/**
 * Compares webhookd with other webhook senders and queues that are installed here, in turns and with the same code: the
 * cost of an event including everything that the tool needs, events per second, latencies, and memory.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { monotonic } from "./ledger.ts";
import { Measures, none, percentile, ratios, type Measure } from "./measure.ts";
import type { BenchOptions } from "./options.ts";
import { bullmq } from "./peers/bullmq.ts";
import { graphile } from "./peers/graphile.ts";
import { hookaido } from "./peers/hookaido.ts";
import { outpost } from "./peers/outpost.ts";
import type { Peer, RunningPeer } from "./peers/peer.ts";
import { svix } from "./peers/svix.ts";
import { webhookd } from "./peers/webhookd.ts";
import { faults, latency, warmUp, type Latency } from "./run.ts";
import { remove, scratch } from "./scratch.ts";
import { Site } from "./site.ts";
import { treeCpuMs, treeMiB } from "./usage.ts";

/** The prefix of the names under which their measures are listed. */
export const PEERS_PREFIX = "peers: ";
export const PEERS: Readonly<Record<string, Peer>> = { svix, outpost, hookaido, bullmq, graphile };

const SECONDS = 10;
const ROUNDS = 3;
const QUIET = { connections: 8, eventsPerRequest: 1, tenants: 0, pace: { perSecond: 200 } } as const;
const FULL = { connections: 32, eventsPerRequest: 1, tenants: 0, pace: { window: 1000 } } as const;
const REST_MS = 3000;
/** Runs at 200/s, after earlier measurements have warmed up everything. */
const WARM_MS = 2000;
const LOOK_MS = 500;
const SETTLE_MS = 30_000;
const BEHIND = 1000;
const HEALTHY = { connections: 4, eventsPerRequest: 1, tenants: 0, pace: { perSecond: 50 } } as const;
/** Less than the ten seconds that a hanging attempt may take with most tools. */
const HEALTHY_SECONDS = 8;

interface Sample {
  readonly startMs: number;
  readonly restMiB: number;
  readonly full: Load;
  readonly quiet: Load;
  readonly refused: number;
  readonly lost: number;
}

/** The result of one load. */
interface Load {
  readonly perSecond: number;
  readonly cpuUs: number;
  readonly peakMiB: number;
  readonly answer: Latency;
  readonly arrival: Latency;
}

interface Side {
  readonly name: string;
  readonly peer: Peer;
  version: string;
  readonly samples: Sample[];
  /** A healthy endpoint beside one that hangs: the share of its events that arrived, and their median time. */
  beside: { readonly share: number; readonly p50: number } | null;
}

/** Runs only the peers in `options.peers`, if there are any. Leaves out a peer that is not installed, and says so. */
export async function peers(options: BenchOptions, known = PEERS, own = webhookd): Promise<Measure[]> {
  const sides = [sideOf("webhookd", own)];
  for (const [name, peer] of Object.entries(known)) {
    if (options.peers !== undefined && !options.peers.includes(name)) continue;
    const missing = peer.missing();
    if (missing === null) sides.push(sideOf(name, peer));
    else options.note(`SKIPPED ${name}: ${missing}`);
  }
  for (const { name, peer } of sides) options.note(`${name}: ${peer.about}`);
  const [rounds, seconds] = [options.rounds ?? ROUNDS, options.seconds ?? SECONDS];
  for (let round = 1; round <= rounds; round++) {
    for (const side of round % 2 === 1 ? [...sides] : sides.toReversed()) {
      try {
        side.samples.push(await run(side, seconds));
        if (round === 1) side.beside = await runBesideHanging(side.peer, Math.min(HEALTHY_SECONDS, 2 * seconds));
        options.note(`round ${round} of ${rounds}, ${side.name} ${side.version}: ${inShort(side.samples.at(-1)!)}`);
      } catch (error) {
        // This process ends whatever the peer left behind.
        if (side === sides[0]) throw error;
        options.note(`FAILED ${side.name}, which is left out from here on: ${(error as Error).message}`);
        sides.splice(sides.indexOf(side), 1);
      }
    }
  }
  return sides.flatMap((side) => present(side, sides[0]!));
}

function sideOf(name: string, peer: Peer): Side {
  return { name, peer, version: "", samples: [], beside: null };
}

function inShort({ full, quiet }: Sample): string {
  return `${Math.round(full.perSecond)}/s, ${full.cpuUs.toFixed(0)} µs, at 200/s ${quiet.cpuUs.toFixed(0)} µs`;
}

async function run(side: Side, seconds: number): Promise<Sample> {
  const site = await Site.open(1, true);
  const running = await start(side.peer, [site]);
  side.version = running.version;
  try {
    await sleep(Math.min(REST_MS, seconds * 1000));
    const restMiB = treeMiB(running.pids);
    const full = await load(site, running, FULL, seconds);
    const quiet = await load(site, running, QUIET, seconds);
    const refused = site.ledger.get("refused");
    const lost = faults(site.ledger, [...site.ledger.missing()].length);
    return { startMs: running.startMs, restMiB, full, quiet, refused, lost };
  } finally {
    await running.end();
  }
}

/** Starts the peer with the first endpoint of each site, `/ok` unless another path is given. */
async function start(
  peer: Peer,
  sites: readonly Site[],
  path = "/ok/0",
): Promise<RunningPeer & { end(): Promise<void> }> {
  const dir = scratch();
  const paths = sites.map((_, index) => (index === 0 ? path : `/ok/${index}`));
  const running = await peer.start(
    dir,
    sites.map((site, index) => site.url(paths[index]!)),
  );
  for (const [index, site] of sites.entries()) {
    await site.expect({ [paths[index]!]: running.endpoints[index]!.signature });
  }
  const end = async () => {
    await running.stop();
    for (const site of sites) await site.close();
    remove(dir);
  };
  return { ...running, end };
}

async function load(
  site: Site,
  running: RunningPeer,
  plan: typeof QUIET | typeof FULL,
  seconds: number,
): Promise<Load> {
  const { port, pids, endpoints } = running;
  const stop = site.publish({ ...plan, port, key: endpoints[0]!.publish });
  const already = site.ledger.get("arrived");
  await until(() => site.ledger.get("arrived") > already);
  if (plan === FULL) await warmUp(pids, seconds);
  else await sleep(Math.min(WARM_MS, seconds * 1000));
  const before = { at: monotonic(), arrived: site.ledger.get("arrived"), cpu: treeCpuMs(pids) };
  let peakMiB = 0;
  while (monotonic() < before.at + seconds * 1000) {
    await sleep(Math.min(LOOK_MS, seconds * 500));
    peakMiB = Math.max(peakMiB, treeMiB(pids));
  }
  const to = monotonic();
  const arrived = site.ledger.get("arrived") - before.arrived;
  const cpuUs = ((treeCpuMs(pids) - before.cpu) * 1000) / arrived;
  await stop();
  await site.settle(SETTLE_MS);
  const window = { from: before.at, to };
  return {
    perSecond: (arrived * 1000) / (to - before.at),
    cpuUs,
    peakMiB,
    answer: latency(site.ledger, window, "ackedAt"),
    arrival: latency(site.ledger, window, "arrivedAt"),
  };
}

/** Lets a thousand events wait for an endpoint that never responds, while another one gets 50 per second. */
async function runBesideHanging(peer: Peer, seconds: number): Promise<Side["beside"]> {
  const [hanging, healthy] = [await Site.open(1, true), await Site.open(1, true)];
  const running = await start(peer, [hanging, healthy], "/hang/0");
  const { port, endpoints } = running;
  try {
    const behind = Math.min(BEHIND, 1000 * seconds);
    const stopHanging = hanging.publish({ ...FULL, pace: { window: behind }, port, key: endpoints[0]!.publish });
    await until(() => hanging.ledger.get("acked") >= behind);
    await stopHanging();
    const stop = healthy.publish({ ...HEALTHY, port, key: endpoints[1]!.publish });
    const { ledger } = healthy;
    await until(() => ledger.get("submitted") > 0);
    await sleep(seconds * 1000);
    const [to, sent] = [monotonic(), ledger.get("submitted")];
    await sleep(Math.min(LOOK_MS, seconds * 500));
    const times: number[] = [];
    for (let seq = 1; seq <= sent; seq++) {
      const at = ledger.arrivedAt[seq]!;
      times.push(at === 0 ? Number.POSITIVE_INFINITY : at - ledger.submittedAt[seq]!);
    }
    // If responses stop too, fewer events are sent than planned.
    const due = Math.max(1, sent, Math.floor((HEALTHY.pace.perSecond * (to - ledger.submittedAt[1]!)) / 1000));
    await Promise.race([stop(), sleep(LOOK_MS)]);
    return { share: times.filter(Number.isFinite).length / due, p50: percentile(times, 0.5) };
  } finally {
    await running.end();
  }
}

async function until(happened: () => boolean): Promise<void> {
  for (const late = monotonic() + SETTLE_MS; monotonic() < late && !happened();) await sleep(5);
}

function present({ name, version, samples, beside }: Side, own: Side): Measure[] {
  const measures = new Measures(`${PEERS_PREFIX}${name} ${version}`);
  for (const [title, unit, value, isCompared] of ROWS) {
    const of = (side: readonly Sample[]) => side.map(value);
    measures.add(title, unit, of(samples));
    if (isCompared) measures.add(`${title}, ÷ webhookd`, "×", ratios(of(samples), of(own.samples)));
  }
  if (beside !== null) {
    measures.add("beside an endpoint that hangs: arrived", "%", [beside.share * 100]);
    measures.add("beside an endpoint that hangs: publish to arrival, p50", "ms", [beside.p50]);
  }
  const lost = samples.map((sample) => sample.lost);
  measures.add("lost, unsigned or broken", "", lost, name === "webhookd" ? none("") : null);
  return measures.all;
}

type Row = readonly [title: string, unit: string, value: (sample: Sample) => number, isCompared?: true];
const ROWS: readonly Row[] = [
  ["CPU per event", "µs", ({ full }) => full.cpuUs, true],
  ["delivered", "/s", ({ full }) => full.perSecond],
  ["publish to answer, p50", "ms", ({ full }) => full.answer.p50],
  ["publish to answer, p99", "ms", ({ full }) => full.answer.p99],
  ["publish to arrival, p50", "ms", ({ full }) => full.arrival.p50],
  ["publish to arrival, p99", "ms", ({ full }) => full.arrival.p99],
  ["memory, peak", "MiB", ({ full }) => full.peakMiB],
  ["at 200/s: CPU per event", "µs", ({ quiet }) => quiet.cpuUs, true],
  ["at 200/s: publish to answer, p50", "ms", ({ quiet }) => quiet.answer.p50],
  ["at 200/s: publish to answer, p99", "ms", ({ quiet }) => quiet.answer.p99],
  ["at 200/s: publish to arrival, p50", "ms", ({ quiet }) => quiet.arrival.p50],
  ["at 200/s: publish to arrival, p99", "ms", ({ quiet }) => quiet.arrival.p99],
  ["memory at rest, just started", "MiB", ({ restMiB }) => restMiB],
  ["start until it accepts events", "ms", ({ startMs }) => startMs],
  ["publish requests refused", "", ({ refused }) => refused],
];
