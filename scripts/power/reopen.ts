/**
 * A process that checks one rebuilt disk after another: each message is an Expectation, each reply a Verdict.
 *
 * On most disks it opens the store as the daemon does at its start, and compares its contents and what would be sent.
 * On the others it starts the whole daemon: first paused, so that it shows what the disk holds; then it sends all open
 * deliveries.
 */
import { createHash } from "node:crypto";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { systemClock } from "../../src/clock.ts";
import { loadConfig } from "../../src/config.ts";
import { startDaemon, type Daemon } from "../../src/daemon.ts";
import { silentLog } from "../../src/log.ts";
import { openStore } from "../../src/store/opening/open.ts";
import type { Page, PageQuery, Store } from "../../src/store/store.ts";
import { startThread } from "../../src/thread.ts";
import { Api, type ShownEvent } from "../crash/api.ts";
import { databaseFaults } from "../crash/database.ts";
import { monotonic } from "../crash/journal.ts";
import { LADDER } from "../crash/site.ts";
import { judge, wholeBackups, type Contents } from "./contents.ts";
import type { Expectation, Verdict } from "./promises.ts";
import { inputs } from "../../test/config/inputs.ts";
import { unawaited } from "../../src/domain/unawaited.ts";

const QUIET_LIMIT_MS = 60_000;
const POLL_MS = 10;
const PAGE = 200;
const DISK_FLOOR = 1_048_576;
/** The number of disks to remember, because the same one may come again with more promises. */
const REMEMBERED = 8;

const seen = new Map<string, Contents>();

process.on("message", (expectation: Expectation) => {
  unawaited(check(expectation).then((verdict) => process.send!(verdict)));
});

async function check(expectation: Expectation): Promise<Verdict> {
  const { disk, home, data, promised, starts } = expectation;
  const before = seen.get(disk);
  if (before !== undefined && !starts) return judge(before, expectation);
  // A power cut restarts the machine, but this one was not restarted.
  rmSync(join(data, "webhookd.pid"), { force: true });
  const found = await (starts ? started(data) : opened(data)).catch((error: unknown) => ({ wrong: [textOf(error)] }));
  if (!("contents" in found)) return { lost: promised.map((one) => JSON.stringify(one)), wrong: found.wrong };
  const wrong = [...found.wrong];
  try {
    wrong.push(...databaseFaults({ dir: home, data: data.slice(home.length + 1), program: [], compileCache: "" }));
  } catch (error) {
    wrong.push(textOf(error));
  }
  if (found.contents === null) return { lost: [], wrong };
  if (wrong.length === 0 && !starts) seen.set(disk, found.contents);
  if (seen.size > REMEMBERED) seen.delete(seen.keys().next().value!);
  const verdict = judge(found.contents, expectation);
  return { lost: verdict.lost, wrong: [...verdict.wrong, ...wrong] };
}

/** The contents before anything was sent, and the faults after that. Rejects if the start fails. */
interface Found {
  /** Null if nobody could look. That is a fault, and says nothing about the contents. */
  readonly contents: Contents | null;
  readonly wrong: readonly string[];
}

async function opened(data: string): Promise<Found> {
  const faults: string[] = [];
  const { store } = await openStore({
    dir: data,
    create: true,
    diskFloor: DISK_FLOOR,
    clock: systemClock,
    onFault: (error) => faults.push(textOf(error)),
    startBackup: (given) => startThread("backup", given),
  });
  try {
    const all = { tenant: null, limit: 100, order: "oldest" } as const;
    const endpoints = await pagesOf((more) => store.endpoints.list({ ...all, ...more }));
    const keys = await pagesOf((more) => store.keys.list({ ...all, ...more }));
    const events = await pagesOf((more) => store.reads.listWholeEvents({ ...all, ...more }));
    const contents: Contents = {
      endpoints: new Map(endpoints.map(({ id, description }) => [id, description])),
      keys: new Set(keys.map(({ id }) => id)),
      backups: wholeBackups(data),
      events: new Map(events.map(({ id, deliveries }) => [id, deliveries])),
      pending: await pendingIn(store),
    };
    return { contents, wrong: faults };
  } finally {
    await store.close();
  }
}

