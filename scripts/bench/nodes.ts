/**
 * Compares one, two and four nodes on one PostgreSQL, with batches and with single publishes, with one process and its
 * file: deliveries per second, and their cost for the nodes and the database. Then measures how long an event takes if
 * its publisher calls a node that does not own its endpoint, and the effect of a snapshot that somebody holds.
 *
 * PostgreSQL has its defaults for durability, and shares the machine with the nodes, receivers and publishers.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { withClient } from "../../test/harness/postgres.ts";
import { divided } from "../crash/nodes.ts";
import { Primaries } from "../crash/primaries.ts";
import { BATCH, SINGLE } from "./capacity.ts";
import { DaemonUnderTest } from "./daemon.ts";
import { monotonic } from "./ledger.ts";
import { atLeast, atMost, Measures, none, ratios, type Measure } from "./measure.ts";
import type { BenchOptions } from "./options.ts";
import { tenantName } from "./payload.ts";
import { faults, latency, warmUp, type Latency } from "./run.ts";
import { remove, scratch } from "./scratch.ts";
import { Site } from "./site.ts";
import { cpuMs, treeCpuMs } from "./usage.ts";

const SIZES = [1, 2, 4] as const;
const SHAPES = { batch: BATCH, single: SINGLE } as const;
type ShapeName = keyof typeof SHAPES;
/** Each tenant has an endpoint that gets only its events, so that they are spread over the nodes. */
const TENANTS = 64;
const EASY = 200;
const SECONDS = 4;
const ROUNDS = 2;
const WARM_MS = 20_000;
const SETTLE_MS = 30_000;
const POLL_MS = 50;

interface Sample {
  readonly perSecond: number;
  /** Microseconds of all nodes, and of the database, for each event that arrived. */
  readonly nodesUs: number;
  readonly databaseUs: number;
  readonly faults: number;
}

export async function nodes({ cases, note, rounds, seconds, threads }: BenchOptions): Promise<Measure[]> {
  const servers = await Primaries.start({ standby: false });
  if (servers === null) {
    note("skipped: there is no PostgreSQL for this platform to run nodes on");
    return [];
  }
  const bench = new Bench(servers, seconds ?? SECONDS, threads);
  const isChosen = (name: string) => cases === undefined || cases.some((one) => name.startsWith(one));
  try {
    const samples = new Map<string, Sample[]>();
    const across: Latency[] = [];
    const held: number[] = [];
    for (let round = 1; round <= (rounds ?? ROUNDS); round++) {
      for (const shape of ["batch", "single"] as const) {
        for (const size of [0, ...SIZES]) {
          const name = size === 0 ? `${shape}, file` : `${shape}, ${size} node${size === 1 ? "" : "s"}`;
          if (!isChosen(name)) continue;
          const sample = await bench.run(size, shape);
          samples.set(name, [...(samples.get(name) ?? []), sample]);
          const { databaseUs, nodesUs, perSecond } = sample;
          note(
            `${name}: ${perSecond.toFixed(0)}/s, nodes ${nodesUs.toFixed(0)} µs, database ${databaseUs.toFixed(0)} µs`,
          );
        }
      }
      if (isChosen("across")) {
        across.push(await bench.across());
        note(`across: p50 ${across.at(-1)!.p50.toFixed(1)} ms, p99 ${across.at(-1)!.p99.toFixed(1)} ms`);
      }
      if (isChosen("snapshot")) {
        held.push(await bench.snapshot());
        note(`with a held snapshot: ${held.at(-1)!.toFixed(2)} of the rate`);
      }
    }
    return present(samples, across, held);
  } finally {
    await servers.stop();
  }
}

