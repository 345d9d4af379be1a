import Database, { type Statement } from "better-sqlite3";
import { join } from "node:path";
import { afterEach, expect, it, vi } from "vitest";
import { Dispatcher } from "../../src/delivery/dispatcher.ts";
import { silentLog } from "../../src/log.ts";
import { openStore } from "../../src/store/opening/open.ts";
import { ManualClock } from "../harness/clock.ts";
import { addEndpoint, draft, withoutCapacity, START } from "../store/fixtures.ts";
import { optionsOf, temporaryDirectory } from "../store/stores.ts";

const ENDPOINTS = 30;

afterEach(() => vi.restoreAllMocks());

/** Starts with this many events waiting for each endpoint, and returns each statement that SQLite runs. */
async function startWith(events: number): Promise<{ dir: string; asked: string[]; rows: number }> {
  const dir = temporaryDirectory();
  const { store: before } = await openStore(optionsOf({ dir }));
  for (let at = 0; at < ENDPOINTS; at++) await addEndpoint(before);
  const drafts = Array.from({ length: events }, () => draft());
  await before.events.publish(drafts, START, withoutCapacity);
  await before.close();

  const asked: string[] = [];
  let rows = 0;
  const db = new Database(":memory:");
  const statements = Object.getPrototypeOf(db.prepare("SELECT 1")) as Statement;
  db.close();
  for (const method of ["get", "all", "run"] as const) {
    const real = statements[method] as (...args: unknown[]) => unknown;
    vi.spyOn(statements, method).mockImplementation(function (this: Statement, ...args: unknown[]) {
      const result = real.apply(this, args);
      asked.push(this.source.replace(/\s+/g, " ").trim());
      rows += Array.isArray(result) ? result.length : 1;
      return result as never;
    });
  }
  const clock = new ManualClock();
  const { store } = await openStore(optionsOf({ dir, clock }));
  const dispatcher = new Dispatcher({
    store,
    clock,
    ladder: [30_000],
    timeoutMs: 10_000,
    log: silentLog,
    loadedBytes: 1,
    onFault: (error) => {
      throw error;
    },
    // Nothing is sent, because the test is only about the start.
    sending: () => ({ cap: () => 0, pause() {}, drain: async () => {}, close: async () => {} }) as never,
  });
  await dispatcher.start();
  vi.restoreAllMocks();
  await dispatcher.stop();
  await store.close();
  return { dir, asked, rows };
}

it("a start asks for as many rows whether little or much is waiting, and scans no table that grows", async () => {
  const [few, many] = [await startWith(3), await startWith(600)];
  expect(many.asked).toEqual(few.asked);
  expect(many.rows).toBe(few.rows);
  expect(many.rows).toBeLessThan(10 * ENDPOINTS);

  const db = new Database(join(many.dir, "webhookd.db"));
  const plans = [...new Set(many.asked)]
    .filter((sql) => /^(SELECT|UPDATE|DELETE|INSERT)/.test(sql))
    .flatMap((sql) => {
      const holes = (sql.match(/\?/g) ?? []).map(() => 0);
      const plan = db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...holes) as { detail: string }[];
      return plan.map(({ detail }) => `${detail}: ${sql}`);
    });
  db.close();
  expect(plans.length).toBeGreaterThan(5);
  // Memory held all fresh deliveries, so there are only a few.
  expect(plans.filter((plan) => /^SCAN (delivery|event|attempt|d|e)\b/.test(plan))).toEqual([]);
});
