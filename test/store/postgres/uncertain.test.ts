/**
 * Commits that wait for a synchronous standby, and are then told not to wait. PostgreSQL has them, but the standby does
 * not: if they were acknowledged, they would be lost together with the primary.
 */
import { describe, expect, it, onTestFinished, type TestContext } from "vitest";
import { Primaries } from "../../../scripts/crash/primaries.ts";
import { Database } from "../../../src/store/postgres/engine/database.ts";
import { ManualClock } from "../../harness/clock.ts";
import { withClient } from "../../harness/postgres.ts";
import { addEndpoint, EVERYTHING, publishOne, START } from "../fixtures.ts";
import { openPostgresDatabase, temporaryDirectory } from "../stores.ts";

/** Returns a database on a primary that has a synchronous standby. */
async function pair({ skip }: TestContext) {
  const servers = await Primaries.start();
  if (servers === null) return skip("there is no PostgreSQL for this platform to have a standby of");
  onTestFinished(() => servers.stop());
  await servers.ask("CREATE DATABASE uncertain");
  // A role or a database may have this setting, which suppresses the warning.
  await servers.ask("ALTER DATABASE uncertain SET client_min_messages = error");
  return { servers, url: servers.urlOf("uncertain"), primary: servers.primaryUrl("uncertain") };
}

async function opened(context: TestContext) {
  const { url, ...rest } = await pair(context);
  const store = await openPostgresDatabase(url, { dir: temporaryDirectory(), clock: new ManualClock() });
  await addEndpoint(store);
  return { store, ...rest };
}

/** Waits for a server process of this database whose commit waits for the standby, and returns its pid. */
function waiting(primary: string): Promise<number> {
  const sql = `SELECT pid FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND wait_event = 'SyncRep'`;
  return withClient(primary, async (client) => {
    let pids: number[] = [];
    const look = async () => (pids = (await client.query<{ pid: number }>(sql)).rows.map(({ pid }) => pid)).length;
    await expect.poll(look).toBeGreaterThan(0);
    return pids[0]!;
  });
}

const cancel = (primary: string, pid: number) =>
  withClient(primary, (client) => client.query("SELECT pg_cancel_backend($1)", [pid]));

const FAULTS: Record<string, (primary: string, pid: number) => Promise<unknown>> = {
  terminated: (primary, pid) => withClient(primary, (client) => client.query("SELECT pg_terminate_backend($1)", [pid])),
  cancelled: cancel,
  killed: async (_, pid) => process.kill(pid, "SIGKILL"),
};

const settled = <T>(work: Promise<T>) =>
  work.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );

const UNAVAILABLE = { error: { code: "storage_unavailable" } };

describe("a commit whose wait for the standby is", () => {
  for (const [how, fault] of Object.entries(FAULTS)) {
    const name = `${how} is not acknowledged, and may be lost with the primary`;
    it(name, async (context) => {
      const { servers, primary, store } = await opened(context);
      const { id: acked } = await publishOne(store);
      servers.silenceStandby();
      const publishing = settled(publishOne(store));
      await fault(primary, await waiting(primary));
      expect(await publishing).toMatchObject(UNAVAILABLE);
      await servers.killPrimary();
      await servers.promote();
      const again = async () => "value" in (await settled(publishOne(store)));
      await expect.poll(again).toBe(true);
      const there = (await store.reads.listEvents(EVERYTHING)).data.map(({ id }) => id);
      expect(there).toHaveLength(2);
      expect(there).toContain(acked);
    });
  }
});

describe("what was committed without the standby", () => {
  it("is no answer to a repeated request until the standby has it", async (context) => {
    const { servers, primary, store } = await opened(context);
    const request = { tenant: "default", key: "k", fingerprint: Buffer.from("f"), expiresAt: START + 60_000 };
    servers.silenceStandby();
    const remembering = settled(store.idempotency.remember(request, "an answer"));
    await cancel(primary, await waiting(primary));
    expect(await remembering).toMatchObject(UNAVAILABLE);
    expect(await settled(store.idempotency.recall(request, START))).toMatchObject(UNAVAILABLE);
    servers.resumeStandby();
    await expect.poll(async () => settled(store.idempotency.recall(request, START))).toEqual({ value: "an answer" });
  });

  it("is in doubt, whichever way it was written", async (context) => {
    const { servers, url, primary } = await pair(context);
    const database = new Database(url);
    onTestFinished(() => database.close());
    await database.script("CREATE TABLE thing (key integer)");
    servers.silenceStandby();
    const add = "INSERT INTO thing (key) VALUES (1)";
    const ways = [
      () => database.change(add),
      () => database.rows(`${add} RETURNING key`),
      () => database.script(add),
      () => database.lease.change(add),
      () => database.lists.rows(`${add} RETURNING key`),
      () => database.transaction((tx) => tx.change(add)),
    ];
    for (const write of ways) {
      const writing = settled<unknown>(write());
      await cancel(primary, await waiting(primary));
      expect(await writing).toMatchObject(UNAVAILABLE);
    }
    servers.resumeStandby();
    expect(await database.change(add)).toBe(1);
  });
});
