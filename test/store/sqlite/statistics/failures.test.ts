import { join } from "node:path";
import Database, { type Statement } from "better-sqlite3";
import { expect, it, vi } from "vitest";
import { FailureGroups, type FailureGroup } from "../../../../src/domain/deliveries/failure.ts";
import { firstKeyAt, instantOf } from "../../../../src/store/sqlite/numbers/codes.ts";
import type { Publication } from "../../../../src/store/store.ts";
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
  const dir = temporaryDirectory();
  const before = await open({ dir });
  const endpoint = await addEndpoint(before);
  const [{ fresh }] = (await before.events.publish([draft()], START, room)) as [Publication];
  await before.deliveries.record([ended(fresh[0]!, { status: "failed" })]);
  await before.close();
  const db = new Database(join(dir, "webhookd.db"));
  const { key, number, cause, failedAt } = db
    .prepare("SELECT event AS key, endpoint AS number, cause, failed_at AS failedAt FROM delivery")
    .get() as Record<"key" | "number" | "cause" | "failedAt", number>;
  const rows = Array.from({ length: MANY }, (_, index) => {
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
  const since = instantOf(key - MANY / 2);
  const expected = new FailureGroups({ ...query, since });
  const [error, statusCode] = ["http_status", 500] as const;
  for (const row of [...rows, { event: key, lastAt: failedAt, firstAt: failedAt }]) {
    if (row.event >= firstKeyAt(since)) expected.add({ endpoint, status: "failed", error, statusCode, ...row });
  }
  const store = await open({ dir });
  const read = rowsOfFile();
  const report = await store.statistics.failures({ ...query, since });
  expect(read()).toBeLessThan(MANY / 30);
  const [{ sampleAttempt, ...group }] = report!.groups as [FailureGroup];
  const [{ sampleAttempt: _, ...naive }] = expected.largest(1, () => "") as [FailureGroup];
  expect(group).toEqual({ ...naive, error: group.error, statusCode: group.statusCode });
  expect((await store.reads.getAttempt(null, sampleAttempt))!.event).toBe(fresh[0]!.event);
  await store.close();
});

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
