/** The locks of order by key in PostgreSQL: all transactions take them in one order, lines before deliveries. */
import { randomBytes } from "node:crypto";
import { afterAll, describe, expect, it, vi } from "vitest";
import type { JobAction } from "../../../src/domain/deliveries/job.ts";
import type { NewEndpoint } from "../../../src/domain/endpoints/endpoint.ts";
import { newId } from "../../../src/domain/id.ts";
import type { Database } from "../../../src/store/postgres/engine/database.ts";
import { BY_KEYS } from "../../../src/store/postgres/engine/prepared.ts";
import type { Store } from "../../../src/store/store.ts";
import { ManualClock } from "../../harness/clock.ts";
import { startServer, withClient } from "../../harness/postgres.ts";
import { addEndpoint, BEGINNING, delivered, draft, failed, START, withoutCapacity } from "../fixtures.ts";
import { createDatabase, openPostgresDatabase, temporaryDirectory } from "../stores.ts";

const server = await startServer();
if (server === null) console.warn("SKIPPED: there is no PostgreSQL for this platform to take locks on");
afterAll(() => server?.stop());

const LATER = START + 3_600_000;
const BY_KEY: Partial<NewEndpoint> = { ordering: "by_key" };

async function open(onDatabase?: (database: Database) => void) {
  const url = server!.urlOf(await createDatabase(server!));
  const [dir, clock] = [temporaryDirectory(), new ManualClock()];
  const start = (onDatabase?: (database: Database) => void) =>
    openPostgresDatabase(url, { dir, clock, leaseMs: 60_000, ...(onDatabase && { onDatabase }) });
  return { url, start, store: await start(onDatabase) };
}

async function publish(store: Store, ...keys: readonly string[]): Promise<readonly string[]> {
  const drafts = keys.map((orderingKey) => draft({ orderingKey }));
  return (await store.events.publish(drafts, START, withoutCapacity)).map(({ id }) => id);
}

const dueAt = async (store: Store, endpoint: string) =>
  (await store.deliveries.due(endpoint, BEGINNING, LATER, 1000)).claims;

async function addJob(store: Store, action: JobAction, more: object) {
  const filter = { test: false, missing: false, ...more };
  const id = newId("job", START, randomBytes(10));
  const job = { id, tenant: "default", ratePerSecond: 20, canary: false, reason: "", action, filter };
  expect(await store.jobs.add(job, null, START)).toMatchObject({ result: "added" });
  const takes = (await store.jobs.endpoints(id, null)).map(({ endpoint }) => ({ endpoint, limit: 100, check: false }));
  return () => store.jobs.step(id, takes, START);
}

/** Locks one row, starts the work, and returns how many of the other rows are free while the work waits for it. */
async function freeWhileWaiting(
  url: string,
  lock: string,
  others: string,
  work: () => Promise<unknown>,
  how = "FOR UPDATE",
): Promise<number | null> {
  return withClient(url, async (client) => {
    await client.query("BEGIN");
    expect((await client.query(`${lock} FOR UPDATE`)).rowCount).toBe(1);
    const done = work();
    await vi.waitFor(
      async () => {
        const waits = `SELECT 1 FROM pg_stat_activity
          WHERE wait_event_type = 'Lock' AND datname = current_database()`;
        expect((await withClient(url, (other) => other.query(waits))).rowCount).toBe(1);
      },
      { timeout: 10_000 },
    );
    const { rowCount } = await client.query(`${others} ${how} SKIP LOCKED`);
    await client.query("ROLLBACK");
    await done;
    return rowCount;
  });
}

const lineAt = (endpoint: string) =>
  `SELECT 1 FROM ordering_key WHERE endpoint = (SELECT number FROM endpoint WHERE id = '${endpoint}')`;
const lineOf = (key: string) => `SELECT 1 FROM ordering_key WHERE key = '${key}'`;

