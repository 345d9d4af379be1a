/** Several nodes on one database: which of them owns an endpoint, and what happens to the attempts of another node. */
import type { Client } from "pg";
import { afterAll, describe, expect, it } from "vitest";
import type { RemoteChanges, OwnedSlots, SharedStream, Store, StreamBatch } from "../../../src/store/store.ts";
import { slotOf } from "../../../src/store/postgres/endpoints/endpoint-rows.ts";
import { CommitInDoubt } from "../../../src/store/postgres/engine/commit.ts";
import type { Database } from "../../../src/store/postgres/engine/database.ts";
import { SCHEMA_VERSION, STEPS, type Step } from "../../../src/store/postgres/engine/schema.ts";
import { ManualClock } from "../../harness/clock.ts";
import { startServer, withClient } from "../../harness/postgres.ts";
import {
  addEndpoint,
  again,
  delivered,
  draft,
  dueNow,
  EVERYTHING,
  failed,
  newEndpoint,
  withoutCapacity,
  publishOne,
  withCapacity,
  START,
} from "../fixtures.ts";
import { createDatabase, openPostgresDatabase, temporaryDirectory } from "../stores.ts";
import { unawaited } from "../../../src/domain/unawaited.ts";

const server = await startServer();
if (server === null) console.warn("SKIPPED: there is no PostgreSQL for this platform to run nodes on");
afterAll(() => server?.stop());

const LEASE_MS = 60_000;
/** The steps of a later version. */
const LATER: readonly Step[] = [...STEPS, "ALTER TABLE endpoint ADD COLUMN note text"];

/**
 * Returns a database, a function that starts a node on it, and one that ends the lease of the nth node, now or later.
 */
async function shared() {
  const url = server!.urlOf(await createDatabase(server!));
  const [dir, clock] = [temporaryDirectory(), new ManualClock()];
  const start = (more: { dir?: string; steps?: readonly Step[]; onDatabase?: (database: Database) => void } = {}) =>
    openPostgresDatabase(url, { dir, clock, leaseMs: LEASE_MS, ...more });
  const sql = "UPDATE node SET lease_until = now() + $2 * interval '1 millisecond' WHERE number = $1";
  const runOut = (node: number, inMs = 0) => withClient(url, (client) => client.query(sql, [node, inMs]));
  return { url, clock, start, runOut };
}

/** Renews the lease and returns the slots that the node owns. It gives up the slots that it has to at once. */
async function renew(store: Store): Promise<ReadonlySet<number>> {
  const { owned } = (await store.ownership.renew()).endpoints as OwnedSlots;
  await store.ownership.give(new Set());
  return owned;
}

/** Returns how many connections to the database wait for a lock. */
async function locksWaitedFor(client: Client): Promise<number> {
  const sql = `SELECT count(*)::integer AS n FROM pg_stat_activity
    WHERE wait_event_type = 'Lock' AND datname = current_database()`;
  return (await client.query<{ n: number }>(sql)).rows[0]!.n;
}

async function newsOf(store: Store): Promise<RemoteChanges> {
  const news = await store.ownership.remoteChanges();
  await store.ownership.acknowledgeChanges();
  return news;
}

const NO_NEWS = { waiting: [], requested: [], withdrawn: [], changed: [] };

/** Creates an endpoint for each node, and returns their ids. */
async function endpointsOf(a: Store, nodes: readonly ReadonlySet<number>[]): Promise<string[]> {
  const found: (string | undefined)[] = nodes.map(() => undefined);
  while (found.includes(undefined)) {
    const id = await addEndpoint(a);
    const owner = nodes.findIndex((owned) => owned.has(slotOf(id)));
    if (found[owner] === undefined) found[owner] = id;
    else await a.endpoints.delete(null, id, START);
  }
  return found as string[];
}

