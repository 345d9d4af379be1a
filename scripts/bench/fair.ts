/**
 * Measures how a tenant that publishes 50 events and lists five times per second is affected by another tenant that
 * takes more than its share, and whether the operator still gets responses over the socket. P20. Windows with and
 * without the attack alternate on one daemon. A case takes a little more than a minute, all of them twenty minutes.
 */
import { spawn } from "node:child_process";
import { request } from "node:http";
import { join } from "node:path";
import { getPriority, setPriority } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { watchOver } from "../crash/children.ts";
import type { Attack } from "./fair-attack.ts";
import { monotonic } from "./ledger.ts";
import { atMost, Measures, none, percentile, ratios, type Measure } from "./measure.ts";
import type { BenchOptions } from "./options.ts";
import { FLOOD_TYPE, tenantName } from "./payload.ts";
import { timesIn } from "./run.ts";
import { copyStore, seeded } from "./seed.ts";
import { Trial } from "./trial.ts";
import { cpuMs } from "./usage.ts";
import { worstFilter } from "./worst-filters.ts";

/** The length of each window. There are enough windows, in turns, for each side to have the events that it needs. */
const SECONDS = 5;
const PER_SECOND = 50;
/** Enough for p99 to be the tenth worst or later, with a few to spare if a window has one event less. */
const EVENTS = 1020;
const LIST_EVERY_MS = 200;
const STATUS_EVERY_MS = 100;
/** By then Node has compiled most of the hot code, so that the first windows are not the slow ones. */
const WARM_MS = 4000;
/** The time until an attack reaches its full strength, and until its effects have passed. */
const SWELL_MS = 1500;
const CALM_MS = 3000;
/** A response or an arrival that takes longer counts as missing. */
const SETTLE_MS = 10_000;
/** The attacker's priority is lower than the bench's by this much, if there is a lower one. */
const NICE = 10;
const LOWEST = 19;
const FAN_OUT = 2000;
/** The number of rows that the looping queries walk through. */
const ROWS = 100_000;

const VICTIM = tenantName(0);
const OTHER = tenantName(1);
const ATTACK = fileURLToPath(new URL("fair-attack.ts", import.meta.url));
const UNKNOWN_TYPE = "no.such.type";
const LOOPING = "/v1/webhooks/deliveries?status_code=204";

interface Trouble {
  readonly trial: Trial;
  /** The key of the other tenant. */
  readonly key: string;
}

/** Prepares a daemon for an attack. The returned function begins the attack, and the one that it returns ends it. */
type Case = (trouble: Trouble) => Promise<() => Promise<() => void>>;

/** Null attacks without a key. */
type KeysOf = ((trouble: Trouble) => Promise<readonly string[]>) | null;
const OWN_KEY: KeysOf = ({ key }) => Promise.resolve([key]);

const attacking =
  (attack: Omit<Attack, "port" | "keys">, keysOf: KeysOf = OWN_KEY): Case =>
  async (trouble) => {
    const { port } = trouble.trial.daemon;
    const keys = keysOf === null ? null : await keysOf(trouble);
    const argument = JSON.stringify({ ...attack, port, keys } satisfies Attack);
    return () => {
      const child = watchOver(spawn(process.execPath, [ATTACK, argument], { stdio: ["pipe", "ignore", "inherit"] }));
      setPriority(child.pid!, Math.min(getPriority() + NICE, LOWEST));
      return Promise.resolve(() => void child.kill("SIGKILL"));
    };
  };

const LIST = "/v1/webhooks";
const batches = (connections: number, keysOf: KeysOf = OWN_KEY, type = FLOOD_TYPE) =>
  attacking({ kind: "batches", connections, path: `${LIST}/events/batch`, type }, keysOf);
const getting = (path: string, connections: number, more: Partial<Attack> = {}) =>
  attacking({ kind: "gets", connections, path, ...more }, null);

/** The number of keys from portal links that one key has made. Each of them must count against that key. */
const LINKS = 29;
const linkKeys: KeysOf = ({ trial: { daemon }, key }) =>
  Promise.all(
    Array.from({ length: LINKS }, async () => {
      const response = await send(daemon.port, key, "POST", "/v1/portal-links", {});
      const { url } = (await response.json()) as { url?: string };
      const link = /#.*?(whk_[^&]+)/.exec(url ?? "")?.[1];
      if (link === undefined) throw new Error(`a portal link was answered ${response.status}`);
      return link;
    }),
  );