describe.skipIf(server === null)("the locks of order by key", () => {
  it.each(["publish", "record", "cancel by a job", "free", "prune"] as const)(
    "are of lines in the order of their keys: %s",
    async (what) => {
      const { store, url } = await open();
      const endpoint = await addEndpoint(store, { ...BY_KEY, afterFailure: "hold" });
      // The numbers of the lines are in the other order than their keys.
      await publish(store, "b");
      await publish(store, "a");
      const claims = await dueAt(store, endpoint);
      let work = async (): Promise<unknown> => publish(store, "b", "a");
      if (what === "record") work = () => store.deliveries.record(claims.map(delivered));
      if (what === "cancel by a job") work = await addJob(store, "cancel", { endpoint, status: "pending" });
      if (what === "free") {
        await store.deliveries.record(claims.map(failed));
        await store.endpoints.update(null, endpoint, (before) => ({ ...before, afterFailure: "continue" }), START);
        work = () => store.upkeep.freeKeys(START);
      }
      if (what === "prune") {
        await store.deliveries.record(claims.map(delivered));
        await store.upkeep.pruneEvents({ delivered: LATER, failed: LATER }, null);
        work = () => store.upkeep.pruneKeys(null);
      }
      expect(await freeWhileWaiting(url, lineOf("a"), lineOf("b"), work)).toBe(1);
    },
  );

  it.each(["replay", "cancel"] as const)("are of lines in the order of their endpoints: %s", async (what) => {
    const { store, url } = await open();
    const early = await addEndpoint(store);
    const late = await addEndpoint(store, BY_KEY);
    await publish(store, "a");
    await store.endpoints.update(null, early, (before) => ({ ...before, ...BY_KEY }), START);
    const [event] = (await publish(store, "a")) as [string];
    for (const endpoint of [early, late, late]) {
      if (what === "replay") await store.deliveries.record((await dueAt(store, endpoint)).map(failed));
    }
    const work = (): Promise<unknown> =>
      what === "replay" ? store.events.replay(null, event, {}, START) : store.events.cancel(null, event, null);
    expect(await freeWhileWaiting(url, lineAt(early), lineAt(late), work)).toBe(1);
  });

  it.each(["expire", "sweep"] as const)("are of lines before deliveries: %s", async (what) => {
    const { store, url } = await open();
    const endpoint = await addEndpoint(store, BY_KEY);
    await publish(store, "a");
    await store.endpoints.update(null, endpoint, (before) => ({ ...before, enabled: false }), START);
    const work = (): Promise<unknown> =>
      what === "expire" ? store.upkeep.expireHeld(LATER, LATER) : store.endpoints.delete(null, endpoint, START);
    expect(await freeWhileWaiting(url, lineOf("a"), "SELECT 1 FROM delivery", work)).toBe(1);
  });

  it.each(["replay", "replay by a job", "add by a job"] as const)("are of lines before events: %s", async (what) => {
    const { store, url } = await open();
    const endpoints = [await addEndpoint(store, BY_KEY), await addEndpoint(store, BY_KEY)];
    const [event] = (await publish(store, "a")) as [string];
    for (const endpoint of endpoints) await store.deliveries.record((await dueAt(store, endpoint)).map(failed));
    let work: () => Promise<unknown> = () => store.events.replay(null, event, {}, START);
    if (what === "replay by a job") work = await addJob(store, "replay", { status: "failed" });
    if (what === "add by a job") {
      const enable = (enabled: boolean) =>
        Promise.all(endpoints.map((id) => store.endpoints.update(null, id, (one) => ({ ...one, enabled }), START)));
      await Promise.all(
        endpoints.map((id) => store.endpoints.update(null, id, (one) => ({ ...one, whenDisabled: "skip" }), START)),
      );
      await enable(false);
      await publish(store, "a");
      await enable(true);
      work = await addJob(store, "replay", { missing: true });
    }
    expect(await freeWhileWaiting(url, lineAt(endpoints[1]!), "SELECT 1 FROM event LIMIT 1", work)).toBe(1);
  });

  it("are of all lines at once, if a publish and a record come together", async () => {
    const { store, url } = await open();
    const endpoint = await addEndpoint(store, BY_KEY);
    await publish(store, "a", "b");
    const b = (await dueAt(store, endpoint)).at(-1)!;
    const work = () => Promise.all([store.deliveries.record([delivered(b)]), publish(store, "a")]);
    expect(await freeWhileWaiting(url, lineOf("a"), lineOf("b"), work)).toBe(1);
  });

  it.each(["record", "publish"] as const)(
    "are not taken behind other work of the transaction: first a %s",
    async (what) => {
      const { store, url } = await open();
      const unordered = await addEndpoint(store);
      await publish(store, "b");
      const [other] = await dueAt(store, unordered);
      await addEndpoint(store, BY_KEY);
      await publish(store, "a");
      const works = [() => store.deliveries.record([delivered(other!)]), () => publish(store, "a")];
      if (what === "publish") works.reverse();
      const work = () => Promise.all(works.map((begin) => begin()));
      const others = `SELECT 1 FROM delivery d JOIN event e ON e.key = d.event WHERE e.ordering_key = 'b'`;
      expect(await freeWhileWaiting(url, lineOf("a"), others, work, "FOR UPDATE OF d")).toBe(1);
    },
  );

  it("let a replay go on while the endpoint's deliveries are being cancelled", async () => {
    const { store, url } = await open();
    const endpoint = await addEndpoint(store, BY_KEY);
    await publish(store, "a");
    const sweep = () => store.endpoints.delete(null, endpoint, START);
    // A replay takes this lock after those of the lines.
    expect(await freeWhileWaiting(url, lineOf("a"), "SELECT 1 FROM endpoint", sweep, "FOR KEY SHARE")).toBe(1);
  });

  it.each(["publish", "record"] as const)("are held for few answers of the server: %s", async (what) => {
    const sent: string[] = [];
    const { store, url } = await open((database) => {
      const transaction = database.transaction.bind(database);
      database.transaction = (work, mark) =>
        transaction((tx) => work({ ...tx, rows: (sql, values) => (sent.push(sql), tx.rows(sql, values)) }), mark);
    });
    const endpoint = await addEndpoint(store, BY_KEY);
    await publish(store, "a", "a");
    const claims = await dueAt(store, endpoint);
    sent.length = 0;
    const work = () => (what === "publish" ? publish(store, "a") : store.deliveries.record(claims.map(delivered)));
    let asked: readonly string[] = [];
    const whileWaiting = async () => {
      const done = work();
      await vi.waitFor(() => expect(sent.some((sql) => sql.includes("ordering_key"))).toBe(true), { timeout: 10_000 });
      asked = sent.slice();
      await done;
    };
    await freeWhileWaiting(url, lineOf("a"), "SELECT 1 FROM event", whileWaiting);
    // The server has the next question when it gets the lock.
    expect(asked.some((sql) => sql.includes("held_sequence"))).toBe(true);
  });

  it("are found one by one by a publish, also with a plan that was made for a single key", async () => {
    const sent: string[] = [];
    const { store, url } = await open((database) => {
      const transaction = database.transaction.bind(database);
      database.transaction = (work, mark) =>
        transaction((tx) => work({ ...tx, rows: (sql, values) => (sent.push(sql), tx.rows(sql, values)) }), mark);
    });
    await addEndpoint(store, BY_KEY);
    await publish(store, "a");
    const sql = sent.find((one) => one.includes("held_sequence"))!;
    const plan = await withClient(url, async (client) => {
      await client.query("ANALYZE");
      const settings = { ...BY_KEYS, plan_cache_mode: "force_generic_plan" };
      for (const [name, value] of Object.entries(settings)) await client.query(`SET ${name} = ${value}`);
      await client.query(`PREPARE lines AS ${sql}`);
      const { rows } = await client.query<{ "QUERY PLAN": string }>("EXPLAIN EXECUTE lines ('{1}', '{a}')");
      return rows.map((row) => row["QUERY PLAN"]).join("\n");
    });
    expect(plan).toMatch(/on ordering_key o.*\n *Index Cond: \(\(endpoint = n\.endpoint\) AND \(key = n\.key\)\)/);
  });

  it("let no key be held by a failure that one node records while another deletes the endpoint", async () => {
    let between: (() => Promise<void>) | null = null;
    const { start, store: deleting, url } = await open();
    const recording = await start((database) => {
      const transaction = database.transaction.bind(database);
      const paused = async <R extends object>(rows: Promise<R[]>, sql: string) => {
        const facts = await rows;
        const pause = sql.includes("held_sequence") ? between : null;
        if (pause !== null) between = null;
        await pause?.();
        return facts;
      };
      database.transaction = (work, mark) =>
        transaction((tx) => work({ ...tx, rows: (sql, values) => paused(tx.rows(sql, values), sql) }), mark);
    });
    const held = async () => (await withClient(url, (client) => client.query("SELECT 1 FROM held_key"))).rowCount;
    const endpoint = await addEndpoint(recording, { ...BY_KEY, afterFailure: "hold" });
    await publish(recording, "a", "a");
    let deleted: Promise<unknown> | null = null;
    between = async () => {
      deleted = deleting.endpoints.delete(null, endpoint, START);
      const sql = "SELECT 1 FROM endpoint WHERE deleted_at IS NOT NULL";
      await vi.waitFor(async () => expect((await withClient(url, (client) => client.query(sql))).rowCount).toBe(1), {
        timeout: 10_000,
      });
    };
    await recording.deliveries.record((await dueAt(recording, endpoint)).map(failed));
    await deleted;
    expect(await held()).toBe(1);
    expect(await deleting.upkeep.freeKeys(START)).toBe(1);
    expect(await held()).toBe(0);
  });

  it("are not taken each second while keys are held as their endpoints want", async () => {
    let commits = 0;
    const { store } = await open((database) => {
      const transaction = database.transaction.bind(database);
      database.transaction = (work, mark) => (commits++, transaction(work, mark));
    });
    const endpoint = await addEndpoint(store, { ...BY_KEY, afterFailure: "hold" });
    await publish(store, "a");
    await store.deliveries.record((await dueAt(store, endpoint)).map(failed));
    const before = commits;
    expect(await store.upkeep.freeKeys(START)).toBe(0);
    expect(commits).toBe(before);
  });
});
