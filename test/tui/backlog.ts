/**
 * The backlog of an outage, written into the database directly: three endpoints that failed, each for a cause of its
 * own, and deliveries that wait for them.
 */
import { hash, randomBytes } from "node:crypto";
import { join } from "node:path";
import Database from "better-sqlite3";
import { Causes } from "../../src/store/sqlite/attempts/causes.ts";
import { Meta } from "../../src/store/sqlite/engine/meta.ts";
import { eventId, firstKeyAt, RandomChars, FAILED, WAITING } from "../../src/store/rows/codes.ts";

export const CAUSES = [
  { status: 503, error: "http_status" },
  { status: 404, error: "http_status" },
  { status: null, error: "timeout" },
] as const;

const HOUR_MS = 3_600_000;
/** The event's id is filled in at the beginning. */
const ENVELOPE = `{"id":"evt_${"0".repeat(26)}","type":"budget.exceeded","created_at":"2026-11-20T10:00:00.000Z","data":{}}`;

/**
 * Fills the store of a stopped daemon with three endpoints. It must know the tenant and event type, but have no events.
 */
export function fillBacklog(dir: string, { failed, pending }: { failed: number; pending: number }): void {
  const db = new Database(join(dir, "webhookd.db"));
  db.pragma("synchronous = OFF");
  const endpoints = db.prepare<[], { number: number; url: string }>("SELECT number, url FROM endpoint").all();
  const tenant = db.prepare("SELECT num FROM tenant WHERE name = 'default'").pluck().get();
  const type = db.prepare("SELECT num FROM event_type WHERE name = 'budget.exceeded'").pluck().get();
  const insertUrl = db.prepare("INSERT INTO url (num, name) VALUES (?, ?)");
  const insertEvent = db.prepare(
    `INSERT INTO event (key, random, tenant, type, created_at, test, unmatched, body_hash, body)
     VALUES (?, ?, ?, ?, ?, 0, 0, ?, ?)`,
  );
  const insertDelivery = db.prepare(
    `INSERT INTO delivery (event, endpoint, status, attempts, round, retry, trigger, due_at)
     VALUES (?, ?, ?, 1, 1, ?, 0, ?)`,
  );
  const insertAttempt = db.prepare(
    `INSERT INTO attempt (event, endpoint, number, url, trigger, round, retry, started_at, duration_ms, outcome,
       status_code, error, secret_version, truncated, body)
     VALUES (?, ?, 1, ?, 0, 1, 0, ?, 80, 1, ?, ?, 1, 0, NULL)`,
  );
  const random = new RandomChars(randomBytes);
  const now = Date.now();
  const firstKey = firstKeyAt(now - HOUR_MS);
  db.transaction(() => {
    for (const { number, url } of endpoints) insertUrl.run(number, url);
    for (let index = 0; index < failed + pending; index++) {
      const key = firstKey + index;
      const chars = random.next();
      const body = Buffer.from(ENVELOPE);
      body.write(eventId(key, chars), '{"id":"'.length);
      const { number } = endpoints[index % endpoints.length]!;
      const { status, error } = CAUSES[index % CAUSES.length]!;
      const isFailed = index < failed;
      insertEvent.run(key, chars, tenant, type, now - HOUR_MS, hash("sha256", body, "buffer"), body);
      insertDelivery.run(key, number, isFailed ? FAILED : WAITING, isFailed ? 0 : 1, isFailed ? null : now + HOUR_MS);
      insertAttempt.run(key, number, number, now - HOUR_MS, status, error);
    }
  })();
  // The daemon finds failures by what it notes of each delivery, so these are noted too.
  const meta = new Meta(db);
  meta.causesNoted = Number.MAX_SAFE_INTEGER;
  const causes = new Causes(db);
  while (db.transaction(() => causes.noteSome(meta))());
  db.pragma("wal_checkpoint(TRUNCATE)");
  db.close();
}
