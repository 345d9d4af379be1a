/**
 * Creates stores with many waiting deliveries. They are written without the daemon, which would take minutes, and are
 * kept between runs.
 */
import { createHash, hash, randomBytes } from "node:crypto";
import { copyFileSync, existsSync, fsyncSync, mkdirSync, openSync, closeSync, readdirSync, renameSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { MIGRATIONS } from "../../src/store/sqlite/engine/schema.ts";
import { DaemonUnderTest } from "./daemon.ts";
import { ENVELOPE, EVENT_TYPE } from "./payload.ts";
import { CACHE, scratch } from "./scratch.ts";
import { eventId, firstKeyAt, RandomChars, DELIVERED, triggerCode, WAITING } from "../../src/store/rows/codes.ts";

export interface SeedPlan {
  /** The number of events, each with one delivery. */
  readonly pending: number;
  readonly endpoints: number;
  readonly tenant: string;
  /**
   * `retry`: between rungs, and due long after any measurement. `due`: a retry whose time has come. `delivered` and
   * `old`: no longer pending; the old ones are so old that retention removes them.
   */
  readonly as: "retry" | "due" | "replay" | "delivered" | "old";
}

const FAR = Date.UTC(2100, 0, 1);
const DAY_MS = 86_400_000;
/** Older than `[retention] delivered`. */
const OLD_MS = 40 * DAY_MS;
const ANSWER = Buffer.from("ok");
/** The place of the envelope's id, which comes first. */
const ID_AT = '{"id":"'.length;
const CALLERS = 50;
/** The URL, until a copy gets the URL of a receiver. */
const NOWHERE = "http://127.0.0.1:61999/nowhere";

/** Returns the directory of the store, which is created if it does not exist. */
export async function seeded(plan: SeedPlan, note: (text: string) => void): Promise<string> {
  const name = createHash("sha256")
    .update(JSON.stringify([plan, MIGRATIONS]))
    .digest("hex")
    .slice(0, 12);
  const kept = join(CACHE, `store-${name}`);
  if (existsSync(kept)) return kept;
  note(`seeding a store: ${plan.pending} events (${plan.as}), ${plan.endpoints} endpoints`);
  const dir = scratch();
  const daemon = await DaemonUnderTest.start({ dir, threads: null });
  const left = Array.from({ length: plan.endpoints }).keys();
  const register = async () => {
    for (const _ of left) await daemon.register(NOWHERE, plan.tenant);
  };
  await Promise.all(Array.from({ length: CALLERS }, register));
  await daemon.stop();
  fill(join(dir, "data/webhookd.db"), plan);
  // Another bench may have been faster. Then this directory is removed with the process.
  if (!existsSync(kept)) renameSync(dir, kept);
  return kept;
}

/** Makes a copy that may be changed. If `url` is given, all of its endpoints get it. */
export function copyStore(kept: string, dir: string, url?: string): void {
  const data = join(dir, "data");
  mkdirSync(data, { mode: 0o700 });
  for (const name of readdirSync(join(kept, "data"))) {
    // The lock and the socket belong to the daemon that made the store.
    if (!/\.(db|key)$|^STORE$/.test(name)) continue;
    copyFileSync(join(kept, "data", name), join(data, name));
  }
  // Without this, the first measured commits would wait for it.
  const file = openSync(join(data, "webhookd.db"), "r+");
  fsyncSync(file);
  closeSync(file);
  if (url === undefined) return;
  const db = new Database(join(data, "webhookd.db"));
  db.prepare("UPDATE endpoint SET url = ?").run(url);
  db.close();
}

function fill(file: string, { pending, as, tenant }: SeedPlan): void {
  const db = new Database(file);
  db.pragma("synchronous = OFF");
  const endpoints = db.prepare<[], number>("SELECT number FROM endpoint ORDER BY number").pluck().all();
  const tenantNumber = db.prepare("SELECT num FROM tenant WHERE name = ?").pluck().get(tenant);
  const typeNumber = db.prepare("SELECT num FROM event_type WHERE name = ?").pluck().get(EVENT_TYPE);
  const insertEvent = db.prepare(
    `INSERT INTO event (key, random, tenant, type, created_at, test, unmatched, body_hash, body)
     VALUES (?, ?, ?, ?, ?, 0, 0, ?, ?)`,
  );
  const insertDelivery = db.prepare(
    `INSERT INTO delivery (event, endpoint, status, attempts, round, retry, trigger, due_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const insertAttempt = db.prepare(
    `INSERT INTO attempt (event, endpoint, number, url, trigger, round, retry, started_at, duration_ms, outcome,
       status_code, secret_version, truncated, body)
     VALUES (?, ?, 1, 1, 0, 1, 0, ?, 5, 0, 200, 1, 0, ?)`,
  );
  const random = new RandomChars(randomBytes);
  const over = as === "delivered" || as === "old";
  const now = Date.now() - (as === "old" ? OLD_MS : 0);
  const firstKey = firstKeyAt(now) - pending;
  const replay = as === "replay";
  const insert = (index: number) => {
    const key = firstKey + index;
    const chars = random.next();
    const body = Buffer.from(ENVELOPE);
    body.write(eventId(key, chars), ID_AT);
    // The due times are unrelated to the order of the events, like retries of different rungs.
    const dueAt = as === "retry" ? FAR + ((index * 7919) % DAY_MS) : now - pending + index;
    insertEvent.run(key, chars, tenantNumber, typeNumber, now, hash("sha256", body, "buffer"), body);
    const endpoint = endpoints[index % endpoints.length];
    if (over) {
      insertDelivery.run(key, endpoint, DELIVERED, 1, 1, 0, triggerCode("ladder"), null);
      insertAttempt.run(key, endpoint, now, ANSWER);
      return;
    }
    const retry = replay ? 0 : 1 + (index % 5);
    insertDelivery.run(
      key,
      endpoint,
      WAITING,
      replay ? 7 : retry,
      replay ? 2 : 1,
      retry,
      triggerCode(replay ? "replay" : "ladder"),
      dueAt,
    );
  };
  db.transaction(() => {
    if (over) db.prepare("INSERT INTO url (num, name) VALUES (1, ?)").run(NOWHERE);
    for (let index = 0; index < pending; index++) insert(index);
  })();
  db.pragma("wal_checkpoint(TRUNCATE)");
  db.close();
}
