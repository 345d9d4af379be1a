/**
 * Transactions in PostgreSQL: which writes share one, in which order they lock rows, and what they remember of
 * endpoints.
 */
import { randomBytes } from "node:crypto";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { IdempotencyKeys } from "../../../src/store/postgres/callers/idempotency.ts";
import { Lines } from "../../../src/store/postgres/ordering/lines.ts";
import { Pending } from "../../../src/store/postgres/deliveries/pending.ts";
import { PostgresDeliveries } from "../../../src/store/postgres/deliveries/deliveries.ts";
import { Health } from "../../../src/store/postgres/endpoints/health.ts";
import { Database } from "../../../src/store/postgres/engine/database.ts";
import { Engine, NodeKeys } from "../../../src/store/postgres/engine/engine.ts";
import { OWNS_EVERYTHING } from "../../../src/store/postgres/engine/owner.ts";
import { Counters } from "../../../src/store/postgres/statistics/counters.ts";
import type { Store } from "../../../src/store/store.ts";
import { ManualClock } from "../../harness/clock.ts";
import { startServer, withClient } from "../../harness/postgres.ts";
import { addEndpoint, delivered, publishOne, START } from "../fixtures.ts";
import { createDatabase, openPostgresDatabase, temporaryDirectory } from "../stores.ts";
import { Box } from "../../../src/store/rows/box.ts";

const server = await startServer();
if (server === null) console.warn("SKIPPED: there is no PostgreSQL for this platform to commit to");
afterAll(() => server?.stop());

async function openNode() {
  const url = server!.urlOf(await createDatabase(server!));
  const options = { dir: temporaryDirectory(), clock: new ManualClock(), leaseMs: 60_000 };
  const store = await openPostgresDatabase(url, options);
  await store.ownership.renew();
  return { url, store };
}

/** Returns the deliveries of that database, with memory for this many endpoints. */
function deliveriesOf(url: string, mostRemembered: number) {
  const database = new Database(url);
  onTestFinished(() => database.close());
  const [keys, numbers] = [new NodeKeys(0, 0), new NodeKeys(0, 0)];
  const box = new Box(randomBytes(32), randomBytes);
  const parts = { owner: OWNS_EVERYTHING, database, box, clock: new ManualClock(), random: randomBytes, keys, numbers };
  const engine = new Engine(parts);
  const counters = new Counters();
  const idempotency = new IdempotencyKeys(engine);
  const lines = new Lines(engine);
  const others = { counters, health: new Health(engine), idempotency, lines, pending: new Pending(0) };
  return { counters, deliveries: new PostgresDeliveries(engine, others, mostRemembered) };
}

const commitsOf = async (store: Store) =>
  (await store.statistics.sinceStart()).commitTimes.counts.reduce((sum, one) => sum + one, 0);

describe.skipIf(server === null)("commits to PostgreSQL", () => {
  it("are shared by what is published and what is recorded, also where they come in turns", async () => {
    const { store } = await openNode();
    await addEndpoint(store);
    const claims = (await Promise.all(Array.from({ length: 10 }, () => publishOne(store)))).map(
      ({ fresh }) => fresh[0]!,
    );
    const before = await commitsOf(store);
    const first = publishOne(store);
    // Writes that arrive during a commit wait for it.
    await Promise.resolve();
    const all = await Promise.all(
      claims.flatMap((claim) => [publishOne(store), store.deliveries.record([delivered(claim)])]),
    );
    await first;
    expect(all.filter((one) => Array.isArray(one))).toEqual(
      claims.map(() => [expect.objectContaining({ result: "applied" })]),
    );
    expect((await commitsOf(store)) - before).toBe(2);
  });

  it("wait for an endpoint before they lock a delivery, as another node does that cancels", async () => {
    const { store, url } = await openNode();
    const endpoint = await addEndpoint(store);
    const claim = (await publishOne(store)).fresh[0]!;
    // From here on the store remembers the endpoint's tenant, and asks nothing before it locks.
    await store.deliveries.record([delivered((await publishOne(store)).fresh[0]!)]);
    await withClient(url, async (other) => {
      await other.query("BEGIN; SET LOCAL lock_timeout = 500");
      await other.query("SELECT 1 FROM endpoint WHERE id = $1 FOR UPDATE", [endpoint]);
      const work = Promise.all([store.deliveries.record([delivered(claim)]), publishOne(store)]);
      const waits = "SELECT 1 FROM pg_locks WHERE NOT granted";
      await expect.poll(async () => (await other.query(waits)).rows.length).toBeGreaterThan(0);
      expect((await other.query("UPDATE delivery SET slot = slot WHERE status < 2")).rowCount).toBe(1);
      await other.query("COMMIT");
      expect((await work)[0]).toMatchObject([{ result: "applied" }]);
    });
  });
});

describe.skipIf(server === null)("a batch on PostgreSQL", () => {
  const openFor = async (tenants: readonly string[], mostRemembered: number) => {
    const { store, url } = await openNode();
    for (const tenant of tenants) await addEndpoint(store, { tenant });
    const claimOf = async (tenant: string) => (await publishOne(store, { tenant })).fresh[0]!;
    return { claimOf, ...deliveriesOf(url, mostRemembered) };
  };

  it("is recorded whole, also where the memory of endpoints starts anew with it", async () => {
    const { claimOf, deliveries, counters } = await openFor(["known", "new"], 1);
    await deliveries.record([delivered(await claimOf("known"))]);
    const batch = [delivered(await claimOf("known")), delivered(await claimOf("new"))];
    expect(await deliveries.record(batch)).toMatchObject([{ result: "applied" }, { result: "applied" }]);
    expect(counters.sinceStart.attempts.succeeded).toBe(3);
  });

  it("waits whole, also where the memory of endpoints starts anew with it", async () => {
    const { claimOf, deliveries } = await openFor(["known", "new"], 1);
    await deliveries.record([delivered(await claimOf("known"))]);
    const batch = [await claimOf("known"), await claimOf("new")].map(({ endpoint, event }) => ({
      endpoint,
      event,
      dueAt: START,
    }));
    expect(await deliveries.park(batch, START)).toEqual(batch);
  });
});
