import { readFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, it } from "vitest";
import { onPrepare, sqliteError } from "../../../harness/prepared.ts";
import { addEndpoint, BEGINNING, draft, EVERYTHING, publishOne, withCapacity, START } from "../../fixtures.ts";
import { ask, copyOf, open, temporaryDirectory } from "../../stores.ts";

const EVENTS = 40;
const large = () =>
  Array.from({ length: EVENTS }, (_, at) => draft({ data: Buffer.from(`{"at":${at},"x":"${"y".repeat(30_000)}"}`) }));

const count = (dir: string, table: string) => ask(dir, `SELECT count(*) FROM ${table}`);

it("is there as a whole or not at all wherever the process is killed, and leaves nothing behind", async () => {
  const dir = temporaryDirectory();
  const store = await open({ dir });
  await addEndpoint(store);
  // Because another tenant publishes, each part gets a commit of its own.
  await publishOne(store, { tenant: "other", type: "goal.achieved" });
  const state = { done: false };
  const publishing = store.events.publish(large(), START, withCapacity).finally(() => (state.done = true));
  const copies = new Map<string, string>();
  while (!state.done) {
    await new Promise(setImmediate);
    const written = ["large_data", "event"].map((table) => count(dir, table)).join();
    if (!copies.has(written)) copies.set(written, copyOf(dir));
  }
  await publishing;
  // The batch was written in several parts.
  expect(copies.size).toBeGreaterThan(4);
  for (const copy of copies.values()) {
    const after = await open({ dir: copy });
    await expect.poll(() => count(copy, "large_batch")).toBe(0);
    const events = count(copy, "event") - 1;
    expect([0, EVENTS]).toContain(events);
    expect([count(copy, "large_data"), count(copy, "delivery")]).toEqual([events, events]);
    // The batch's keys are free again.
    await after.events.publish(large(), START, withCapacity);
    expect(count(copy, "large_data")).toBe(events + EVENTS);
    await after.close();
  }
});

it("leaves nothing behind when the disk is full before it ends, once there is space again", async () => {
  const dir = temporaryDirectory();
  let left = Number.POSITIVE_INFINITY;
  onPrepare(join(dir, "webhookd.db"), (sql, make) => {
    const made = make();
    if (!/^(INSERT INTO|DELETE FROM) large_data/.test(sql)) return made;
    const run = (...values: unknown[]) => {
      if (left-- <= 0) throw sqliteError("SQLITE_FULL");
      return made.run(...values);
    };
    return { run } as never;
  });
  const store = await open({ dir });
  await addEndpoint(store);
  await publishOne(store, { tenant: "other", type: "goal.achieved" });
  left = 25;
  await expect(store.events.publish(large(), START, withCapacity)).rejects.toMatchObject({ code: "storage_full" });
  expect(count(dir, "large_data")).toBeGreaterThan(0);
  expect([count(dir, "large_batch"), count(dir, "event")]).toEqual([1, 1]);
  left = Number.POSITIVE_INFINITY;
  const unfinished = async () => {
    await store.upkeep.checkSpace();
    return [count(dir, "large_data"), count(dir, "large_batch")];
  };
  await expect.poll(unfinished).toEqual([0, 0]);
  expect(await store.events.publish(large(), START, withCapacity)).toHaveLength(EVENTS);
  expect([count(dir, "large_data"), count(dir, "large_batch")]).toEqual([EVENTS, 0]);
});

it("removes what it wrote of events that were published by someone else meanwhile", async () => {
  const dir = temporaryDirectory();
  const store = await open({ dir });
  await addEndpoint(store);
  const idempotency = (at: number) => ({
    key: `key-${at}`,
    fingerprint: Buffer.alloc(32, at),
    expiresAt: START + 1000,
  });
  const keyed = () => large().map((one, at) => ({ ...one, idempotency: idempotency(at) }));
  await publishOne(store, { tenant: "other", type: "goal.achieved" });
  const first = store.events.publish(keyed(), START, withCapacity);
  // The batch has begun to write.
  while (count(dir, "large_batch") === 0) await new Promise(setImmediate);
  const [second, published] = await Promise.all([
    store.events.publish(keyed().slice(0, 5), START, withCapacity),
    first,
  ]);
  expect(published.slice(0, 5).map(({ id }) => id)).toEqual(second.map(({ id }) => id));
  await expect.poll(() => count(dir, "large_batch")).toBe(0);
  expect(count(dir, "large_data")).toBe(EVENTS - 5);
  for (const { id } of published) expect((await store.reads.getEvent(null, id))!.data!.length).toBeGreaterThan(30_000);
});

it("notices data that changed on the disk, or that was lost, and shows nothing in its place", async () => {
  const dir = temporaryDirectory();
  const store = await open({ dir });
  const endpoint = await addEndpoint(store);
  await store.events.publish(large(), START, withCapacity);
  await store.close();
  const db = new Database(join(dir, "webhookd.db"));
  db.exec(`UPDATE large_data SET data = CAST(replace(CAST(data AS TEXT), '"at":3,', '"at":4,') AS BLOB) WHERE num = 4;
    DELETE FROM large_data WHERE num = 6;`);
  db.close();
  const after = await open({ dir });
  const { claims } = await after.deliveries.due(endpoint, BEGINNING, START, 100);
  expect(claims.flatMap(({ corrupt }, at) => (corrupt === true ? [at] : []))).toEqual([3, 5]);
  const events = await after.reads.listEvents(EVERYTHING);
  expect((await after.reads.getEvent(null, events.data[5]!.id))!.data).toBe(null);
});

it("leaves no byte of an erased event of it in the file", async () => {
  const dir = temporaryDirectory();
  const store = await open({ dir });
  const drafts = large();
  drafts[7] = draft({ data: Buffer.from(`{"x":"${"canary-of-the-payload ".repeat(1000)}"}`) });
  const published = await store.events.publish(drafts, START, withCapacity);
  await store.close();
  const before = await open({ dir });
  const bytes = () => readFileSync(join(dir, "webhookd.db"), "latin1");
  expect(bytes().includes("canary-of")).toBe(true);
  await before.events.erase(null, published[7]!.id, START);
  await before.close();
  expect(bytes().includes("canary-of")).toBe(false);
});
