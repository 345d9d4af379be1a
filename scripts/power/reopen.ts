/**
 * A process that starts the daemon on one rebuilt disk after another: each message is an Expectation, each answer a
 * Verdict. The daemon starts paused, so that what it shows is what the disk holds; then it sends all that is open.
 */
import Database from "better-sqlite3";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { loadConfig } from "../../src/config.ts";
import { startDaemon, type Daemon } from "../../src/daemon.ts";
import { silentLog } from "../../src/log.ts";
import { Api, type ShownDelivery, type ShownEvent } from "../crash/api.ts";
import { databaseFaults } from "../crash/database.ts";
import { monotonic } from "../crash/journal.ts";
import { LADDER } from "../crash/site.ts";
import type { Expectation, Promised, Verdict } from "./promises.ts";

const QUIET_LIMIT_MS = 60_000;
const POLL_MS = 10;

process.on("message", (expectation: Expectation) => {
  void check(expectation).then((verdict) => process.send!(verdict));
});

async function check({ home, data, promised, succeeded }: Expectation): Promise<Verdict> {
  const lost: string[] = [];
  const wrong: string[] = [];
  try {
    const daemon = await start(data).catch((error: unknown) => {
      lost.push(...promised.map((one) => JSON.stringify(one)));
      throw error;
    });
    try {
      const api = new Api(daemon.url, readFileSync(join(data, "admin.key"), "utf8").trim());
      const before = await eventsOf(api);
      lost.push(...(await missing(promised, before, { api, data })));
      const answered = new Set(succeeded);
      for (const { id, status } of deliveriesOf(before)) {
        if (status === "delivered" && !answered.has(id)) wrong.push(`${id} is delivered, and nobody answered 2xx`);
      }
      await api.post("/v1/resume", "");
      await untilQuiet(api);
      for (const { id, status } of deliveriesOf(await eventsOf(api))) {
        if (status === "pending") wrong.push(`${id} is still pending`);
      }
    } finally {
      await daemon.stop();
    }
    wrong.push(...databaseFaults({ dir: home, data: data.slice(home.length + 1), program: [], compileCache: "" }));
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? `, for: ${error.cause.message}` : "";
    wrong.push(error instanceof Error ? `${error.stack!}${cause}` : String(error));
  }
  return { lost, wrong };
}

function start(data: string): Promise<Daemon> {
  const settings = {
    DATA_DIR: data,
    SERVER_LISTEN: "127.0.0.1:0",
    DATA_DISK_FLOOR: "1MiB",
    DELIVERY_THREADS: "0",
    RETRY_DELAYS: LADDER.map((ms) => `${ms}ms`).join(","),
  };
  const config = loadConfig({
    flags: { dev: true, paused: true },
    env: Object.fromEntries(Object.entries(settings).map(([name, value]) => [`WEBHOOKD_${name}`, value])),
    cwd: data,
    home: data,
    root: false,
    platform: process.platform,
    checkout: null,
    readFile: () => null,
    exists: () => false,
  });
  return startDaemon(config, { log: silentLog });
}

async function eventsOf(api: Api): Promise<Map<string, ShownEvent>> {
  const events = new Map<string, ShownEvent>();
  for await (const event of api.events()) events.set(event.id, event);
  return events;
}

function deliveriesOf(events: ReadonlyMap<string, ShownEvent>): ShownDelivery[] {
  return [...events.values()].flatMap((event) => event.deliveries);
}

async function untilQuiet(api: Api): Promise<void> {
  const deadline = monotonic() + QUIET_LIMIT_MS;
  while ((await api.hasPending()) && monotonic() < deadline) await sleep(POLL_MS);
}

/** Everything that was answered and is not so. */
async function missing(
  promised: readonly Promised[],
  events: ReadonlyMap<string, ShownEvent>,
  { api, data }: { api: Api; data: string },
): Promise<string[]> {
  const endpoints = await collect(api, "/v1/webhooks?limit=100");
  const keys = await collect(api, "/v1/keys?limit=100");
  const statuses = new Map(deliveriesOf(events).map(({ id, status }) => [id, status]));
  const removed = new Set(promised.flatMap((one) => (one.kind === "removed" ? one.endpoint : [])));
  const isKept = (one: Promised): boolean => {
    switch (one.kind) {
      case "endpoint":
        return endpoints.has(one.id) || removed.has(one.id);
      case "described":
        return removed.has(one.endpoint) || Number(endpoints.get(one.endpoint)?.description) >= one.version;
      case "removed":
        return !endpoints.has(one.endpoint);
      case "key":
        return keys.has(one.id);
      case "backup":
        return isWhole(join(data, "backups", one.name));
      case "event":
        return events.get(one.id)?.deliveries.length === one.deliveries;
      case "settled":
        return statuses.get(one.delivery) === one.status;
    }
  };
  return promised.filter((one) => !isKept(one)).map((one) => JSON.stringify(one));
}

type Shown = { readonly id: string; readonly description?: string };

async function collect(api: Api, path: string): Promise<Map<string, Shown>> {
  const all = new Map<string, Shown>();
  for await (const one of api.all<Shown>(path)) all.set(one.id, one);
  return all;
}

function isWhole(file: string): boolean {
  if (!existsSync(file)) return false;
  const db = new Database(file, { readonly: true });
  try {
    return db.pragma("quick_check", { simple: true }) === "ok";
  } catch {
    return false;
  } finally {
    db.close();
  }
}