function present(samples: ReadonlyMap<string, readonly Sample[]>, across: readonly Latency[], held: readonly number[]) {
  const all: Measure[] = [];
  for (const [name, own] of samples) {
    const measures = new Measures(name);
    const each = (value: (sample: Sample) => number) => own.map(value);
    const isOnDatabase = !name.endsWith("file");
    const goal = name.startsWith("batch") && isOnDatabase ? atLeast("", 10_000) : null;
    const rate = each(({ perSecond }) => perSecond);
    measures.add("delivered", "/s", rate, goal);
    measures.add(
      "CPU per event, nodes",
      "µs",
      each(({ nodesUs }) => nodesUs),
    ); // oxfmt
    if (isOnDatabase) {
      measures.add(
        "CPU per event, database",
        "µs",
        each(({ databaseUs }) => databaseUs),
      ); // oxfmt
      const file = samples.get(`${name.split(",")[0]}, file`);
      if (file !== undefined) {
        measures.add(
          "delivered ÷ file",
          "×",
          ratios(
            rate,
            file.map(({ perSecond }) => perSecond),
          ),
        ); // oxfmt
        const total = each(({ databaseUs, nodesUs }) => databaseUs + nodesUs);
        measures.add(
          "CPU ÷ file",
          "×",
          ratios(
            total,
            file.map(({ nodesUs }) => nodesUs),
          ),
        ); // oxfmt
      }
    }
    measures.add(
      "lost, forged or broken",
      "",
      each((sample) => sample.faults),
      none(""),
    ); // oxfmt
    all.push(...measures.all);
  }
  const measures = new Measures("across nodes");
  if (across.length > 0) {
    measures.add(
      "publish to arrival, p50",
      "ms",
      across.map(({ p50 }) => p50),
      atMost("", 60),
    ); // oxfmt
    measures.add(
      "publish to arrival, p99",
      "ms",
      across.map(({ p99 }) => p99),
    ); // oxfmt
  }
  if (held.length > 0) measures.add("delivered with a held snapshot ÷ without", "×", held, atLeast("", 0.8));
  return [...all, ...measures.all];
}

/** Nodes on an empty database, or one process with its file. */
interface Running {
  readonly site: Site;
  readonly nodes: readonly DaemonUnderTest[];
  readonly url: string;
  /** Ends everything. */
  end(): Promise<void>;
}

class Bench {
  readonly #servers: Primaries;
  readonly #seconds: number;
  readonly #threads: number | null;
  #databases = 0;

  constructor(servers: Primaries, seconds: number, threads: number | null) {
    this.#servers = servers;
    this.#seconds = seconds;
    this.#threads = threads;
  }

  async run(size: number, shape: ShapeName): Promise<Sample> {
    const running = await this.#start(size);
    const stop = this.#publish(running, shape);
    await this.#warmUp(running);
    const sample = await this.#measure(running);
    await stop();
    const { ledger } = running.site;
    const lost = await running.site.settle(SETTLE_MS);
    const unrecorded = size === 0 ? 0 : await unrecordedOf(running);
    await running.end();
    return { ...sample, faults: faults(ledger, lost + unrecorded + ledger.get("refused")) };
  }

