/** Several nodes on one database: whose an endpoint is, and what happens to what another node was to send. */
import { afterAll, describe, expect, it } from "vitest";
import type { OwnedSlots, Store } from "../../../src/store/store.ts";
import { slotOf } from "../../../src/store/postgres/endpoints/endpoint-rows.ts";
import { ManualClock } from "../../harness/clock.ts";
import { startServer } from "../../harness/postgres.ts";
import {
  addEndpoint,
  again,
  delivered,
  draft,
  dueNow,
  EVERYTHING,
  failed,
  publishOne,
  room,
  START,
} from "../fixtures.ts";
import { createDatabase, openPostgresDatabase, temporaryDirectory } from "../stores.ts";

const server = await startServer();
if (server === null) console.warn("SKIPPED: there is no PostgreSQL for this platform to run nodes on");
afterAll(() => server?.stop());

const LEASE_MS = 60_000;

/** One database, and a function that starts a node on it. */
async function shared() {
  const url = server!.urlOf(await createDatabase(server!));
  const [dir, clock] = [temporaryDirectory(), new ManualClock()];
  return { clock, start: (leaseMs = LEASE_MS) => openPostgresDatabase(url, { dir, clock, leaseMs }) };
}

async function renew(store: Store): Promise<ReadonlySet<number>> {
  return ((await store.ownership.renew()).endpoints as OwnedSlots).owned;
}

/** An endpoint of each node. */
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

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

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

  it("take over what a node had whose lease ran out, and not before", async () => {
    const { start } = await shared();
    const a = await start(1500);
    expect((await renew(a)).size).toBe(1024);
    const b = await start();
    expect((await renew(b)).size).toBe(0);
    await expect.poll(async () => (await renew(b)).size, { interval: 50 }).toBe(1024);
    // The one that was late has nothing until others give it some.
    expect((await renew(a)).size).toBe(0);
  });

  it("take over at once what a node released", async () => {
    const { start } = await shared();
    const [a, b] = [await start(), await start()];
    await renew(a);
    await a.ownership.release();
    expect((await renew(b)).size).toBe(1024);
  });

  it("leave to its owner what they publish for it, who finds it without being told", async () => {
    const { start } = await shared();
    const [a, b] = [await start(), await start()];
    await renew(a);
    await renew(b);
    const nodes = [await renew(a), await renew(b)];
    const [ofA, ofB] = (await endpointsOf(a, nodes)) as [string, string];
    const { id, fresh, waiting } = await publishOne(a);
    expect(fresh.map(({ endpoint }) => endpoint)).toEqual([ofA]);
    expect(waiting).toEqual([{ endpoint: ofB, event: id, dueAt: START }]);
    expect(await b.ownership.arrived()).toEqual(waiting);
    expect(await b.ownership.arrived()).toEqual([]);
    expect(await a.ownership.arrived()).toEqual([]);
    const claims = await dueNow(b, ofB);
    expect(claims).toMatchObject([{ event: id, number: 1, fresh: true }]);
    expect(await b.deliveries.record([delivered(claims[0]!)])).toMatchObject([{ result: "applied" }]);
    expect(await a.reads.getEvent(null, id)).toMatchObject({ status: "pending" });
    await a.deliveries.record([delivered(fresh[0]!)]);
    expect(await b.reads.getEvent(null, id)).toMatchObject({ status: "delivered" });
  });

  it("send what a dead node was to send at once", async () => {
    const { start } = await shared();
    const a = await start(300);
    await renew(a);
    const endpoint = await addEndpoint(a);
    const { id, fresh } = await publishOne(a);
    expect(fresh).toHaveLength(1);
    const b = await start();
    expect(await dueNow(b, endpoint)).toEqual([]);
    await sleep(350);
    expect((await renew(b)).size).toBe(1024);
    expect(await b.ownership.arrived()).toMatchObject([{ event: id, endpoint }]);
    expect(await dueNow(b, endpoint)).toMatchObject([{ event: id, number: 1 }]);
  });

  it("keep the late outcome of one that lost its slots: a failure changes nothing, a success wins", async () => {
    const { start } = await shared();
    const a = await start(300);
    await renew(a);
    const endpoint = await addEndpoint(a);
    const [one, two] = (await a.events.publish([draft(), draft()], START, room)).map(({ fresh }) => fresh[0]!);
    const b = await start();
    await sleep(350);
    await renew(b);
    const claims = await dueNow(b, endpoint);
    await b.deliveries.record(claims.map((claim) => again(claim, START + 30_000)));
    const late = await a.deliveries.record([failed(one!), delivered(two!)]);
    expect(late).toMatchObject([{ result: "superseded", waiting: { dueAt: START + 30_000 } }, { result: "applied" }]);
    const statuses = await Promise.all(
      [one!, two!].map(async ({ event }) => (await b.reads.getEvent(null, event))!.status),
    );
    expect(statuses).toEqual(["pending", "delivered"]);
  });

  it("publish at the same time, with ids that never meet, and one event for each idempotency key", async () => {
    const { start } = await shared();
    const [a, b] = [await start(), await start()];
    await renew(a);
    await addEndpoint(a);
    const idempotency = { key: "k", fingerprint: Buffer.alloc(32, 1), expiresAt: START + 1000 };
    const publish = (store: Store) =>
      Array.from({ length: 20 }, () =>
        store.events.publish([draft({ idempotency }), ...Array(20).fill(draft())], START, room),
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
});