/** The other tenant has this many endpoints, each with a different slow filter, none of which accepts an event. */
const filtering =
  (filters: number, kind: "worst events" | "filter tests", connections: number): Case =>
  async (trouble) => {
    const { daemon, site } = trouble.trial;
    const ids: string[] = [];
    const left = Array.from({ length: filters }).keys();
    const register = async () => {
      for (const index of left) {
        const body = { ...endpoint(site.url(`/hang/${index}`)), filter: worstFilter(index) };
        const response = await send(daemon.port, trouble.key, "POST", LIST, body);
        if (response.status !== 201) throw new Error(`an endpoint was answered ${await response.text()}`);
        ids.push(((await response.json()) as { id: string }).id);
      }
    };
    await Promise.all(Array.from({ length: 50 }, register));
    const path = kind === "worst events" ? `${LIST}/events` : `${LIST}/${ids[0]}/filter/test`;
    return attacking({ kind, connections, path })(trouble);
  };

const CASES: Readonly<Record<string, Case>> = {
  "20 batches": batches(20),
  "100 batches": batches(100),
  "20 without a key": batches(20, null),
  "100 without a key": batches(100, null),
  "700 slow headers": attacking({ kind: "headers", connections: 700, path: "" }),
  "32 queries": attacking({ kind: "gets", connections: 32, path: LOOPING }),
  "256 streams": attacking({ kind: "gets", connections: 256, path: `${LIST}/stream` }),
  "fan-out": async ({ trial: { daemon, site }, key }) => {
    const left = Array.from({ length: FAN_OUT }).keys();
    const register = async () => {
      for (const index of left)
        await call(daemon.port, key, "POST", "/v1/webhooks", endpoint(site.url(`/hang/${index}`)));
    };
    await Promise.all(Array.from({ length: 50 }, register));
    return async () => {
      await call(daemon.port, key, "POST", "/v1/webhooks/events", { type: FLOOD_TYPE, data: {} });
      return () => {};
    };
  },
  "20 refused batches": batches(20, OWN_KEY, UNKNOWN_TYPE),
  "100 refused batches": batches(100, OWN_KEY, UNKNOWN_TYPE),
  "20 worst events, 200 filters": filtering(200, "worst events", 20),
  "20 worst events, 10 filters": filtering(10, "worst events", 20),
  // A reference for the others: large events that no filter is asked about.
  "20 worst events, no filter": filtering(0, "worst events", 20),
  "20 filter tests": filtering(1, "filter tests", 20),
  "40 key sets": async (trouble) => {
    const { daemon } = trouble.trial;
    await call(daemon.port, trouble.key, "POST", `${LIST}/keys/rotate`, {});
    await call(daemon.port, trouble.key, "PATCH", `${LIST}/keys`, { published: true });
    return getting(`${LIST}/keys/jwks.json?tenant=${OTHER}`, 40)(trouble);
  },
  "40 of the docs": getting("/docs", 40),
  "40 of the description": getting("/openapi.json", 40),
  "300 addresses of /readyz": getting("/readyz", 300, { addresses: 300 }),
  "40 without a key": getting(LIST, 40),
  "40 without a key, 20 pipelined": getting(LIST, 40, { pipelined: 20 }),
  "300 addresses without a key": getting(LIST, 300, { addresses: 300 }),
  "300 addresses, 20 pipelined": getting(LIST, 300, { addresses: 300, pipelined: 20 }),
  "40 malformed": attacking({ kind: "malformed", connections: 40, path: "" }, null),
  "40 making links": attacking({ kind: "links", connections: 40, path: "/v1/portal-links" }),
  "96 using links": attacking({ kind: "gets", connections: 96, path: `${LIST}/events?data=a.b.c:zzz` }, linkKeys),
  // Not an attack, but a reference for the others: the effect on the victim of work that never touches the daemon.
  "2 busy threads": attacking({ kind: "spin", connections: 2, path: "" }),
};