  /** Publishes on the first of two nodes. Counts the events whose endpoint the second node owns. */
  async across(): Promise<Latency> {
    const running = await this.#start(2);
    const { rows } = await withClient(running.url, (client) =>
      client.query<{ tenant: string }>(
        "SELECT e.tenant FROM endpoint e JOIN slot s ON s.slot = e.slot JOIN node o ON o.id = s.owner WHERE o.number = 1",
      ),
    );
    const elsewhere = new Set(rows.map(({ tenant }) => tenant));
    const { port, key } = running.nodes[0]!;
    const pace = { perSecond: EASY };
    const stop = running.site.publish({ port, key, connections: 16, eventsPerRequest: 1, tenants: TENANTS, pace });
    await sleep(2000);
    const from = monotonic();
    await sleep(this.#seconds * 1000);
    const to = monotonic();
    await stop();
    await running.site.settle(SETTLE_MS);
    const found = latency(running.site.ledger, { from, to }, "arrivedAt", (seq) =>
      elsewhere.has(tenantName(seq % TENANTS)),
    );
    await running.end();
    return found;
  }

  /** Returns the rate while a transaction holds a snapshot, divided by the rate before. */
  async snapshot(): Promise<number> {
    const running = await this.#start(2);
    const stop = this.#publish(running, "batch");
    await this.#warmUp(running);
    const before = await this.#measure(running);
    const after = await withClient(running.url, async (client) => {
      await client.query("BEGIN ISOLATION LEVEL REPEATABLE READ");
      await client.query("SELECT count(*) FROM event");
      await sleep(HELD_MS - this.#seconds * 1000);
      return this.#measure(running);
    });
    await stop();
    await running.site.settle(SETTLE_MS);
    await running.end();
    return after.perSecond / before.perSecond;
  }

  async #start(size: number): Promise<Running> {
    const site = await Site.open();
    const dir = scratch();
    const name = `bench_${++this.#databases}`;
    if (size > 0) await this.#servers.ask(`CREATE DATABASE ${name}`);
    const url = this.#servers.primaryUrl(name);
    const settings = size === 0 ? {} : settingsOf(dir, url);
    const running: DaemonUnderTest[] = [];
    for (let at = 0; at < Math.max(1, size); at++) {
      const own = join(dir, String(at));
      mkdirSync(own);
      const options = { dir: own, threads: this.#threads, settings, keyDir: join(dir, "0/data") };
      running.push(await DaemonUnderTest.start(options));
    }
    const secrets: Record<string, string> = {};
    for (let at = 0; at < TENANTS; at++) {
      const path = `/ok/${at}`;
      secrets[path] = await running[0]!.register(site.url(path), tenantName(at));
    }
    await site.expect(secrets);
    if (size > 0) await divided(url, size);
    return {
      site,
      nodes: running,
      url,
      end: async () => {
        for (const node of running) await node.stop();
        await site.close();
        remove(dir);
        if (size > 0) await this.#servers.ask(`DROP DATABASE ${name} WITH (FORCE)`);
      },
    };
  }

  #publish({ nodes: running, site }: Running, shape: ShapeName): () => Promise<void> {
    const stops = running.map(({ port, key }) => site.publish({ ...SHAPES[shape], port, key, tenants: TENANTS }));
    return async () => void (await Promise.all(stops.map((stop) => stop())));
  }

  /** Each node compiles its hot code itself, with its share of the cores. */
  async #warmUp({ nodes: running }: Running): Promise<void> {
    await Promise.all(running.map(({ pid }) => warmUp(pid, this.#seconds, WARM_MS * running.length)));
  }

  async #measure({ nodes: running, site }: Running): Promise<Omit<Sample, "faults">> {
    const cpuOf = () => running.reduce((sum, { pid }) => sum + cpuMs(pid), 0);
    const look = () => ({
      at: monotonic(),
      arrived: site.ledger.get("arrived"),
      nodes: cpuOf(),
      database: treeCpuMs([this.#servers.pid]),
    });
    const before = look();
    await sleep(this.#seconds * 1000);
    const after = look();
    const arrived = after.arrived - before.arrived;
    return {
      perSecond: (arrived * 1000) / (after.at - before.at),
      nodesUs: ((after.nodes - before.nodes) * 1000) / arrived,
      databaseUs: ((after.database - before.database) * 1000) / arrived,
    };
  }
}

const HELD_MS = 60_000;

function settingsOf(dir: string, url: string): Record<string, string> {
  const key = join(dir, "secret.key");
  writeFileSync(key, "0b".repeat(32), { mode: 0o600 });
  return {
    WEBHOOKD_DATA_STORE: url,
    WEBHOOKD_DATA_NODES: "true",
    WEBHOOKD_DATA_SECRET_KEY_FILE: key,
  };
}

/** Returns the number of acknowledged events whose delivery or attempt is missing from the database in the end. */
async function unrecordedOf({ site, url }: Running): Promise<number> {
  const acked = site.ledger.get("acked");
  return withClient(url, async (client) => {
    for (const until = monotonic() + SETTLE_MS; ; await sleep(POLL_MS)) {
      const { rows } = await client.query<{ events: number; delivered: number; attempts: number }>(
        `SELECT (SELECT count(*)::integer FROM event) AS events, (SELECT count(*)::integer FROM attempt) AS attempts,
           (SELECT count(*)::integer FROM delivery WHERE status = 2) AS delivered`,
      );
      const { attempts, delivered, events } = rows[0]!;
      const missing = Math.abs(events - acked) + Math.abs(delivered - acked) + Math.max(0, acked - attempts);
      if (missing === 0 || monotonic() > until) return missing;
    }
  });
}