describe.skipIf(server === null)("nodes that share a PostgreSQL", () => {
  it("divide all slots between them, so that each has one owner", async () => {
    const { start } = await shared();
    const a = await start();
    expect((await renew(a)).size).toBe(1024);
    const b = await start();
    expect((await renew(b)).size).toBe(0);
    const ofA = await renew(a);
    const ofB = await renew(b);
    expect([ofA.size, ofB.size]).toEqual([512, 512]);
    expect([...ofA].filter((slot) => ofB.has(slot))).toEqual([]);
  });

  it("keep all they have beside one that is refused for its secret key", async () => {
    const { start, url } = await shared();
    const a = await start();
    await renew(a);
    await expect(start({ dir: temporaryDirectory() })).rejects.toMatchObject({ exitCode: 1 });
    expect((await renew(a)).size).toBe(1024);
    expect((await a.ownership.nodes()).map(({ name }) => name)).toEqual(["host"]);
    await withClient(url, async (client) => {
      await expect(start({ dir: temporaryDirectory(), steps: LATER })).rejects.toThrow(
        "is not the one this database was sealed with",
      );
      const { rows } = await client.query("SELECT value FROM meta WHERE name = 'schema'");
      expect(rows).toEqual([{ value: String(SCHEMA_VERSION) }]);
    });
  });

  it("keep a slot of which something is on the wire, until that has ended", async () => {
    const { start } = await shared();
    const a = await start();
    await renew(a);
    const b = await start();
    const all = (await a.ownership.renew()).endpoints as OwnedSlots;
    let endpoint = await addEndpoint(a);
    const isLeaving = () => !all.owned.has(slotOf(endpoint));
    while (!isLeaving()) endpoint = await addEndpoint(a);
    await a.ownership.give(new Set([endpoint]));
    expect(await renew(b)).not.toContain(slotOf(endpoint));
    await renew(a);
    expect(await renew(b)).toContain(slotOf(endpoint));
  });

  it("take over what a node had whose lease ran out, and not before", async () => {
    const { runOut, start } = await shared();
    const a = await start();
    expect((await renew(a)).size).toBe(1024);
    const b = await start();
    expect((await renew(b)).size).toBe(0);
    await runOut(0);
    expect((await renew(b)).size).toBe(1024);
    // The node whose lease ran out must end.
    await expect(renew(a)).rejects.toMatchObject({ code: "storage_unavailable" });
    await expect(publishOne(a)).rejects.toMatchObject({ code: "storage_unavailable" });
  });

  it("erase what a receiver answers while the event is erased on another", async () => {
    const { start, url } = await shared();
    const a = await start();
    await renew(a);
    const b = await start();
    await addEndpoint(a);
    const { id, fresh } = await publishOne(a);
    const waiting = () => expect.poll(() => withClient(url, locksWaitedFor), { interval: 10 });
    const attempts = "SELECT body, details::json -> 'responseHeaders' AS headers FROM attempt";
    await withClient(url, (first) =>
      withClient(url, async (second) => {
        // The erasure has cancelled the deliveries, and waits.
        await first.query("BEGIN; SELECT 1 FROM event FOR KEY SHARE");
        const erasing = b.events.erase(null, id, START);
        await waiting().toBe(1);
        // The attempt has found the body, and is not written yet.
        await second.query("BEGIN");
        await second.query(
          `INSERT INTO attempt (event, endpoint, number, url, trigger, round, retry, started_at, duration_ms, outcome, truncated)
           SELECT event, endpoint, 1, '', 0, 1, 0, 0, 0, 0, 0 FROM delivery`,
        );
        const recording = a.deliveries.record([failed(fresh[0]!)]);
        await waiting().toBe(2);
        await first.query("ROLLBACK");
        let isErased = false;
        unawaited(erasing.then(() => (isErased = true)));
        await expect
          .poll(async () => isErased || (await withClient(url, locksWaitedFor)) === 2, { interval: 10 })
          .toBe(true);
        await second.query("ROLLBACK");
        await Promise.all([erasing, recording]);
        expect((await second.query(attempts)).rows).toEqual([{ body: null, headers: {} }]);
      }),
    );
  });

  it("end the portal links of a key with it, also one that is being made on another", async () => {
    const { start, url } = await shared();
    const [a, b] = [await start(), await start()];
    const key = { name: "a key", hash: Buffer.alloc(32), scopes: ["read"] as const, tenant: "acme", expiresAt: null };
    await a.keys.add({ ...key, id: "key_1" }, START);
    const waiting = () => expect.poll(() => withClient(url, locksWaitedFor), { interval: 10 });
    await withClient(url, async (client) => {
      // The link's key is written, but not its own row.
      await client.query("BEGIN");
      await client.query(
        `INSERT INTO api_key (number, id, name, hash, scopes, tenant, created_at)
         SELECT number + 1, 'key_2', name, hash, scopes, tenant, created_at FROM api_key WHERE id = 'key_1'`,
      );
      const portal = { endpoints: null, returnUrl: null, madeBy: "key_1" };
      const adding = b.keys.add({ ...key, id: "key_2", portal }, START);
      await waiting().toBe(1);
      let isRevoked = false;
      const revoking = a.keys.revoke("key_1", START + 1).then(() => (isRevoked = true));
      const goesOn = async () => isRevoked || (await withClient(url, locksWaitedFor)) === 2;
      await expect.poll(goesOn, { interval: 10 }).toBe(true);
      await client.query("ROLLBACK");
      await Promise.all([adding, revoking]);
    });
    expect(await a.keys.get("key_2")).toMatchObject({ revokedAt: START + 1 });
  });

  it("let nothing of an endpoint expire that another one enables at that moment", async () => {
    const { start, url } = await shared();
    const a = await start();
    await renew(a);
    const b = await start();
    const endpoint = await addEndpoint(a);
    await a.endpoints.update(null, endpoint, (settings) => ({ ...settings, enabled: false }), START);
    const [held] = await a.events.publish([draft()], START, withoutCapacity);
    await withClient(url, async (client) => {
      await client.query("BEGIN; UPDATE endpoint SET enabled = 1");
      let isOver = false;
      const expiring = b.upkeep.expireHeld(START + 1000, START + 2000).finally(() => (isOver = true));
      await expect.poll(async () => isOver || (await withClient(url, locksWaitedFor)) === 1).toBe(true);
      await client.query("COMMIT");
      expect(await expiring).toBe(0);
    });
    expect(await dueNow(a, endpoint)).toMatchObject([{ event: held!.id }]);
  });

  it("know when the lease of another may run out, and look again then", async () => {
    const { runOut, start } = await shared();
    const a = await start();
    await renew(a);
    const b = await start();
    await renew(b);
    await runOut(0, 2000);
    const again = async () => ((await b.ownership.renew()).endpoints as OwnedSlots).againInMs;
    const inMs = await again();
    expect(inMs).toBeGreaterThan(0);
    expect(inMs).toBeLessThanOrEqual(2100);
    await runOut(0);
    expect((await renew(b)).size).toBe(1024);
    // All slots have an owner, and there is no other node.
    expect(await again()).toBeNull();
  });

  it("look again soon for what a node has that died in the middle of a commit", async () => {
    const { runOut, start, url } = await shared();
    const a = await start();
    await renew(a);
    const b = await start();
    await runOut(0);
    await withClient(url, async (client) => {
      await client.query("BEGIN; SELECT 1 FROM node FOR KEY SHARE");
      const { owned, againInMs } = (await b.ownership.renew()).endpoints as OwnedSlots;
      expect([owned.size, againInMs]).toEqual([0, 100]);
      await client.query("ROLLBACK");
    });
    expect((await renew(b)).size).toBe(1024);
  });

  it("spare each other after the database was away from all of them", async () => {
    const { clock, runOut, start } = await shared();
    const [a, b] = [await start(), await start()];
    await renew(a);
    await renew(b);
    await renew(a);
    expect((await renew(b)).size).toBe(512);
    // Both nodes are late by more than a lease, by their own clocks. The first to return must not end the other.
    await runOut(1);
    clock.advance(LEASE_MS + 1);
    expect((await renew(a)).size).toBe(512);
    expect((await renew(b)).size).toBe(512);
    await publishOne(b);
    // A node that does not return is still lost.
    await runOut(1);
    clock.advance(LEASE_MS + 1 - 3000);
    await renew(a);
    clock.advance(3000);
    expect((await renew(a)).size).toBe(1024);
  });

  it("renew their lease while a commit of theirs takes long", async () => {
    const { start, url } = await shared();
    const a = await start();
    await renew(a);
    await withClient(url, async (client) => {
      await client.query("BEGIN; LOCK TABLE event IN ACCESS EXCLUSIVE MODE");
      const publishing = publishOne(a);
      const waits = async () => {
        const { rows } = await client.query("SELECT 1 FROM pg_locks WHERE NOT granted");
        return rows.length > 0;
      };
      await expect.poll(waits, { interval: 10 }).toBe(true);
      await a.ownership.renew();
      await client.query("ROLLBACK");
      await publishing;
    });
  });

  it("take nothing over in the middle of a commit, though the lease has run out", async () => {
    const { runOut, start, url } = await shared();
    const a = await start();
    await renew(a);
    const b = await start();
    await withClient(url, async (client) => {
      await client.query("BEGIN; LOCK TABLE event IN ACCESS EXCLUSIVE MODE");
      const publishing = publishOne(a);
      const isHeldUp = "SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'event'::regclass";
      await expect.poll(async () => (await client.query(isHeldUp)).rowCount, { interval: 10 }).toBe(1);
      await runOut(0);
      expect((await renew(b)).size).toBe(0);
      await client.query("COMMIT");
      await publishing;
      expect((await renew(b)).size).toBe(1024);
    });
  });

  it("renew their lease and take over from the dead while the stream is slow, and while it fails", async () => {
    const { runOut, start, url } = await shared();
    const a = await start();
    await renew(a);
    const b = await start();
    await withClient(url, async (client) => {
      const listen = (on: boolean) => client.query("UPDATE node SET listens = $1 WHERE number = 0", [on]);
      await listen(true);
      await client.query("BEGIN; LOCK TABLE stream IN ACCESS EXCLUSIVE MODE");
      expect((await renew(a)).size).toBe(512);
      expect((await renew(b)).size).toBe(512);
      await client.query("COMMIT");
      const gapIn = async (table: string) => (await client.query(`SELECT 1 FROM ${table} WHERE text IS NULL`)).rowCount;
      // Each node announces that it begins to write to the stream.
      await expect.poll(() => gapIn("stream_batch"), { interval: 10 }).toBe(2);
      await client.query("ALTER TABLE stream_batch RENAME TO broken");
      await runOut(1);
      expect((await renew(a)).size).toBe(1024);
      // The dead node's missing messages are marked as a gap as soon as the table can be written.
      await client.query("ALTER TABLE broken RENAME TO stream_batch");
      await expect.poll(() => renew(a).then(() => gapIn("stream_batch")), { interval: 10 }).toBe(3);
      await client.query("ALTER TABLE stream_batch RENAME TO broken");
      await a.ownership.release();
      expect((await client.query("SELECT 1 FROM node")).rowCount).toBe(0);
    });
  });

  it("write down how their endpoints fare, also if that waits for a take-over", async () => {
    const { start, url } = await shared();
    const [a, b] = [await start(), await start()];
    await renew(a);
    await renew(b);
    await endpointsOf(a, [await renew(a)]);
    const { fresh } = await publishOne(a);
    await a.deliveries.record([failed(fresh[0]!)]);
    await b.ownership.release();
    await withClient(url, async (client) => {
      await client.query("BEGIN; LOCK TABLE slot IN EXCLUSIVE MODE");
      const [renewing, isWaiting] = [renew(a), "SELECT 1 FROM pg_locks WHERE NOT granted"];
      await expect.poll(async () => (await client.query(isWaiting)).rowCount, { interval: 10 }).toBe(1);
      const saving = a.upkeep.saveHealth();
      await client.query("ROLLBACK");
      await Promise.all([renewing, saving]);
      const { rows } = await client.query("SELECT consecutive_failures FROM health");
      expect(rows).toEqual([{ consecutive_failures: 1 }]);
    });
  });

  it("take over at once what a node released", async () => {
    const { start } = await shared();
    const [a, b] = [await start(), await start()];
    await renew(a);
    await a.ownership.release();
    expect((await renew(b)).size).toBe(1024);
  });

  it("hand all they have to the others when they are drained, as long as one is left that takes part", async () => {
    const { start } = await shared();
    const [a, b] = [await start(), await start()];
    await renew(a);
    await renew(b);
    await renew(a);
    await renew(b);
    const names = (await a.ownership.nodes()).map(({ name, isThis, slots }) => ({ name, isThis, slots }));
    expect(names).toEqual([
      { name: "host", isThis: true, slots: 512 },
      { name: "host-2", isThis: false, slots: 512 },
    ]);
    expect(await a.ownership.drain("nobody", true)).toBe(false);
    expect(await a.ownership.drain("host-2", true)).toBe(true);
    expect((await renew(b)).size).toBe(0);
    expect((await renew(a)).size).toBe(1024);
    expect((await renew(b)).size).toBe(0);
    // A drained node still gets the notifications that it needs, and commits.
    await publishOne(b);
    // If all nodes are drained, they send anyway.
    await b.ownership.drain("host", true);
    await renew(a);
    await renew(b);
    expect([(await renew(a)).size, (await renew(b)).size]).toEqual([512, 512]);
    await a.ownership.drain("host", false);
    expect((await renew(b)).size).toBe(0);
    expect((await renew(a)).size).toBe(1024);
    expect(await b.ownership.drain("host-2", false)).toBe(true);
    await renew(a);
    expect((await renew(b)).size).toBe(512);
  });

  it("leave all sending to those of a newer version, as long as there is one", async () => {
    const { start, url } = await shared();
    const [a, b] = [await start(), await start()];
    for (const node of [a, b, a, b]) await renew(node);
    const raised = `UPDATE meta SET value = '${SCHEMA_VERSION + 1}' WHERE name = 'schema'`;
    await withClient(url, (client) => client.query(raised));
    // The newer node that raised the version may have been killed, so these two still send.
    for (const node of [a, b, a]) await renew(node);
    expect([(await renew(a)).size, (await renew(b)).size]).toEqual([512, 512]);
    const newer = await start({ steps: LATER });
    for (const node of [newer, a, b]) await renew(node);
    expect([(await renew(newer)).size, (await renew(a)).size, (await renew(b)).size]).toEqual([1024, 0, 0]);
    // The older nodes still publish, but undoing a drain does not make them send again.
    const endpoint = await addEndpoint(a);
    expect((await publishOne(b)).waiting).toMatchObject([{ endpoint }]);
    await a.ownership.drain("host", false);
    expect((await renew(a)).size).toBe(0);
    // A node of the older version that starts now is refused, even if it read the schema before.
    await expect(start()).rejects.toThrow("knows");
    await newer.ownership.release();
    await renew(a);
    await renew(b);
    expect([(await renew(a)).size, (await renew(b)).size]).toEqual([512, 512]);
  });

  it("show what each of them said last, its endpoints and its lease", async () => {
    const { clock, runOut, start } = await shared();
    const a = await start();
    const report = { oldestDueAt: START, inFlight: 3, halts: ["unreachable"] } as const;
    await a.ownership.renew(report);
    await addEndpoint(a);
    const before = Date.now();
    await start();
    await runOut(1);
    const [one, two] = await a.ownership.nodes();
    expect(one).toMatchObject({ name: "host", host: "host", pid: process.pid, version: "1.2.3", report });
    expect(one).toMatchObject({ endpoints: 1, slots: 1024, isLost: false, draining: false });
    expect(Math.abs(one!.renewedAt - before)).toBeLessThan(10_000);
    expect(two).toMatchObject({ name: "host-2", isLost: true, report: null, endpoints: 0 });
    // The next process takes over the name of a killed one.
    const c = await start();
    expect((await c.ownership.nodes()).map(({ name }) => name)).toContain("host-2");
    clock.advance(10_000);
    expect((await c.ownership.nodes()).map(({ endpoints }) => endpoints)).toEqual([1, 0]);
  });

  it("tell those who listen on any of them the same, with the same numbers", async () => {
    const { runOut, start } = await shared();
    const [a, b] = [await start(), await start()];
    for (const node of [a, b]) await renew(node);
    const [one, other] = [a.ownership.stream!, b.ownership.stream!];
    expect([one.isWanted, other.isWanted]).toEqual([false, false]);
    /** The other node learns at its renewal that somebody follows the stream. */
    const follow = async (stream: SharedStream, also: Store) => {
      const heard: StreamBatch[] = [];
      let isReady = false;
      const ready = stream.follow((batch) => heard.push(batch)).then(() => (isReady = true));
      await expect.poll(() => renew(also).then(() => isReady), { interval: 10 }).toBe(true);
      await ready;
      return heard;
    };
    const byA = await follow(one, b);
    expect(other.isWanted).toBe(true);
    expect(other.life).toBe(one.life);
    const first = byA.at(-1)!.number;
    await Promise.all([one.tell("a"), other.tell("b"), one.tell("c"), other.tell("x".repeat(1_000_001))]);
    const after = (heard: readonly StreamBatch[]) => heard.filter(({ number }) => number > first);
    await expect.poll(() => after(byA).length).toBe(4);
    expect(after(byA).map(({ number }) => number)).toEqual([1, 2, 3, 4].map((more) => first + more));
    expect(new Set(after(byA).map(({ text }) => text))).toEqual(new Set(["a", "b", "c", null]));
    const byB = await follow(other, a);
    expect(after(byB)).toEqual(after(byA));
    // The messages that a lost node did not write are gone.
    await runOut(1);
    await renew(a);
    await expect.poll(() => after(byA).length).toBe(5);
    expect(byA.at(-1)).toEqual({ number: first + 5, text: null });
    one.rest();
    other.rest();
    const isWanted = () => renew(a).then(() => one.isWanted);
    await expect.poll(isWanted).toBe(false);
  });

  it("have those who listen read their lists again after what could not be told, though nothing more happens", async () => {
    const { start, url } = await shared();
    const a = await start();
    await renew(a);
    const stream = a.ownership.stream!;
    const heard: StreamBatch[] = [];
    await stream.follow((batch) => heard.push(batch));
    const before = heard.length;
    await withClient(url, async (client) => {
      await client.query(
        `CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$
           BEGIN RAISE 'could not extend file' USING ERRCODE = 'disk_full'; END $$;
         CREATE TRIGGER full_disk BEFORE INSERT ON stream_batch FOR EACH ROW EXECUTE FUNCTION full_disk()`,
      );
      await expect(stream.tell("lost")).rejects.toMatchObject({ code: "storage_full" });
      await client.query("DROP TRIGGER full_disk ON stream_batch");
    });
    await renew(a);
    await expect.poll(() => heard.slice(before).map(({ text }) => text)).toEqual([null]);
    stream.rest();
  });

  it("hand what people are to be told to one who takes it, once", async () => {
    const { start } = await shared();
    const [a, b] = [await start(), await start()];
    await a.ownership.alerts!.hand(["one", "two"]);
    await b.ownership.alerts!.hand(["three"]);
    const takenBy = (store: Store, before: number) => store.ownership.alerts!.take(before);
    expect(await takenBy(a, START)).toEqual([]);
    const taken = await Promise.all([a, b].map((store) => takenBy(store, START + 1000)));
    expect(taken.flat().toSorted()).toEqual(["one", "three", "two"]);
    expect(await takenBy(a, START + 1000)).toEqual([]);
  });

  it("know of which of their endpoints people were told that they are failing, also of those that come to them", async () => {
    const { clock, start } = await shared();
    const a = await start();
    // This node owns all slots, so the endpoint is in one of its own.
    expect((await renew(a)).size).toBe(1024);
    const b = await start();
    const [one, other] = [a.ownership.alerts!, b.ownership.alerts!];
    const endpoint = await addEndpoint(a);
    const failing = { endpoint, failingSince: START };
    expect(await one.reported()).toEqual([]);
    const told = await Promise.all([one, other].map((alerts) => alerts.failing([failing])));
    expect(told.map(({ size }) => size).toSorted()).toEqual([0, 1]);
    expect(await one.reported()).toBeNull();
    // The failure may have been reported by the node that owned the endpoint before.
    clock.advance(90_000);
    expect(await one.reported()).toEqual([failing]);
    await a.ownership.release();
    await renew(b);
    expect(await other.reported()).toEqual([failing]);
    await other.ended([endpoint]);
    expect(await other.failing([failing])).toEqual(new Set([endpoint]));
    await b.endpoints.delete(null, endpoint, START);
    await other.failing([]);
    clock.advance(90_000);
    expect(await other.reported()).toEqual([]);
  });

  it("leave to its owner what they publish for it, who finds it without being told", async () => {
    const { start } = await shared();
    const [a, b] = [await start(), await start()];
    await renew(a);
    await renew(b);
    const nodes = [await renew(a), await renew(b)];
    const [ofA, ofB] = (await endpointsOf(a, nodes)) as [string, string];
    // This takes the notifications of the extra endpoints that `endpointsOf` created and deleted.
    await newsOf(b);
    const { id, fresh, waiting } = await publishOne(a);
    expect(fresh.map(({ endpoint }) => endpoint)).toEqual([ofA]);
    expect(waiting).toEqual([{ endpoint: ofB, event: id, dueAt: START }]);
    const news = { ...NO_NEWS, waiting: [{ endpoint: ofB, event: "", dueAt: START }] };
    expect(await b.ownership.remoteChanges()).toEqual(news);
    expect(await newsOf(b)).toEqual(news);
    expect(await newsOf(b)).toEqual(NO_NEWS);
    expect(await newsOf(a)).toEqual(NO_NEWS);
    const claims = await dueNow(b, ofB);
    expect(claims).toMatchObject([{ event: id, number: 1, fresh: true }]);
    expect(await b.deliveries.record([delivered(claims[0]!)])).toMatchObject([{ result: "applied" }]);
    expect(await a.reads.getEvent(null, id)).toMatchObject({ status: "pending" });
    await a.deliveries.record([delivered(fresh[0]!)]);
    expect(await b.reads.getEvent(null, id)).toMatchObject({ status: "delivered" });
  });

  it("send what a dead node was to send at once", async () => {
    const { runOut, start } = await shared();
    const a = await start();
    await renew(a);
    const endpoint = await addEndpoint(a);
    const { id, fresh } = await publishOne(a);
    expect(fresh).toHaveLength(1);
    const b = await start();
    expect(await dueNow(b, endpoint)).toEqual([]);
    await runOut(0);
    expect((await renew(b)).size).toBe(1024);
    expect(await b.deliveries.earliestDue(null, 10)).toEqual(new Map([[endpoint, START]]));
    expect(await a.deliveries.fresh(null, 10)).toEqual([]);
    expect(await dueNow(b, endpoint)).toMatchObject([{ event: id, number: 1 }]);
  });

  it.each([
    ["published", "LOCK TABLE event IN EXCLUSIVE MODE", (a: Store) => publishOne(a)],
    ["replayed", "SELECT 1 FROM delivery FOR UPDATE", (a: Store, id: string) => a.events.replay(null, id, {}, START)],
  ])("leave nothing pending that is %s while another node deletes its endpoint", async (_, holdUp, act) => {
    const { start, url } = await shared();
    const a = await start();
    await renew(a);
    const b = await start();
    await renew(b);
    const [endpoint] = await endpointsOf(a, [await renew(a), await renew(b)]);
    const { id, fresh } = await publishOne(a);
    await a.deliveries.record(fresh.map((claim) => failed(claim)));
    await withClient(url, async (client) => {
      // A has read the endpoint, and waits until B has deleted it, or until B waits for A.
      await client.query("BEGIN");
      await client.query(holdUp);
      const acting: Promise<unknown> = act(a, id);
      await expect.poll(() => locksWaitedFor(client)).toBeGreaterThanOrEqual(1);
      let isDeleted = false;
      const deleting = b.endpoints.delete(null, endpoint!, START).then(() => (isDeleted = true));
      await expect.poll(async () => isDeleted || (await locksWaitedFor(client)) >= 2).toBe(true);
      await client.query("COMMIT");
      await Promise.all([acting, deleting]);
      const pending = `SELECT d.event FROM delivery d JOIN endpoint e ON e.number = d.endpoint
        WHERE d.status < 2 AND e.deleted_at IS NOT NULL`;
      expect((await client.query(pending)).rows).toEqual([]);
    });
  });

  it("make an endpoint anew that another node deletes while this one is about to replace it", async () => {
    const { start, url } = await shared();
    const a = await start();
    await renew(a);
    const [first, second] = [newEndpoint({ uid: "orders" }), newEndpoint({ uid: "orders" })];
    const put = (one: typeof first) => a.endpoints.put({ ...one, uid: "orders" }, () => one, 10, START);
    await put(first);
    await withClient(url, async (client) => {
      await client.query("BEGIN");
      await client.query("UPDATE endpoint SET deleted_at = $1 WHERE id = $2", [START, first.id]);
      const putting = put(second);
      await expect.poll(() => locksWaitedFor(client)).toBe(1);
      await client.query("COMMIT");
      expect(await putting).toMatchObject({ isNew: true, endpoint: { id: second.id } });
    });
  });

  it("commit beside each other where the database is strict by default", async () => {
    const { start, url } = await shared();
    await withClient(url, async (client) => {
      const database = new URL(url).pathname.slice(1);
      await client.query(`ALTER DATABASE ${database} SET default_transaction_isolation = 'serializable'`);
    });
    const [a, b] = [await start(), await start()];
    await renew(a);
    await renew(b);
    const telling = [a, b].flatMap(({ ownership }) => Array.from({ length: 50 }, () => ownership.stream!.tell("{}")));
    await Promise.all(telling);
  });

  it("renew their leases and read what is due while long questions are answered", async () => {
    const { start, url } = await shared();
    const a = await start();
    await renew(a);
    const endpoint = await addEndpoint(a);
    await withClient(url, async (client) => {
      await client.query("BEGIN");
      await client.query("LOCK TABLE audit IN ACCESS EXCLUSIVE MODE");
      const questions = Array.from({ length: 8 }, () => a.audit.list({ tenant: null, limit: 10, order: "newest" }));
      expect((await renew(a)).size).toBe(1024);
      expect(await dueNow(a, endpoint)).toEqual([]);
      await client.query("COMMIT");
      await Promise.all(questions);
    });
  });

  it("take nothing from one that lost its slots, whatever came of its attempts", async () => {
    const { runOut, start } = await shared();
    const a = await start();
    await renew(a);
    const endpoint = await addEndpoint(a);
    const [one, two] = (await a.events.publish([draft(), draft()], START, withCapacity)).map(({ fresh }) => fresh[0]!);
    const b = await start();
    await runOut(0);
    await renew(b);
    const claims = await dueNow(b, endpoint);
    await b.deliveries.record(claims.map((claim) => again(claim, START + 30_000)));
    const late = a.deliveries.record([failed(one!), delivered(two!)]);
    await expect(late).rejects.toMatchObject({ code: "storage_unavailable" });
    const statuses = await Promise.all(
      [one!, two!].map(async ({ event }) => (await b.reads.getEvent(null, event))!.status),
    );
    expect(statuses).toEqual(["pending", "pending"]);
  });

  it("tell the owner of an endpoint what was changed, asked for and taken back", async () => {
    const { start } = await shared();
    const [a, b] = [await start(), await start()];
    await renew(a);
    await renew(b);
    const [, ofB] = (await endpointsOf(a, [await renew(a), await renew(b)])) as [string, string];
    await newsOf(b);
    const { id } = await publishOne(a);
    const [claim] = await dueNow(b, ofB);
    await newsOf(b);
    const { endpoint, delivery } = claim!;
    await a.deliveries.requestAttempt(null, delivery, START);
    expect(await newsOf(b)).toEqual({ ...NO_NEWS, requested: [{ endpoint, delivery }] });
    await a.events.cancel(null, id, ofB);
    expect(await newsOf(b)).toEqual({ ...NO_NEWS, withdrawn: [{ endpoint, delivery }] });
    await a.endpoints.update(null, ofB, (settings) => ({ ...settings, enabled: false }), START);
    const heard = a.ownership.untilNotified([ofB]);
    expect(await newsOf(b)).toEqual({ ...NO_NEWS, changed: [ofB] });
    await heard;
    await a.endpoints.update(null, ofB, (settings) => ({ ...settings, enabled: true }), START);
    expect(await newsOf(b)).toEqual({ ...NO_NEWS, changed: [ofB] });
    await a.secrets.rotate(
      null,
      ofB,
      { secret: `whsec_${Buffer.alloc(32, 7).toString("base64")}`, switchesAt: START + 1000 },
      START,
    );
    expect(await newsOf(b)).toEqual({ ...NO_NEWS, changed: [ofB] });
    expect(await a.secrets.switchDue(START + 2000)).toEqual([ofB]);
    expect(await newsOf(b)).toEqual({ ...NO_NEWS, changed: [ofB] });
    await a.endpoints.delete(null, ofB, START);
    expect(await newsOf(b)).toEqual({ ...NO_NEWS, changed: [ofB] });
    expect(await newsOf(a)).toEqual(NO_NEWS);
  });

  it("let its own node alone say when an endpoint was delivered to last", async () => {
    const { start, url } = await shared();
    const [a, b] = [await start(), await start()];
    await renew(a);
    await renew(b);
    const [, ofB] = (await endpointsOf(a, [await renew(a), await renew(b)])) as [string, string];
    await newsOf(b);
    const succeed = async () => {
      await publishOne(a);
      const [claim] = await dueNow(b, ofB);
      await b.deliveries.record([delivered(claim!)]);
    };
    const lastSuccess = () =>
      withClient(url, async (client) => {
        const { rows } = await client.query("SELECT max(last_success_at) AS at FROM health");
        return Number(rows[0].at);
      });
    await a.endpoints.update(null, ofB, (settings) => ({ ...settings, enabled: false }), START);
    await a.endpoints.update(null, ofB, (settings) => ({ ...settings, enabled: true }), START);
    await succeed();
    await b.upkeep.saveHealth();
    const at = await lastSuccess();
    expect(at).toBeGreaterThan(0);
    await a.upkeep.saveHealth();
    expect(await lastSuccess()).toBe(at);
  });

  it("publish at the same time, with ids that never meet, and one event for each idempotency key", async () => {
    const { start } = await shared();
    const [a, b] = [await start(), await start()];
    await renew(a);
    await addEndpoint(a);
    const idempotency = { key: "k", fingerprint: Buffer.alloc(32, 1), expiresAt: START + 1000 };
    const publish = (store: Store) =>
      Array.from({ length: 20 }, () =>
        store.events.publish([draft({ idempotency }), ...Array(20).fill(draft())], START, withCapacity),
      );
    const all = (await Promise.all([...publish(a), ...publish(b)])).flat();
    const made = all.filter(({ duplicate }) => !duplicate).map(({ id }) => id);
    expect(new Set(made).size).toBe(801);
    expect(made).toHaveLength(801);
    const { data } = await b.reads.listEvents({ ...EVERYTHING, limit: 2000 });
    expect(data.map(({ id }) => id)).toEqual(made.toSorted());
  });

  it("give each request that registers its own number, and one uid to one of them", async () => {
    const { start } = await shared();
    const nodes = [await start(), await start()];
    const added = await Promise.allSettled(
      Array.from({ length: 20 }, (_, at) => addEndpoint(nodes[at % 2]!, at < 10 ? { uid: "same" } : {})),
    );
    expect(added.filter(({ status }) => status === "fulfilled")).toHaveLength(11);
    expect((await nodes[1]!.endpoints.list(EVERYTHING)).data).toHaveLength(11);
  });

  const statusOf = async (store: Store, event: string) => (await store.reads.getEvent(null, event))!.status;
  const cancelHeld = async (store: Store, endpoint: string) => {
    await store.endpoints.update(null, endpoint, (settings) => ({ ...settings, enabled: false }), START);
    await store.endpoints.update(null, endpoint, (settings) => ({ ...settings, enabled: true }), START, "cancel");
  };

  it("go on with what another one was cancelling when it died", async () => {
    const { clock, runOut, start } = await shared();
    const [a, b] = [await start(), await start()];
    await renew(a);
    const endpoint = await addEndpoint(a);
    const held = await publishOne(a);
    await cancelHeld(a, endpoint);
    await runOut(0);
    await renew(b);
    await b.upkeep.checkSpace();
    clock.advance(1000);
    const [published] = await b.events.publish([draft()], START, withoutCapacity);
    await expect.poll(() => dueNow(b, endpoint)).toMatchObject([{ event: published!.id }]);
    expect(await statusOf(b, held.id)).toBe("cancelled");
  });

  it("cancel nothing that another one, whose clock is behind, published afterwards", async () => {
    const { clock, start } = await shared();
    const [a, b] = [await start(), await start()];
    await renew(a);
    const endpoint = await addEndpoint(a);
    const held = await publishOne(a, {}, START + 5000);
    await cancelHeld(a, endpoint);
    const { id } = await publishOne(b, {}, START);
    clock.advance(1000);
    await expect.poll(() => dueNow(a, endpoint)).toMatchObject([{ event: id }]);
    expect(await statusOf(a, held.id)).toBe("cancelled");
    expect(await statusOf(a, id)).toBe("pending");
  });

  it("stay resumed, though the pause was committed late", async () => {
    const { clock, start } = await shared();
    let losesAnswer = false;
    const a = await start({
      onDatabase(database) {
        const transaction = database.transaction.bind(database);
        database.transaction = async (work, mark) => {
          const result = await transaction(work, mark);
          if (!losesAnswer) return result;
          losesAnswer = false;
          throw new CommitInDoubt(Promise.resolve(true), new Error("cut"));
        };
      },
    });
    const pauseLate = async (reason: string) => {
      losesAnswer = true;
      const pause = { reason, by: "somebody", at: clock.now() };
      expect(await a.operations.pause(pause)).toMatchObject({ reason, saved: false });
    };
    await pauseLate("one");
    expect(await a.operations.resume()).toBe(true);
    expect(await a.operations.getPause()).toBeNull();
    await pauseLate("two");
    losesAnswer = true;
    expect(await a.operations.resume()).toBe(true);
    expect(await a.operations.getPause()).toBeNull();
    // A pause by another node stays.
    const b = await start();
    await b.operations.pause({ reason: "three", by: "somebody", at: clock.now() });
    await a.upkeep.checkSpace();
    expect(await a.operations.getPause()).toMatchObject({ reason: "three" });
    expect(await a.operations.resume()).toBe(true);
    expect(await b.operations.getPause()).toBeNull();
  });

  it("never have the same name, also where two would take that of one that is gone", async () => {
    const { start, url } = await shared();
    const [one, ...others] = [await start(), await start(), await start()];
    await one.close();
    await withClient(url, async (client) => {
      await client.query("BEGIN");
      await client.query("SELECT 1 FROM node FOR NO KEY UPDATE");
      const renewed = others.map((node) => node.ownership.renew());
      const sql = `SELECT 1 FROM pg_stat_activity
        WHERE datname = current_database() AND query LIKE 'UPDATE node%' AND wait_event_type = 'Lock'`;
      const waiting = () => withClient(url, async (onlooker) => (await onlooker.query(sql)).rowCount);
      await expect.poll(waiting).toBe(2);
      await client.query("COMMIT");
      await Promise.all(renewed);
    });
    expect((await others[0]!.ownership.nodes()).map(({ name }) => name)).toEqual(["host", "host-3"]);
  });

  it("forget what failed before an endpoint was enabled, also if the node that enabled it died at once", async () => {
    const { runOut, start } = await shared();
    const a = await start();
    await renew(a);
    const b = await start();
    const endpoint = await addEndpoint(a);
    const { fresh } = await publishOne(a);
    await a.deliveries.record([again(fresh[0]!, START)]);
    await a.upkeep.saveHealth();
    const enable = (enabled: boolean) =>
      a.endpoints.update(null, endpoint, (settings) => ({ ...settings, enabled }), START);
    await enable(false);
    await enable(true);
    await runOut(0);
    await renew(b);
    expect(await b.endpoints.failingSince(endpoint)).toBeNull();
  });
});
