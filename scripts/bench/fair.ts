/**
 * A tenant that publishes 50 events and lists five times a second, beside one who takes more than a share: what the first
 * notices of it, and whether the operator still gets an answer by the socket. P20.
 */
import { spawn } from "node:child_process";
import { request } from "node:http";
import { join } from "node:path";
import { setPriority } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { watchOver } from "../crash/children.ts";
import type { Attack } from "./fair-attack.ts";
import { monotonic } from "./ledger.ts";
import { atMost, Measures, none, percentile, ratios, type Measure } from "./measure.ts";
import type { BenchOptions } from "./options.ts";
import { FLOOD_TYPE, tenantName } from "./payload.ts";
import { latency } from "./run.ts";
import { copyStore, seeded } from "./seed.ts";
import { Trial } from "./trial.ts";

const SECONDS = 5;
const ROUNDS = 2;
const PER_SECOND = 50;
const LIST_EVERY_MS = 200;
const STATUS_EVERY_MS = 100;
const WARM_MS = 2000;
/** Until an attack is in full swing, and until what it left is done. */
const SWELL_MS = 1500;
const SETTLE_MS = 10_000;
const NICE = 10;
const FAN_OUT = 2000;
/** What the looping queries walk through. */
const ROWS = 100_000;

const VICTIM = tenantName(0);
const OTHER = tenantName(1);
const ATTACK = fileURLToPath(new URL("fair-attack.ts", import.meta.url));
const LOOPING = "/v1/webhooks/deliveries?status_code=204";

interface Trouble {
  readonly trial: Trial;
  /** Of the other tenant. */
  readonly key: string;
}

type Case = (trouble: Trouble) => Promise<() => void>;

const attacking =
  (attack: Omit<Attack, "port" | "key">, withKey = true): Case =>
  async ({ trial: { daemon }, key }) => {
    const argument = JSON.stringify({ ...attack, port: daemon.port, key: withKey ? key : null } satisfies Attack);
    const child = watchOver(spawn(process.execPath, [ATTACK, argument], { stdio: ["pipe", "ignore", "inherit"] }));
    setPriority(child.pid!, NICE);
    return () => void child.kill("SIGKILL");
  };

const batches = (connections: number, withKey = true) =>
  attacking({ kind: "batches", connections, path: "/v1/webhooks/events/batch" }, withKey);

const CASES: Readonly<Record<string, Case>> = {
  "20 batches": batches(20),
  "100 batches": batches(100),
  "20 without a key": batches(20, false),
  "100 without a key": batches(100, false),
  "700 slow headers": attacking({ kind: "headers", connections: 700, path: "" }),
  "32 queries": attacking({ kind: "gets", connections: 32, path: LOOPING }),
  "256 streams": attacking({ kind: "gets", connections: 256, path: "/v1/webhooks/stream" }),
  "fan-out": async ({ trial: { daemon, site }, key }) => {
    const left = Array.from({ length: FAN_OUT }).keys();
    const register = async () => {
      for (const index of left)
        await call(daemon.port, key, "POST", "/v1/webhooks", endpoint(site.url(`/hang/${index}`)));
    };
    await Promise.all(Array.from({ length: 50 }, register));
    await call(daemon.port, key, "POST", "/v1/webhooks/events", { type: FLOOD_TYPE, data: {} });
    return () => {};
  },
};

export const FAIR_CASES: readonly string[] = Object.keys(CASES);

interface Seen {
  readonly ackP99: number;
  readonly arrivalP99: number;
  readonly listP99: number;
  readonly refused: number;
  readonly statusMax: number;
}

export async function fair(options: BenchOptions): Promise<Measure[]> {
  const measures = new Measures("fair");
  const wanted = options.cases ?? FAIR_CASES;
  for (const [name, start] of Object.entries(CASES)) {
    if (!wanted.includes(name)) continue;
    const quiet: Seen[] = [];
    const beside: Seen[] = [];
    const rounds = options.rounds ?? ROUNDS;
    for (let round = 1; round <= rounds; round++) {
      const pair = await run(start, options);
      quiet.push(pair.quiet);
      beside.push(pair.beside);
      const { ackP99, arrivalP99 } = pair.beside;
      options.note(
        `${name}, round ${round} of ${rounds}: ack p99 ${ackP99.toFixed(1)} ms, arrival ${arrivalP99.toFixed(1)} ms`,
      );
    }
    const each = (side: readonly Seen[], value: keyof Seen) => side.map((seen) => seen[value]);
    for (const value of ["ackP99", "arrivalP99", "listP99"] as const) {
      const what = { ackP99: "ack", arrivalP99: "arrival", listP99: "list" }[value];
      measures.add(`${name}: ${what} p99`, "ms", each(beside, value));
      const goal = value === "listP99" ? null : atMost("P20", 3);
      measures.add(`${name}: ${what} p99 ÷ without`, "×", ratios(each(beside, value), each(quiet, value)), goal);
    }
    measures.add(`${name}: refused`, "", each(beside, "refused"), none("P20"));
    measures.add(`${name}: status by the socket, slowest`, "ms", each(beside, "statusMax"), atMost("P20", 200));
  }
  return measures.all;
}

async function run(start: Case, options: BenchOptions): Promise<{ quiet: Seen; beside: Seen }> {
  const plan = { pending: ROWS, endpoints: 20, tenant: OTHER, as: "delivered" } as const;
  const kept = await seeded(plan, options.note);
  const trial = await Trial.start({ threads: options.threads, prepare: (dir) => copyStore(kept, dir) });
  const { daemon } = trial;
  await trial.register(["/ok/victim"], () => VICTIM);
  const [victim, other] = await Promise.all([VICTIM, OTHER].map((tenant) => keyOf(trial, tenant)));
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
  const seconds = options.seconds ?? SECONDS;
  const quiet = await watch(trial, victim!, seconds);
  const end = await start({ trial, key: other! });
  await sleep(SWELL_MS);
  const beside = await watch(trial, victim!, seconds);
  end();
  await Promise.race([stop(), sleep(SETTLE_MS)]);
  await trial.end("kill");
  return { quiet, beside };
}

/** A window of the victim's, who lists meanwhile as well, and the operator's look at the status. */
async function watch({ daemon, dir, site }: Trial, key: string, seconds: number): Promise<Seen> {
  const { ledger } = site;
  const before = ledger.get("refused") + ledger.get("broken");
  const window = { from: monotonic(), to: monotonic() + seconds * 1000 };
  const lists: number[] = [];
  const looks: number[] = [];
  let refused = 0;
  const every = async (ms: number, times: number[], ask: () => Promise<number>) => {
    for (; monotonic() < window.to; await sleep(ms)) {
      const at = monotonic();
      const status = await ask().catch(() => 0);
      times.push(monotonic() - at);
      if (status !== 200) refused++;
    }
  };
  const socketPath = join(dir, "data/webhookd.sock");
  await Promise.all([
    every(LIST_EVERY_MS, lists, () => call(daemon.port, key, "GET", "/v1/webhooks/events?limit=20")),
    every(STATUS_EVERY_MS, looks, () => get(socketPath, "/v1/status")),
  ]);
  // What was submitted at the end has as long again to arrive.
  await sleep(Math.min(seconds * 1000, SETTLE_MS));
  return {
    ackP99: latency(ledger, window, "ackedAt").p99,
    arrivalP99: latency(ledger, window, "arrivedAt").p99,
    listP99: percentile(lists, 0.99),
    refused: refused + ledger.get("refused") + ledger.get("broken") - before,
    statusMax: Math.max(...looks),
  };
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
