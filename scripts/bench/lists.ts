/**
 * Measures the lists of one tenant of fifty, in a store of a million events, or `--events`, with every filter and every
 * pair of filters. P21.
 */
import { request } from "node:http";
import { createHash, hash, randomBytes } from "node:crypto";
import { existsSync, renameSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import Database from "better-sqlite3";
import { Causes } from "../../src/store/sqlite/attempts/causes.ts";
import { Meta } from "../../src/store/sqlite/engine/meta.ts";
import { MIGRATIONS } from "../../src/store/sqlite/engine/schema.ts";
import { DaemonUnderTest } from "./daemon.ts";
import { monotonic } from "./ledger.ts";
import { listsOnPostgres } from "./lists-postgres.ts";
import { atMost, Measures, percentile, ratios, type Measure } from "./measure.ts";
import type { BenchOptions } from "./options.ts";
import { tenantName } from "./payload.ts";
import { latency } from "./run.ts";
import { CACHE, scratch } from "./scratch.ts";
import { copyStore } from "./seed.ts";
import { Trial } from "./trial.ts";
import { CANCELLED, DELIVERED, eventId, FAILED, firstKeyAt, RandomChars, WAITING } from "../../src/store/rows/codes.ts";

const EVENTS = 1_000_000;
const TENANTS = 50;
/** The number of endpoints per tenant. */
const ENDPOINTS = 10;
const TYPES = ["transaction.enriched", "goal.achieved", "budget.exceeded", "account.linked", "rare.happened"];
const NOWHERE = "http://127.0.0.1:61999/nowhere";
const HOUR_MS = 3_600_000;
const PERIOD_MS = 7 * 24 * HOUR_MS;
const FAR = Date.UTC(2100, 0, 1);
/** The number of queries of each kind. */
const QUERIES = 10;
const SLOW_MS = 50;
const PER_SECOND = 50;
const WARM_MS = 2000;
const SECONDS = 5;
const ROUNDS = 2;

const STATUSES = ["delivered", "failed", "pending", "held", "cancelled", "unmatched"];
const FILTERS: Readonly<Record<string, (at: Seeded) => string>> = {
  ...Object.fromEntries(STATUSES.map((status) => [status, () => `status=${status}`])),
  type: () => "type=goal.achieved",
  "rare type": () => "type=rare.happened",
  endpoint: ({ endpoint }) => `endpoint=${endpoint}`,
  timeout: () => "error=timeout",
  "5xx": () => "status_code=5xx",
  "last hour": ({ now }) => `since=${new Date(now - HOUR_MS).toISOString()}`,
  "a day": ({ now }) =>
    `since=${new Date(now - 72 * HOUR_MS).toISOString()}&until=${new Date(now - 48 * HOUR_MS).toISOString()}`,
};
const SAME = [new Set(STATUSES), new Set(["type", "rare type"]), new Set(["last hour", "a day"])];

interface Seeded {
  readonly endpoint: string;
  readonly now: number;
}

export async function lists(options: BenchOptions): Promise<Measure[]> {
  const kept = await listsStore(options.events ?? EVENTS, options.note);
  if (options.store === "postgres") return listsOnPostgres(kept, options);
  const trial = await Trial.start({ threads: options.threads, prepare: (dir) => copyStore(kept, dir) });
  const { daemon, dir } = trial;
  const db = new Database(join(dir, "data/webhookd.db"), { readonly: true });
  const endpoints = db.prepare<[string], string>(
    "SELECT e.id FROM endpoint e JOIN tenant t ON t.num = e.tenant WHERE t.name = ? ORDER BY e.number LIMIT 1 OFFSET 3",
  );
  const now = Date.now();
  const tenants = Array.from({ length: QUERIES }, (_, index) => tenantName(index % TENANTS));
  const at = new Map(tenants.map((tenant) => [tenant, { now, endpoint: endpoints.pluck().get(tenant)! }]));
  db.close();
  const names = Object.keys(FILTERS);
  const kinds: string[][] = [[], ...names.map((name) => [name])];
  for (const [index, one] of names.entries()) {
    for (const other of names.slice(index + 1)) {
      if (!SAME.some((set) => set.has(one) && set.has(other))) kinds.push([one, other]);
    }
  }
  const measures = new Measures("lists");
  const slow: [string, number, number][] = [];
  const asked: string[] = [];
  const counted: number[] = [];
  const first = await timed(daemon, "/v1/webhooks/events?limit=1");
  for (const resource of ["events", "deliveries"]) {
    for (const kind of kinds) {
      if (resource === "deliveries" && kind.includes("unmatched")) continue;
      const times: number[] = [];
      const counting: number[] = [];
      let short = 0;
      for (const tenant of tenants) {
        const query = ["limit=20", `tenant=${tenant}`, ...kind.map((name) => FILTERS[name]!(at.get(tenant)!))].join(
          "&",
        );
        const begun = monotonic();
        const body = await get(daemon, `/v1/webhooks/${resource}?${query}`);
        asked.push(`/v1/webhooks/${resource}?${query}`);
        times.push(monotonic() - begun);
        if (body.includes('"cut_short":true')) short++;
        counting.push(await timed(daemon, `/v1/webhooks/${resource}?${query}&total=true`));
      }
      counted.push(percentile(counting, 0.99));
      const name = `${resource} ${kind.join(" + ")}`;
      slow.push([name, percentile(times, 0.99), short]);
      if (slow.at(-1)![1] > SLOW_MS) options.note(`${name}: p99 ${slow.at(-1)![1].toFixed(1)} ms, cut short ${short}`);
      if (counted.at(-1)! > SLOW_MS) options.note(`${name}: p99 with its total ${counted.at(-1)!.toFixed(1)} ms`);
    }
  }
  const failures: number[] = [];
  const everyone: number[] = [];
  for (const tenant of tenants) failures.push(await timed(daemon, `/v1/webhooks/failures?tenant=${tenant}`));
  for (let index = 0; index < 5; index++) everyone.push(await timed(daemon, "/v1/webhooks/failures"));
  const all = slow.map(([, p99]) => p99);
  measures.add("the very first list, which starts the reader's thread", "ms", [first]);
  measures.add(`${slow.length} kinds of lists: slowest p99`, "ms", [Math.max(...all)], atMost("P21", SLOW_MS));
  measures.add("kinds over 50 ms", "", [all.filter((p99) => p99 > SLOW_MS).length]);
  measures.add("median p99", "ms", [percentile(all, 0.5)]);
  measures.add("with their totals: slowest p99", "ms", [Math.max(...counted)], atMost("P21", SLOW_MS));
  measures.add("with their totals: median p99", "ms", [percentile(counted, 0.5)]);
  measures.add("failures of a tenant: p99", "ms", [percentile(failures, 0.99)], atMost("P21", SLOW_MS));
  measures.add("failures of all: slowest", "ms", [Math.max(...everyone)], atMost("P21", SLOW_MS));
  const beside = await publishBeside(trial, asked, options);
  measures.add("publish p50 beside four who list", "ms", beside.listing);
  measures.add(
    "publish p50 beside four who list ÷ without",
    "×",
    ratios(beside.listing, beside.quiet),
    atMost("P21", 1.3),
  );
  await trial.end("kill");
  return measures.all;
}

/** Measures how lists affect a publisher of 50 events per second, while four clients read one list after another. */
async function publishBeside(trial: Trial, asked: readonly string[], options: BenchOptions) {
  const { daemon, site } = trial;
  const pace = { perSecond: PER_SECOND };
  const stop = trial.publish({ connections: 8, eventsPerRequest: 1, tenants: 0, pace });
  await sleep(WARM_MS);
  const p50 = async (readers: number) => {
    const window = { from: monotonic(), to: monotonic() + (options.seconds ?? SECONDS) * 1000 };
    let next = 0;
    const read = async () => {
      while (monotonic() < window.to) await get(daemon, asked[next++ % asked.length]!);
    };
    await Promise.all([sleep(window.to - monotonic()), ...Array.from({ length: readers }, read)]);
    return latency(site.ledger, window, "ackedAt").p50;
  };
  const [quiet, listing]: [number[], number[]] = [[], []];
  for (let round = 0; round < (options.rounds ?? ROUNDS); round++) {
    quiet.push(await p50(0));
    listing.push(await p50(4));
  }
  await stop();
  return { quiet, listing };
}

async function timed(daemon: DaemonUnderTest, path: string): Promise<number> {
  const begun = monotonic();
  await get(daemon, path);
  return monotonic() - begun;
}

export function get({ port, key }: DaemonUnderTest, path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${key}` };
    request({ host: "127.0.0.1", port, path, headers }, (response) => {
      let body = "";
      response.setEncoding("utf8").on("data", (chunk: string) => (body += chunk));
      response.on("end", () => (response.statusCode === 200 ? resolve(body) : reject(new Error(`${path}: ${body}`))));
    })
      .once("error", reject)
      .end();
  });
}

/** Returns the directory of the store, which is created if it does not exist. */
export async function listsStore(events: number, note: (text: string) => void): Promise<string> {
  const text = JSON.stringify([events, TENANTS, ENDPOINTS, TYPES, MIGRATIONS]);
  const kept = join(CACHE, `lists-${createHash("sha256").update(text).digest("hex").slice(0, 12)}`);
  if (existsSync(kept)) return kept;
  note(`seeding a store of ${events} events over ${TENANTS} tenants`);
  const dir = scratch();
  const daemon = await DaemonUnderTest.start({ dir, threads: null });
  const left = Array.from({ length: TENANTS * ENDPOINTS }).keys();
  const register = async () => {
    for (const index of left) await daemon.register(NOWHERE, tenantName(index % TENANTS));
  };
  await Promise.all(Array.from({ length: 50 }, register));
  await daemon.stop();
  fill(join(dir, "data/webhookd.db"), events);
  renameSync(dir, kept);
  return kept;
}

/**
 * In each hundred deliveries, two have failed, one waits, and one was cancelled. Some failed before they were
 * delivered.
 */
function fill(file: string, events: number): void {
  const db = new Database(file);
  db.pragma("synchronous = OFF");
  db.pragma("cache_size = -400000");
  const numbers = db.prepare("SELECT number, tenant FROM endpoint ORDER BY number").all() as {
    number: number;
    tenant: number;
  }[];
  const byTenant = Map.groupBy(numbers, ({ tenant }) => tenant);
  const tenants = [...byTenant.keys()];
  const type = db.prepare("INSERT OR IGNORE INTO event_type (name) VALUES (?)");
  for (const name of TYPES) type.run(name);
  const types = TYPES.map(
    (name) => db.prepare("SELECT num FROM event_type WHERE name = ?").pluck().get(name) as number,
  );
  db.prepare("INSERT OR IGNORE INTO url (num, name) VALUES (1, ?)").run(NOWHERE);
  const event = db.prepare(
    `INSERT INTO event (key, random, tenant, type, created_at, test, unmatched, body_hash, body)
     VALUES (?, ?, ?, ?, ?, 0, ?, ?, ?)`,
  );
  const delivery = db.prepare(
    `INSERT INTO delivery (event, endpoint, status, attempts, round, retry, trigger, due_at)
     VALUES (?, ?, ?, ?, 1, 0, 0, ?)`,
  );
  const attempt = db.prepare(
    `INSERT INTO attempt (event, endpoint, number, url, trigger, round, retry, started_at, duration_ms, outcome,
       status_code, error, secret_version, truncated, body, details)
     VALUES (?, ?, ?, 1, 0, 1, 0, ?, 5, ?, ?, ?, 1, 0, ?, ?)`,
  );
  const details = JSON.stringify({ detail: "x".repeat(80), remoteAddress: null, phases: {}, responseHeaders: {} });
  const answer = Buffer.from("no".repeat(60));
  const random = new RandomChars(randomBytes);
  const begun = Date.now() - PERIOD_MS;
  // Draw the same numbers each time, so that all stores are alike.
  let state = 1;
  const draw = () => (state = (state * 48271) % 2147483647) / 2147483647;
  const fails = (key: number, endpoint: number, number: number, at: number) => {
    const kind = draw();
    const [code, error] = kind < 0.2 ? [null, "timeout"] : [kind < 0.9 ? 503 : 404, "http_status"];
    attempt.run(key, endpoint, number, at, 1, code, error, answer, details);
  };
  const insert = (index: number) => {
    const at = begun + Math.floor((index * PERIOD_MS) / events);
    const key = firstKeyAt(at) + (index % 7);
    const tenant = tenants[Math.floor(draw() * tenants.length)]!;
    const chars = random.next();
    const body = Buffer.from(JSON.stringify({ id: eventId(key, chars), text: "x".repeat(250) }));
    const kind = draw();
    const unmatched = kind > 0.999;
    const chosen = types[draw() < 0.0005 ? 4 : Math.floor(draw() * 4)];
    event.run(key, chars, tenant, chosen, at, unmatched ? 1 : 0, hash("sha256", body, "buffer"), body);
    if (unmatched) return;
    const own = byTenant.get(tenant)!;
    const { number } = own[Math.floor(draw() * own.length)]!;
    const status = kind < 0.02 ? FAILED : kind < 0.03 ? WAITING : kind < 0.04 ? CANCELLED : DELIVERED;
    const failed = status === DELIVERED ? (draw() < 0.05 ? 1 : 0) : status === CANCELLED ? 0 : 2;
    const attempts = failed + (status === DELIVERED ? 1 : 0);
    delivery.run(key, number, status, attempts, status === WAITING ? FAR + index : null);
    for (let count = 1; count <= failed; count++) fails(key, number, count, at + count);
    if (status === DELIVERED) attempt.run(key, number, attempts, at + attempts, 0, 200, null, null, null);
  };
  for (let from = 0; from < events; from += 50_000) {
    db.transaction(() => {
      for (let index = from; index < Math.min(from + 50_000, events); index++) insert(index);
    })();
  }
  const meta = new Meta(db);
  meta.causesNoted = Number.MAX_SAFE_INTEGER;
  const causes = new Causes(db);
  while (db.transaction(() => causes.noteSome(meta))());
  db.pragma("wal_checkpoint(TRUNCATE)");
  db.close();
}
