/**
 * Measures the cost of one publish under a limit on pending deliveries, by the tenant's backlog. Works with either
 * store.
 */
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { systemClock } from "../../src/clock.ts";
import { DEFAULT_SETTINGS } from "../../src/domain/endpoints/endpoint.ts";
import type { EventDraft } from "../../src/domain/events/event.ts";
import { newId } from "../../src/domain/id.ts";
import { readOrMakeAdminKey, readOrMakeSecretKey } from "../../src/store/files/key-files.ts";
import { openStore } from "../../src/store/opening/open.ts";
import { openPostgres } from "../../src/store/postgres/store.ts";
import { Box } from "../../src/store/rows/box.ts";
import type { Store } from "../../src/store/store.ts";
import { startThread } from "../../src/thread.ts";
import { startServer } from "../../test/harness/postgres.ts";
import { monotonic } from "./ledger.ts";
import { atMost, Measures, percentile, ratios, type Measure } from "./measure.ts";
import type { BenchOptions } from "./options.ts";
import { EVENT_TYPE, NO_ROOM } from "./payload.ts";
import { remove, scratch } from "./scratch.ts";

const LEVELS = [0, 100_000, 300_000];
const BATCH = 1000;
const PUBLISHES = 200;
const ROUNDS = 3;
/** Never reached, but each publish is counted against it. */
const LIMIT = 1_000_000_000;

export async function pending(options: BenchOptions): Promise<Measure[]> {
  const { note } = options;
  const dir = scratch();
  const server = options.store === "postgres" ? await startServer() : null;
  if (options.store === "postgres" && server === null) {
    note("skipped: there is no PostgreSQL for this platform to publish to");
    return [];
  }
  try {
    const name = `pending_${process.pid}`;
    if (server !== null) await server.ask(`CREATE DATABASE ${name}`);
    const store = await (server === null ? inFile(dir) : inDatabase(dir, server.urlOf(name)));
    try {
      return await measure(store, server === null ? "pending" : "pending on PostgreSQL", options);
    } finally {
      await store.close();
    }
  } finally {
    await server?.stop();
    remove(dir);
  }
}

/** Uses a tenant for each level, so that publishes take turns and the machine is the same for all. */
async function measure(store: Store, scenario: string, { rounds, note }: BenchOptions): Promise<Measure[]> {
  for (const level of LEVELS) {
    note(`filling: ${level} deliveries pending`);
    await addEndpoint(store, tenantOf(level));
    for (let left = level; left > 0; left -= BATCH) await publish(store, tenantOf(level), BATCH);
  }
  const p50s = new Map(LEVELS.map((level) => [level, [] as number[]]));
  // The first publishes prepare their statements, so they do not count.
  for (let round = 0; round <= (rounds ?? ROUNDS); round++) {
    const took = new Map(LEVELS.map((level) => [level, [] as number[]]));
    for (let at = 0; at < PUBLISHES; at++) {
      for (const level of at % 2 === 0 ? LEVELS : LEVELS.toReversed()) {
        const begun = monotonic();
        await publish(store, tenantOf(level), 1);
        took.get(level)!.push(monotonic() - begun);
      }
    }
    if (round === 0) continue;
    for (const [level, values] of took) p50s.get(level)!.push(percentile(values, 0.5));
    note(`round ${round}: ${LEVELS.map((level) => `${level}: ${p50s.get(level)!.at(-1)!.toFixed(2)} ms`).join(", ")}`);
  }
  const measures = new Measures(scenario);
  for (const [level, values] of p50s) {
    measures.add(`${level} pending: publish, p50`, "ms", values);
    if (level > 0) measures.add(`${level} pending ÷ none`, "×", ratios(values, p50s.get(0)!), atMost("", 1.2));
  }
  return measures.all;
}

const tenantOf = (level: number) => `has${level}`;

async function addEndpoint(store: Store, tenant: string): Promise<void> {
  const now = systemClock.now();
  const id = newId("ep", now, randomBytes(10));
  const own = {
    id,
    tenant,
    url: "https://receiver.example/hook",
    events: [EVENT_TYPE],
    signingSecret: "whsec_c2VjcmV0",
  };
  await store.endpoints.add({ ...DEFAULT_SETTINGS, ...own }, LEVELS.length, now);
}

async function publish(store: Store, tenant: string, events: number): Promise<void> {
  const now = systemClock.now();
  const draft: EventDraft = { tenant, type: EVENT_TYPE, createdAt: now, data: Buffer.from('{"n":1}') };
  await store.events.publish(
    Array.from({ length: events }, () => draft),
    now,
    NO_ROOM,
  );
}

async function inFile(dir: string): Promise<Store> {
  const { store } = await openStore({
    dir,
    create: true,
    diskFloor: 0,
    clock: systemClock,
    maxPendingPerTenant: LIMIT,
    startBackup: (data) => startThread("backup", data),
    onFault: (error) => {
      throw error;
    },
  });
  return store;
}

function inDatabase(dir: string, url: string): Promise<Store> {
  const file = join(dir, "secret.key");
  return openPostgres({
    url,
    box: new Box(readOrMakeSecretKey({ file, mayCreate: true, random: randomBytes }), randomBytes),
    secretKeyFile: file,
    clock: systemClock,
    random: randomBytes,
    maxPendingPerTenant: LIMIT,
    shares: new Map(),
    adminKey: () => readOrMakeAdminKey(join(dir, "admin.key"), systemClock.now(), randomBytes),
  });
}
