import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, it, onTestFinished } from "vitest";
import { HeldKeys } from "../../../../src/store/sqlite/ordering/held-keys.ts";
import { addEndpoint, BEGINNING, draft, failed, START, withoutCapacity } from "../../fixtures.ts";
import { open, temporaryDirectory } from "../../stores.ts";

/** Makes a store with so many endpoints, of which each holds so many keys. */
async function holding(endpoints: number, keys: number) {
  const dir = temporaryDirectory();
  const store = await open({ dir });
  const ids: string[] = [];
  for (let count = 0; count < endpoints; count++)
    ids.push(await addEndpoint(store, { ordering: "by_key", afterFailure: "hold" }));
  await store.events.publish([draft({ orderingKey: "a" })], START, withoutCapacity);
  for (const id of ids)
    await store.deliveries.record((await store.deliveries.due(id, BEGINNING, START, 1)).claims.map(failed));
  await store.close();
  const db = new Database(join(dir, "webhookd.db"));
  onTestFinished(() => void db.close());
  db.exec(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${keys - 1})
    INSERT INTO held_key (ordering_key, sequence, event, endpoint, since)
    SELECT 1000000 * (h.endpoint + 1) + i, 1, h.event, h.endpoint, h.since + i FROM held_key h, n`);
  // The later an endpoint was added, the longer it holds its keys.
  db.exec("UPDATE held_key SET since = since - 100000 * endpoint");
  return { db, ids };
}

/** Records how the statements find their rows, and how far the keys of each endpoint are counted. */
function watched(db: Database.Database) {
  const limits: number[] = [];
  const plans: string[] = [];
  const prepare = db.prepare.bind(db);
  db.prepare = ((sql: string) => {
    const statement = prepare(sql);
    const named = sql.includes("@limit");
    const values = named ? [{ endpoint: 0, limit: 0 }] : sql.includes("?") ? [0] : [];
    const plan = prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...values) as { detail: string }[];
    plans.push(...plan.map(({ detail }) => detail));
    if (!named) return statement;
    const get = statement.get.bind(statement);
    statement.get = (...bound: unknown[]) => {
      limits.push((bound[0] as { limit: number }).limit);
      return get(...bound);
    };
    return statement;
  }) as typeof db.prepare;
  return { keys: new HeldKeys(db), limits, plans };
}

function readAll(keys: HeldKeys, limit: number) {
  const reading = keys.longest(limit);
  for (let slices = 1; ; slices++) {
    const step = reading.next();
    if (step.done === true) return { found: step.value, slices };
  }
}

it("counts the held keys of those endpoints alone that are asked for", async () => {
  const { db, ids } = await holding(12, 4);
  const { keys, limits, plans } = watched(db);
  const { found } = readAll(keys, 3);
  expect(found.map(({ endpoint, count }) => [endpoint, count])).toEqual(
    ids
      .slice(-3)
      .toReversed()
      .map((id) => [id, 4]),
  );
  expect(limits).toHaveLength(3);
  // That one reads a single row.
  const scans = plans.filter((step) => /^SCAN (held_key|h|endpoint|e)\b/.test(step));
  expect(scans).toEqual(["SCAN held_key USING COVERING INDEX held_key_event"]);
});

it("counts 100,000 of all held keys at most, and pauses in between", async () => {
  const { db } = await holding(11, 9100);
  const { keys, limits } = watched(db);
  const { found, slices } = readAll(keys, 1000);
  expect(limits).toEqual(Array(11).fill(9090));
  expect(found.map(({ count }) => count)).toEqual(limits);
  expect(slices).toBe(11);
});
