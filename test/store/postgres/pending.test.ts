/** The statements of a publish under a limit in PostgreSQL, and the correctness of its counters. */
import { afterAll, describe, expect, it } from "vitest";
import type { Database } from "../../../src/store/postgres/engine/database.ts";
import { ManualClock } from "../../harness/clock.ts";
import { startServer, withClient } from "../../harness/postgres.ts";
import { addEndpoint, delivered, draft, withoutCapacity, publishOne, withCapacity, START } from "../fixtures.ts";
import { createDatabase, openPostgresDatabase, temporaryDirectory } from "../stores.ts";

const server = await startServer();
if (server === null) console.warn("SKIPPED: there is no PostgreSQL for this platform to count on");
afterAll(() => server?.stop());

const LIMIT = 6;

async function shared() {
  const url = server!.urlOf(await createDatabase(server!));
  const [dir, clock] = [temporaryDirectory(), new ManualClock()];
  const start = (onDatabase: (database: Database) => void = () => {}) =>
    openPostgresDatabase(url, { dir, clock, leaseMs: 60_000, maxPendingPerTenant: LIMIT, onDatabase });
  return { url, start };
}

/** Records the statements of later transactions. */
function statementsOf(database: Database): readonly string[] {
  const statements: string[] = [];
  const transaction = database.transaction.bind(database);
  database.transaction = (work, mark) =>
    transaction((tx) => {
      const noted = (sql: string) => (statements.push(sql), sql);
      return work({
        ...tx,
        rows: (sql, values) => tx.rows(noted(sql), values),
        change: (sql, values) => tx.change(noted(sql), values),
      });
    }, mark);
  return statements;
}

describe.skipIf(server === null)("the counters of what is pending", () => {
  it("are read by a publish under a limit, which reads no delivery", async () => {
    const { start } = await shared();
    let statements: readonly string[] = [];
    const store = await start((database) => (statements = statementsOf(database)));
    await addEndpoint(store);
    await store.events.publish([draft(), draft()], START, withoutCapacity);
    const before = statements.length;
    await publishOne(store);
    const asked = statements.slice(before);
    expect(asked.filter((sql) => sql.includes("FROM tenant_pending"))).toHaveLength(1);
    expect(asked.filter((sql) => /\b(FROM|JOIN|UPDATE)\s+delivery\b/.test(sql))).toEqual([]);
  });

  it("are of all nodes together", async () => {
    const { start, url } = await shared();
    const [one, other] = [await start(), await start()];
    await addEndpoint(one);
    const first = await publishOne(one);
    const published = await other.events.publish(Array(LIMIT - 1).fill(draft()), START, withCapacity);
    for (const store of [one, other]) await expect(publishOne(store)).rejects.toMatchObject({ code: "overloaded" });
    // Another node records the results than the one that published the events.
    const claims = published.flatMap(({ fresh }) => fresh);
    await one.deliveries.record([...claims, ...first.fresh].map(delivered));
    const rows = await withClient(url, (client) =>
      client.query("SELECT sum(deliveries)::integer AS n FROM tenant_pending"),
    );
    expect(rows.rows).toEqual([{ n: LIMIT - claims.length - first.fresh.length }]);
    expect(await other.upkeep.mendPending()).toEqual([]);
  });

  it("are mended where they are wrong, and the tenants named", async () => {
    const { start, url } = await shared();
    const store = await start();
    for (const tenant of ["default", "other", "third"]) {
      await addEndpoint(store, { tenant });
      await publishOne(store, { tenant });
    }
    const spoil = `UPDATE tenant_pending SET deliveries = 6 WHERE tenant = 'default';
      DELETE FROM tenant_pending WHERE tenant = 'other'; INSERT INTO tenant_pending VALUES ('nobody', 7, 3)`;
    await withClient(url, (client) => client.query(spoil));
    await expect(publishOne(store)).rejects.toMatchObject({ code: "overloaded" });
    expect((await store.upkeep.mendPending()).toSorted()).toEqual(["default", "nobody", "other"]);
    expect(await store.upkeep.mendPending()).toEqual([]);
    for (const tenant of ["default", "other"]) {
      await store.events.publish(Array(LIMIT - 1).fill(draft({ tenant })), START, withCapacity);
      await expect(publishOne(store, { tenant })).rejects.toMatchObject({ code: "overloaded" });
    }
  });
});
