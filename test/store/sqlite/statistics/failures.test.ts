import { join } from "node:path";
import Database, { type Statement } from "better-sqlite3";
import { expect, it, vi } from "vitest";
import { FailureGroups, type FailureGroup } from "../../../../src/domain/deliveries/failure.ts";
import { EndpointIndex } from "../../../../src/store/sqlite/numbers/endpoint-index.ts";
import { Failures } from "../../../../src/store/sqlite/statistics/failures.ts";
import { addEndpoint, draft, ended, withCapacity, START } from "../../fixtures.ts";
import { open, openSqlite, temporaryDirectory } from "../../stores.ts";
import { firstKeyAt, instantOf } from "../../../../src/store/rows/codes.ts";
import { Interned } from "../../../../src/store/sqlite/numbers/names.ts";

const query = { tenant: null, since: START, from: START - 60_000, stepMs: 60_000, parts: 5, limit: 100 };

it("asks the file as often, however many have failed", async () => {
  const { store } = await openSqlite();
  for (let count = 0; count < 3; count++) await addEndpoint(store);
  const askedFor = async (events: number) => {
    const published = await store.events.publish(Array(events).fill(draft()), START, withCapacity);
    const claims = published.flatMap(({ fresh }) => fresh);
    await store.deliveries.record(claims.map((claim) => ended(claim, { status: "failed" })));
    const asked = askedOfFile();
    const report = await store.statistics.failures(query);
    return { asked: asked(), failed: report!.groups.map(({ failed }) => failed) };
  };
  const few = await askedFor(1);
  const many = await askedFor(400);
  expect(many.failed).toEqual([401, 401, 401]);
  expect(many.asked).toBeLessThanOrEqual(few.asked);
});

it("costs nothing where no cause is set: nothing but that runs a trigger", async () => {
  const prepare = vi.spyOn(Database.prototype, "prepare");
  const dir = temporaryDirectory();
  const store = await open({ dir });
  const written = new Set(prepare.mock.calls.map(([sql]) => sql).filter((sql) => /^(INSERT|UPDATE|DELETE)/.test(sql)));
  await store.close();
  const db = new Database(join(dir, "webhookd.db"));
  const triggered = [...written].filter((sql) => {
    const explained = db.prepare(`EXPLAIN ${sql}`);
    const holes = sql.match(/[@:]\w+/g)?.map((name) => [name.slice(1), 0]);
    const values = holes === undefined ? (sql.match(/\?/g) ?? []).map(() => 0) : [Object.fromEntries(holes)];
    return (explained.all(...values) as { opcode: string }[]).some(({ opcode }) => opcode === "Program");
  });
  db.close();
  expect(written.size).toBeGreaterThan(50);
  expect(triggered.length).toBeGreaterThan(3);
  for (const sql of triggered) expect(sql).toMatch(/^UPDATE delivery SET [^;]*(cause|failed_at) =/);
});

const MANY = 45_000;

it("adds up counts, and hands out few rows", async () => {
  const { dir, endpoint, key, rows, real, events } = await manyFailures(MANY);
  const since = instantOf(rows[MANY / 2]!.event) + 30;
  const expected = new FailureGroups(query);
  const [error, statusCode] = ["http_status", 500] as const;
  for (const { event, firstAt, lastAt } of [...rows, ...real]) {
    if (event < firstKeyAt(since)) continue;
    expected.add({ endpoint, status: "failed", error, statusCode, event, firstAt, lastAt });
  }
  expect(key).toBeGreaterThan(firstKeyAt(since));
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

it("counts no delivery twice that fails again meanwhile", async () => {
  const { dir, key, rows } = await manyFailures(60_000);
  const db = new Database(join(dir, "webhookd.db"));
  const tenants = new Interned(db, "tenant");
  const index = new EndpointIndex(db, tenants, new Interned(db, "event_type"));
  const since = instantOf(rows.at(-1)!.event);
  const failsAt = db.prepare("UPDATE delivery SET failed_at = ? WHERE event = ?");
  failsAt.run(START - 3000, key);
  const slices = new Failures(db, { index, tenants }).report({ ...query, since });
  const first = slices.next();
  failsAt.run(START, key);
  const report = first.done === true ? first.value : reportOf(slices);
  expect(report!.groups.map(({ failed }) => failed)).toEqual([rows.length + 2]);
  db.close();
});

function reportOf<T>(slices: Generator<unknown, T>): T {
  for (let step = slices.next(); ; step = slices.next()) if (step.done === true) return step.value;
}

/**
 * Makes deliveries that have failed for good, with one endpoint and cause: two through the store, and `count` older
 * rows written directly.
 */
async function manyFailures(count: number) {
  const dir = temporaryDirectory();
  const before = await open({ dir });
  const endpoint = await addEndpoint(before);
  const published = await before.events.publish([draft(), draft()], START, withCapacity);
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
    return { event: key - 1 - firstKeyAt(100 * index), lastAt: Math.min(at, failedAt - 1), firstAt: at - 100 };
  });
  const insert = db.prepare(
    "INSERT INTO delivery (event, endpoint, status, attempts, round, retry, trigger) VALUES (?, ?, 3, 1, 1, 0, 0)",
  );
  const fails = db.prepare("UPDATE delivery SET cause = ?, failed_at = ?, failing_since = ? WHERE event = ?");
  db.transaction(() => {
    for (const { event, lastAt, firstAt } of rows) {
      insert.run(event, number);
      fails.run(cause, lastAt, firstAt, event);
    }
  })();
  db.close();
  return { dir, endpoint, key, rows, real, events: claims.map(({ event }) => event) };
}

/** Counts the rows that statements return from now on. */
function rowsOfFile(): () => number {
  const db = new Database(":memory:");
  const prototype = Object.getPrototypeOf(db.prepare("SELECT 1")) as Statement;
  db.close();
  const all = vi.spyOn(prototype, "all");
  return () => all.mock.results.reduce((sum, { value }) => sum + (value as unknown[]).length, 0);
}

/** Counts the statements that are run from now on. */
function askedOfFile(): () => number {
  const db = new Database(":memory:");
  const prototype = Object.getPrototypeOf(db.prepare("SELECT 1")) as Statement;
  db.close();
  const spies = (["get", "all", "iterate", "run"] as const).map((name) => vi.spyOn(prototype, name));
  const calls = () => spies.reduce((sum, { mock }) => sum + mock.calls.length, 0);
  const before = calls();
  return () => calls() - before;
}