/** Returns everything that would ever be sent. */
async function pendingIn(store: Store): Promise<Map<string, string>> {
  const pending = new Map<string, string>();
  for (const endpoint of (await store.deliveries.earliestDue(null, 1000)).keys()) {
    let after = { dueAt: Number.NEGATIVE_INFINITY, event: "" };
    for (let isOver = false; !isOver;) {
      const { claims } = await store.deliveries.due(endpoint, after, Number.MAX_SAFE_INTEGER, PAGE);
      for (const { body, corrupt, delivery } of claims) {
        pending.set(delivery, corrupt === true ? "corrupt" : createHash("sha256").update(body).digest("hex"));
      }
      after = claims.at(-1) ?? after;
      isOver = claims.length < PAGE;
    }
  }
  return pending;
}

async function started(data: string): Promise<Found> {
  const daemon = await start(data);
  const wrong: string[] = [];
  let contents: Contents | null = null;
  try {
    const api = new Api(daemon.url, readFileSync(join(data, "admin.key"), "utf8").trim());
    const endpoints = await Array.fromAsync(api.all<ShownEndpoint>("/v1/webhooks?limit=100"));
    const keys = await Array.fromAsync(api.all<{ id: string }>("/v1/keys?limit=100"));
    contents = {
      endpoints: new Map(endpoints.map(({ id, description }) => [id, description])),
      keys: new Set(keys.map(({ id }) => id)),
      backups: wholeBackups(data),
      events: await eventsOf(api),
      pending: null,
    };
    await api.post("/v1/resume", "");
    await untilQuiet(api);
    for (const { id, status } of [...(await eventsOf(api)).values()].flat()) {
      if (status === "pending") wrong.push(`${id} is still pending`);
    }
  } catch (error) {
    wrong.push(textOf(error));
  } finally {
    await daemon.stop();
  }
  return { contents, wrong };
}

interface ShownEndpoint {
  readonly id: string;
  readonly description: string | null;
}

function start(data: string): Promise<Daemon> {
  const settings = {
    DATA_DIR: data,
    SERVER_LISTEN: "127.0.0.1:0",
    DATA_DISK_FLOOR: "1MiB",
    DELIVERY_THREADS: "0",
    RETRY_DELAYS: LADDER.map((ms) => `${ms}ms`).join(","),
  };
  const config = loadConfig(
    inputs({
      flags: { dev: true, paused: true },
      env: Object.fromEntries(Object.entries(settings).map(([name, value]) => [`WEBHOOKD_${name}`, value])),
      cwd: data,
      home: data,
      platform: process.platform,
    }),
  );
  return startDaemon(config, { log: silentLog });
}

async function eventsOf(api: Api): Promise<Map<string, ShownEvent["deliveries"]>> {
  const events = await Array.fromAsync(api.events());
  return new Map(events.map(({ id, deliveries }) => [id, deliveries]));
}

async function untilQuiet(api: Api): Promise<void> {
  const deadline = monotonic() + QUIET_LIMIT_MS;
  while ((await api.hasPending()) && monotonic() < deadline) await sleep(POLL_MS);
}

async function pagesOf<T>(read: (more: Pick<PageQuery, "cursor">) => Promise<Page<T>>): Promise<T[]> {
  const all: T[] = [];
  let cursor: string | null = null;
  do {
    const page: Page<T> = await read(cursor === null ? {} : { cursor });
    all.push(...page.data);
    cursor = page.nextCursor;
  } while (cursor !== null);
  return all;
}

function textOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? `, for: ${error.cause.message}` : "";
  return error instanceof Error ? `${error.stack!}${cause}` : String(error);
}
