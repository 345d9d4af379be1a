import { join } from "node:path";
import Database, { type Statement } from "better-sqlite3";
import { expect, it, vi } from "vitest";
import { FailureGroups, type FailureGroup } from "../../../../src/domain/deliveries/failure.ts";
import { firstKeyAt, instantOf, Interned } from "../../../../src/store/sqlite/numbers/codes.ts";
import { EndpointIndex } from "../../../../src/store/sqlite/numbers/endpoint-index.ts";
import { Failures } from "../../../../src/store/sqlite/statistics/failures.ts";
import { addEndpoint, draft, ended, room, START } from "../../fixtures.ts";
import { open, openSqlite, temporaryDirectory } from "../../stores.ts";

const query = { tenant: null, since: START, stepMs: 1000, parts: 5, limit: 100 };

it("is asked of the file a few hundred deliveries at a time, and not one by one", async () => {
  const { store } = await openSqlite();
  for (let count = 0; count < 3; count++) await addEndpoint(store);
  const published = await store.events.publish(Array(400).fill(draft()), START, room);
  const claims = published.flatMap(({ fresh }) => fresh);
  await store.deliveries.record(claims.map((claim) => ended(claim, { status: "failed" })));
  const asked = askedOfFile();
  const report = await store.statistics.failures(query);
  expect(report!.groups.map(({ failed }) => failed)).toEqual([400, 400, 400]);
  expect(asked()).toBeLessThan(claims.length / 100);
  expect(asked()).toBeGreaterThan(1);
});

/** More than are counted in one slice; thousands of them failed in one millisecond. */
const MANY = 45_000;

it("counts many failures along an index, and hands out few rows of them", { timeout: 60_000 }, async () => {
  const { dir, endpoint, key, rows, real, events } = await manyFailures(MANY);
  const since = instantOf(key - MANY / 2);
  const expected = new FailureGroups({ ...query, since });
  const [error, statusCode] = ["http_status", 500] as const;
  for (const { event, firstAt, lastAt } of [...rows, ...real]) {
    if (event < firstKeyAt(since)) continue;
    expected.add({ endpoint, status: "failed", error, statusCode, event, firstAt, lastAt });
  }
  const store = await open({ dir });
  const read = rowsOfFile();
  const report = await store.statistics.failures({ ...query, since });
  expect(read()).toBeLessThan(MANY / 30);
  const [{ sampleAttempt, ...group }] = report!.groups as [FailureGroup];
  const [{ sampleAttempt: _, ...naive }] = expected.largest(1, () => "") as [FailureGroup];
  expect(group).toEqual({ ...naive, error: group.error, statusCode: group.statusCode });
  expect(events).toContain((await store.reads.getAttempt(null, sampleAttempt))!.event);
  await store.close();
});

it(
  "counts no delivery twice that fails again meanwhile, and goes on without what is pruned",
  { timeout: 60_000 },
  async () => {
    const { dir, key, rows } = await manyFailures(60_000);
    const db = new Database(join(dir, "webhookd.db"));
    const tenants = new Interned(db, "tenant");
    const index = new EndpointIndex(db, tenants, new Interned(db, "event_type"));
    const since = instantOf(key - 100_000);
    const failsAt = db.prepare("UPDATE delivery SET failed_at = ? WHERE event = ?");
    failsAt.run(START - 3000, key);
    const slices = new Failures(db, { index, tenants }).report({ ...query, since });
    expect(slices.next().done).toBe(false);
    failsAt.run(START + 3_600_000, key);
    expect(reportOf(slices)!.groups[0]!.failed).toBe(rows.length + 2);

    const others = new Failures(db, { index, tenants }).report({ ...query, since });
    others.next();
    db.pragma("foreign_keys = off");
    db.exec("DELETE FROM delivery; DELETE FROM attempt; DELETE FROM event");
    expect(reportOf(others)!.groups).toEqual([]);
    db.close();
  },
);

function reportOf<T>(slices: Generator<unknown, T>): T {
  for (let step = slices.next(); ; step = slices.next()) if (step.done === true) return step.value;
}

/** Deliveries that have failed for good, of one endpoint and cause: two through the store, and `count` rows before them. */
async function manyFailures(count: number) {
  const dir = temporaryDirectory();
  const before = await open({ dir });
  const endpoint = await addEndpoint(before);
  const published = await before.events.publish([draft(), draft()], START, room);
  const claims = published.flatMap(({ fresh }) => fresh);
  await before.deliveries.record(claims.map((claim) => ended(claim, { status: "failed" })));
  await before.close();
  const db = new Database(join(dir, "webhookd.db"));
  const real = db
    .prepare(
      "SELECT event, endpoint AS number, cause, failed_at AS lastAt, failing_since AS firstAt FROM delivery ORDER BY event",
    )
    .all() as Record<"event" | "number" | "cause" | "lastAt" | "firstAt", number>[];
  const { event: key, number, cause, lastAt: failedAt } = real[0]!;
  const rows = Array.from({ length: count }, (_, index) => {
    const at = index % 3 === 0 ? START + 1500 : START - 2000 + ((index * 7919) % 9000);
    return { event: key - 1 - index, lastAt: Math.min(at, failedAt - 1), firstAt: at - 100 };
  });
  const insert = db.prepare(
    `INSERT INTO delivery (event, endpoint, status, attempts, round, retry, trigger, cause, failed_at, failing_since)
     VALUES (?, ?, 3, 1, 1, 0, 0, ?, ?, ?)`,
  );
  db.transaction(() => {
    for (const { event, lastAt, firstAt } of rows) insert.run(event, number, cause, lastAt, firstAt);
  })();
  db.close();
  return { dir, endpoint, key, rows, real, events: claims.map(({ event }) => event) };
}

/** How many rows statements have handed out since. */
function rowsOfFile(): () => number {
  const db = new Database(":memory:");
  const prototype = Object.getPrototypeOf(db.prepare("SELECT 1")) as Statement;
  db.close();
  const all = vi.spyOn(prototype, "all");
  return () => all.mock.results.reduce((sum, { value }) => sum + (value as unknown[]).length, 0);
}

/** How many times statements have been run since. */
function askedOfFile(): () => number {
  const db = new Database(":memory:");
  const prototype = Object.getPrototypeOf(db.prepare("SELECT 1")) as Statement;
  db.close();
  const spies = (["get", "all", "iterate", "run"] as const).map((name) => vi.spyOn(prototype, name));
  return () => spies.reduce((sum, { mock }) => sum + mock.calls.length, 0);
}