/** These cases have a goal for p99 too. */
const STRICT: readonly string[] = [
  "20 batches",
  "100 batches",
  "20 without a key",
  "100 without a key",
  "700 slow headers",
  "32 queries",
  "256 streams",
  "fan-out",
];

/** These may hardly be noticed: their work is done in pieces, or rarely. */
const UNNOTICED: readonly string[] = ["20 worst events, 200 filters", "20 filter tests", "40 key sets"];

/**
 * These cannot be undone, and their attempts time out long after they began. So each side has one window with all its
 * events.
 */
const IN_ONE_TURN: readonly string[] = ["fan-out"];

export const FAIR_CASES: readonly string[] = Object.keys(CASES);

/** Returns how many turns each side has, with windows of this many seconds. */
export function turnsFor(seconds: number): number {
  return Math.ceil(EVENTS / (PER_SECOND * seconds));
}

/** The times that the victim and the operator saw in the windows of one side, in milliseconds. */
class Seen {
  readonly ack: number[] = [];
  readonly arrival: number[] = [];
  readonly list: number[] = [];
  readonly status: number[] = [];
  /** The processor time of the daemon in each window, in cores. */
  readonly cores: number[] = [];
  refused = 0;
}

const TIMES = ["ack", "arrival", "list"] as const;
const SHARES = [
  ["p50", 0.5],
  ["p99", 0.99],
] as const;

export async function fair(options: BenchOptions): Promise<Measure[]> {
  const measures = new Measures("fair");
  const wanted = options.cases ?? FAIR_CASES;
  for (const name of FAIR_CASES.filter((each) => wanted.includes(each))) {
    const without: Seen[] = [];
    const beside: Seen[] = [];
    const rounds = options.rounds ?? 1;
    for (let round = 0; round < rounds; round++) {
      const pair = await run(name, options);
      without.push(pair.without);
      beside.push(pair.beside);
    }
    for (const value of TIMES) {
      for (const [label, share] of SHARES) {
        const each = (side: readonly Seen[]) => side.map((seen) => percentile(seen[value], share));
        const hasGoal = value !== "list" && name !== "2 busy threads" && (label === "p50" || STRICT.includes(name));
        const most = label === "p50" && UNNOTICED.includes(name) ? 1.2 : 3;
        const goal = hasGoal ? atMost("P20", most) : null;
        measures.add(`${name}: ${value} ${label}, without`, "ms", each(without));
        measures.add(`${name}: ${value} ${label}, beside`, "ms", each(beside));
        measures.add(`${name}: ${value} ${label}, beside ÷ without`, "×", ratios(each(beside), each(without)), goal);
      }
    }
    const all = (value: (seen: Seen) => number) => beside.map(value);
    const cores = (side: readonly Seen[]) => side.map((seen) => percentile(seen.cores, 0.5));
    measures.add(`${name}: cores of the daemon, without`, "", cores(without));
    measures.add(`${name}: cores of the daemon, beside`, "", cores(beside));
    measures.add(`${name}: events of each side, at least`, "", countsOf([...without, ...beside]));
    measures.add(
      `${name}: refused`,
      "",
      all(({ refused }) => refused),
      none("P20"),
    );
    const slowest = all(({ status }) => Math.max(...status));
    measures.add(`${name}: status by the socket, slowest`, "ms", slowest, atMost("P20", 200));
  }
  return measures.all;
}

function countsOf(seen: readonly Seen[]): number[] {
  return [Math.min(...seen.map(({ ack }) => ack.length))];
}

