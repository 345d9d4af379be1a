/** Migrations of the schema while others use the store, and steps that take long. */
import { afterAll, describe, expect, it } from "vitest";
import { Database, queriesOn } from "../../../src/store/postgres/engine/database.ts";
import { migrate as migrateAtOnce, migrateBesideOthers } from "../../../src/store/postgres/engine/migrate.ts";
import { META, SCHEMA_VERSION, STEPS, type Step } from "../../../src/store/postgres/engine/schema.ts";
import { ManualClock } from "../../harness/clock.ts";
import { startServer, withClient } from "../../harness/postgres.ts";
import { addEndpoint, publishOne } from "../fixtures.ts";
import { createDatabase, openPostgresDatabase, temporaryDirectory } from "../stores.ts";
import { unawaited } from "../../../src/domain/unawaited.ts";

const server = await startServer();
if (server === null) console.warn("SKIPPED: there is no PostgreSQL for this platform to migrate");
afterAll(() => server?.stop());

const COLUMN = "ALTER TABLE delivery ADD COLUMN more integer";
/** The steps of a later version. */
const LATER: readonly Step[] = [...STEPS, COLUMN];

/** A database, with functions that start nodes on it and query it. */
async function aStore() {
  const url = server!.urlOf(await createDatabase(server!));
  const [dir, clock] = [temporaryDirectory(), new ManualClock()];
  const start = (alone = false, steps = STEPS) =>
    openPostgresDatabase(url, { dir, clock, leaseMs: 60_000, alone, steps });
  const ask = (sql: string) =>
    withClient(url, async (client) => (await client.query({ text: sql, rowMode: "array" })).rows);
  const meta = async (name: string) => (await ask(`SELECT value FROM meta WHERE name = '${name}'`))[0]?.[0];
  /** Makes a new store without keys, with the current schema. */
  const makeAnew = () =>
    withClient(url, async (client) => {
      await client.query(`DROP SCHEMA public CASCADE; CREATE SCHEMA public; ${META}`);
      await migrateAtOnce(queriesOn(client));
    });
  return { url, start, ask, meta, makeAnew };
}

it.skipIf(server === null)("is begun by one of many that start at once, and refuses none of them", async () => {
  const { url } = await aStore();
  for (let round = 0; round < 3; round++) {
    await withClient(url, (client) => client.query("DROP SCHEMA public CASCADE; CREATE SCHEMA public"));
    await Promise.all(Array.from({ length: 12 }, () => withClient(url, (client) => client.query(META))));
  }
});

const SHORT_MS = 2000;
/** A function that takes longer than a step may, and waits as long as somebody holds the lock. */
const SLOW = `CREATE FUNCTION slow(integer) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN
  PERFORM pg_sleep(${SHORT_MS + 100} / 1000.0);
  WHILE NOT pg_try_advisory_xact_lock(7, 7) LOOP PERFORM pg_sleep(0.02); END LOOP;
  RETURN $1;
END $$`;

/** Migrates with steps of a later version after the current ones. */
async function migrate(url: string, more: readonly Step[], onLong: (what: string) => void = () => {}) {
  // Steps that should be short may take this long, in place of ten seconds.
  const database = Object.assign(new Database(`${url}?query_timeout=${SHORT_MS}`), { url });
  const steps = [...STEPS, ...more];
  await migrateBesideOthers(database, { isHeld: async () => false, onLong, steps }).finally(() => database.close());
}

const FILL: Step = {
  fill: "UPDATE delivery SET more = attempts WHERE event > $1 AND event <= $2",
  table: "delivery",
  key: "event",
};
const INDEX: Step = { index: "delivery_more", on: "delivery (more) WHERE more IS NOT NULL" };
const ADDED = "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('delivery_more')";

