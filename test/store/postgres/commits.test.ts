/** Which writes share a transaction of PostgreSQL, and what they lock in which order. */
import { afterAll, describe, expect, it } from "vitest";
import type { Store } from "../../../src/store/store.ts";
import { ManualClock } from "../../harness/clock.ts";
import { startServer, withClient } from "../../harness/postgres.ts";
import { addEndpoint, delivered, publishOne } from "../fixtures.ts";
import { createDatabase, openPostgresDatabase, temporaryDirectory } from "../stores.ts";

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
    // What comes while a commit is under way waits for it.
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
    // From here on it knows whose the endpoint is, and asks nothing before it locks.
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
