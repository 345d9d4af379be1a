import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, it, onTestFinished, vi } from "vitest";
import { openFile } from "../../../../src/store/sqlite/engine/open-database.ts";
import { addEndpoint, EVERYTHING, publishOne } from "../../fixtures.ts";
import { open, temporaryDirectory } from "../../stores.ts";

it("gives parameters their values, and leaves alone what only looks like one", () => {
  const db = openFile(":memory:", { timeout: 0 });
  onTestFinished(() => void db.close());
  const row = db.prepare(`SELECT ? AS one, @two AS two, $three AS three, '?' || '@two' AS text, 7 -- it's ?\n AS "?"`);
  expect(row.get(1, { two: "2", three: null })).toEqual({ one: 1, two: "2", three: null, text: "?@two", "?": 7 });
});

it("prepares no statement of the store anew because it is run again", async () => {
  const dir = temporaryDirectory();
  const prepared = vi.spyOn(Database.prototype, "prepare");
  const store = await open({ dir, maxPendingPerTenant: 10 });
  const endpoint = await addEndpoint(store);
  await publishOne(store);
  for (const order of ["oldest", "newest"] as const) {
    await store.endpoints.list({ ...EVERYTHING, order });
    await store.reads.listEvents({ ...EVERYTHING, order });
    await store.reads.listDeliveries({ ...EVERYTHING, order, endpoint });
    await store.reads.listEndpointAttempts({ ...EVERYTHING, order, endpoint });
  }
  const all = [...new Set(prepared.mock.calls.map(([sql]) => sql))];
  await store.close();
  vi.restoreAllMocks();
  const db = new Database(join(dir, "webhookd.db"));
  onTestFinished(() => void db.close());
  db.exec("CREATE TEMP TABLE pending (tenant INTEGER PRIMARY KEY, deliveries INTEGER)");
  const isParametrised = (sql: string) => /[?@$]/.test(sql);
  for (const sql of all.filter((one) => !isParametrised(one))) db.prepare(`EXPLAIN ${sql}`).all();
  const parametrised = all.filter(isParametrised);
  expect(parametrised.length).toBeGreaterThan(100);
  expect(parametrised.filter((sql) => isPreparedAnew(db, sql))).toEqual([]);
  expect(isPreparedAnew(db, "SELECT name FROM sqlite_schema LIMIT ?")).toBe(true);
});

/**
 * True if SQLite prepares the statement again for each run. The library then compiles a function from the names of its
 * columns each time, which this counts.
 */
function isPreparedAnew(db: Database.Database, sql: string): boolean {
  const explained = db.prepare(`EXPLAIN ${sql}`);
  const values = valuesOf(sql);
  explained.all(...values);
  const made = vi.spyOn(globalThis, "Function");
  explained.all(...values);
  explained.all(...values);
  const count = made.mock.calls.length;
  made.mockRestore();
  return count > 0;
}

function valuesOf(sql: string): unknown[] {
  const names = [...sql.matchAll(/[@$](\w+)/g)].map(([, name]) => [name, 1]);
  if (names.length > 0) return [Object.fromEntries(names)];
  const numbers = new Set([...sql.matchAll(/\?(\d+)/g)].map(([, number]) => number));
  return Array(numbers.size || [...sql.matchAll(/\?/g)].length).fill(1);
}