describe.skipIf(server === null)("the schema in PostgreSQL", () => {
  const NODE = "INSERT INTO node (id, number, alone, lease_until) VALUES (gen_random_uuid(), 0, false, now())";
  const RENEWED = "UPDATE node SET lease_until = now() + interval '1 minute'";

  it("is not migrated by one that is refused, because it wants the store of nodes alone", async () => {
    const { ask, makeAnew, meta, start } = await aStore();
    await makeAnew();
    await ask(`${NODE}; ${RENEWED}`);
    // The start waits for a lease that may not be renewed before it gives up, so the lease is renewed.
    const renewing = setInterval(() => unawaited(ask(RENEWED).catch(() => {})), 50);
    await expect(start(true, LATER)).rejects.toThrow("another webhookd is using");
    clearInterval(renewing);
    expect(await meta("schema")).toBe(String(SCHEMA_VERSION));
  });

  it("is migrated beside nodes by one that shares the store, and at once where nobody is left", async () => {
    const { ask, makeAnew, meta, start } = await aStore();
    await makeAnew();
    await ask(`${NODE}; ${RENEWED}`);
    await start(false, LATER);
    expect(await meta("schema")).toBe(String(SCHEMA_VERSION + 1));
    await makeAnew();
    await ask(NODE);
    await start(true, LATER);
    expect(await meta("schema")).toBe(String(SCHEMA_VERSION + 1));
  });

  it("takes long over a large table while a node commits, and is the new one only then", async () => {
    const { ask, meta, start, url } = await aStore();
    const node = await start();
    await node.ownership.renew();
    await addEndpoint(node);
    await publishOne(node);
    await ask(SLOW);
    const slow: Step = { index: "delivery_slow", on: "delivery (slow(attempts))" };
    const begun: string[] = [];
    let ended = false;
    await withClient(url, async (client) => {
      await client.query("SELECT pg_advisory_lock(7, 7)");
      const migrating = migrate(url, [COLUMN, slow, FILL, INDEX], (what) => begun.push(what)).then(
        () => (ended = true),
      );
      await expect.poll(() => begun.length).toBe(1);
      const published = await publishOne(node);
      await node.ownership.renew();
      expect([ended, await meta("schema")]).toEqual([false, String(SCHEMA_VERSION)]);
      expect(published.fresh).toHaveLength(1);
      await client.query("SELECT pg_advisory_unlock(7, 7)");
      await migrating;
    });
    expect(await meta("schema")).toBe(String(SCHEMA_VERSION + 4));
    expect(await meta("steps")).toBeUndefined();
    expect(await ask(ADDED)).toEqual([[true]]);
    expect(await ask("SELECT DISTINCT more FROM delivery")).toEqual([[0]]);
    expect(begun).toEqual([
      "the index delivery_slow is made",
      "rows of delivery are changed",
      "the index delivery_more is made",
    ]);
  });

  it("goes on where it was cut short, and makes an index anew that was cut short", async () => {
    const { ask, meta, start, url } = await aStore();
    const node = await start();
    await node.ownership.renew();
    await addEndpoint(node);
    await publishOne(node);
    await migrate(url, [COLUMN]);
    // The state of a migration that was cut short: one row of the table was filled. The next row does not fit the
    // index.
    const [[first]] = (await ask("SELECT event FROM delivery")) as [[string]];
    await ask(`UPDATE meta SET value = '${SCHEMA_VERSION}' WHERE name = 'schema'`);
    await ask(`INSERT INTO meta (name, value) VALUES ('steps', '{"steps":${SCHEMA_VERSION + 1},"after":${first}}')`);
    await publishOne(node);
    const unfit: Step = { index: "delivery_more", on: "delivery ((1 / more))" };
    await expect(migrate(url, [COLUMN, FILL, unfit])).rejects.toThrow("division by zero");
    expect([await meta("schema"), await meta("steps")]).toEqual([
      String(SCHEMA_VERSION),
      `{"steps":${SCHEMA_VERSION + 2},"after":null}`,
    ]);
    expect(await ask("SELECT more FROM delivery ORDER BY event")).toEqual([[null], [0]]);
    expect(await ask(ADDED)).toEqual([[false]]);
    // Several processes of the new version start at once.
    await Promise.all([1, 2, 3].map(() => migrate(url, [COLUMN, FILL, INDEX])));
    expect(await ask(ADDED)).toEqual([[true]]);
    expect(await meta("schema")).toBe(String(SCHEMA_VERSION + 3));
  });
});