async function run(name: string, options: BenchOptions): Promise<{ without: Seen; beside: Seen }> {
  const plan = { pending: ROWS, endpoints: 20, tenant: OTHER, as: "delivered" } as const;
  const kept = await seeded(plan, options.note);
  const trial = await Trial.start({ threads: options.threads, prepare: (dir) => copyStore(kept, dir) });
  const { daemon } = trial;
  await trial.register(["/ok/victim"], () => VICTIM);
  const [victim, other] = await Promise.all([VICTIM, OTHER].map((tenant) => keyOf(trial, tenant)));
  const attack = await CASES[name]!({ trial, key: other! });
  const pace = { perSecond: PER_SECOND };
  const stop = trial.site.publish({
    port: daemon.port,
    key: victim!,
    connections: 8,
    eventsPerRequest: 1,
    tenants: 0,
    pace,
  });
  await sleep(WARM_MS);
  const asked = options.seconds ?? SECONDS;
  const [turns, seconds] = IN_ONE_TURN.includes(name) ? [1, asked * turnsFor(asked)] : [turnsFor(asked), asked];
  const [without, beside] = [new Seen(), new Seen()];
  for (let turn = 1; turn <= turns; turn++) {
    const quiet = await watch(trial, victim!, seconds, without);
    const end = await attack();
    await sleep(SWELL_MS);
    const loud = await watch(trial, victim!, seconds, beside);
    end();
    await sleep(CALM_MS);
    options.note(`${name}, turn ${turn} of ${turns}: ack p99 ${quiet} ms without, ${loud} ms beside`);
  }
  await Promise.race([stop(), sleep(SETTLE_MS)]);
  await trial.end("kill");
  return { without, beside };
}

/** Runs a window in which the victim publishes and lists, and the operator reads the status. Returns its ack p99. */
async function watch({ daemon, dir, site }: Trial, key: string, seconds: number, seen: Seen): Promise<string> {
  const { ledger } = site;
  const before = ledger.get("refused") + ledger.get("broken");
  const window = { from: monotonic(), to: monotonic() + seconds * 1000 };
  const cpu = cpuMs(daemon.pid);
  const every = async (ms: number, times: number[], ask: () => Promise<number>) => {
    for (; monotonic() < window.to; await sleep(ms)) {
      const at = monotonic();
      const status = await ask().catch(() => 0);
      times.push(monotonic() - at);
      if (status !== 200) seen.refused++;
    }
  };
  const socketPath = join(dir, "data/webhookd.sock");
  await Promise.all([
    every(LIST_EVERY_MS, seen.list, () => call(daemon.port, key, "GET", "/v1/webhooks/events?limit=20")),
    every(STATUS_EVERY_MS, seen.status, () => get(socketPath, "/v1/status")),
  ]);
  seen.cores.push((cpuMs(daemon.pid) - cpu) / (monotonic() - window.from));
  const isDue = () => timesIn(ledger, window, "arrivedAt").some((ms) => !Number.isFinite(ms));
  for (const deadline = monotonic() + SETTLE_MS; isDue() && monotonic() < deadline;) await sleep(50);
  const acks = timesIn(ledger, window, "ackedAt");
  seen.ack.push(...acks);
  seen.arrival.push(...timesIn(ledger, window, "arrivedAt"));
  seen.refused += ledger.get("refused") + ledger.get("broken") - before;
  return percentile(acks, 0.99).toFixed(1);
}

function endpoint(url: string): object {
  return { url, events: [FLOOD_TYPE] };
}

async function keyOf({ daemon }: Trial, tenant: string): Promise<string> {
  const scopes = ["publish", "read", "manage"];
  const response = await send(daemon.port, daemon.key, "POST", "/v1/keys", { name: tenant, scopes, tenant });
  const { key } = (await response.json()) as { key?: string };
  if (key === undefined) throw new Error(`a key was answered ${response.status}`);
  return key;
}

async function call(port: number, key: string, method: string, path: string, body?: object): Promise<number> {
  const response = await send(port, key, method, path, body);
  await response.arrayBuffer();
  return response.status;
}

function send(port: number, key: string, method: string, path: string, body?: object): Promise<Response> {
  const headers = { authorization: `Bearer ${key}`, ...(body && { "content-type": "application/json" }) };
  const init = { method, headers, ...(body && { body: JSON.stringify(body) }) };
  return fetch(`http://127.0.0.1:${port}${path}`, { ...init, signal: AbortSignal.timeout(SETTLE_MS) });
}

function get(socketPath: string, path: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const asked = request({ socketPath, path, timeout: SETTLE_MS }, (response) => {
      response.resume().once("end", () => resolve(response.statusCode!));
    });
    asked
      .once("error", reject)
      .once("timeout", () => asked.destroy(new Error("no answer")))
      .end();
  });
}
