import { once } from "node:events";
import { readdirSync, statSync } from "node:fs";
import { constants, getPriority } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Worker } from "node:worker_threads";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../../../src/clock.ts";
import type { Store } from "../../../../src/store/store.ts";
import { startThread } from "../../../../src/thread.ts";
import { ManualClock } from "../../../harness/clock.ts";
import { overwrite, pagesOf } from "../../../harness/pages.ts";
import { failures } from "../../conformance/statistics/failures.ts";
import { lists } from "../../conformance/reads/lists.ts";
import { statistics } from "../../conformance/statistics/statistics.ts";
import { addEndpoint, delivered, draft, failed, withoutCapacity, withCapacity, START } from "../../fixtures.ts";
import { open, openSqliteWith, temporaryDirectory } from "../../stores.ts";

const startReader = (data: unknown) => startThread("reader", data);
const NEWEST = { tenant: null, limit: 10, order: "newest" } as const;

describe("a reader's thread answers as the store does", () => {
  const openFresh = openSqliteWith({ startReader });
  lists(openFresh);
  statistics(openFresh);
  failures(openFresh);
});

it.runIf(process.platform === "linux")("leaves a core that both want to those who publish", async () => {
  const { store } = await watched();
  // The lowest priority is 19, even if the tests are niced already.
  const reader = Math.min(getPriority() + 5, constants.priority.PRIORITY_LOW);
  const readers = () =>
    readdirSync("/proc/self/task").filter((thread) => getPriority(Number(thread)) === reader).length;
  const before = readers();
  await store.reads.listEvents(NEWEST);
  expect(readers()).toBe(before + 1);
  await store.close();
});

/** Opens a store and records its reader threads. */
async function watched(more: { clock?: ManualClock | typeof systemClock; onFault?: (error: Error) => void } = {}) {
  const dir = temporaryDirectory();
  const threads: Worker[] = [];
  const clock = more.clock ?? new ManualClock();
  const store = await open({
    ...more,
    dir,
    clock: clock as ManualClock,
    startReader: (data) => {
      const thread = startThread("reader", data);
      threads.push(thread);
      return thread;
    },
  });
  return { dir, store, threads, clock };
}

it("reads held keys on its thread, which does not start while none is held", async () => {
  const { store, threads } = await watched();
  const endpoint = await addEndpoint(store, { ordering: "by_key", afterFailure: "hold" });
  expect(await store.statistics.heldKeys(10)).toEqual([]);
  expect(threads).toHaveLength(0);
  const [published] = await store.events.publish([draft({ orderingKey: "a" })], START, withCapacity);
  await store.deliveries.record(published!.fresh.map(failed));
  expect(await store.statistics.heldKeys(10)).toMatchObject([{ endpoint, count: 1, orderingKey: "a" }]);
  expect(threads).toHaveLength(1);
});

async function publish(store: Store, count: number): Promise<void> {
  for (let left = count; left > 0; left -= 1000) {
    const publications = await store.events.publish(Array(Math.min(left, 1000)).fill(draft()), START, withCapacity);
    await store.deliveries.record(publications.flatMap(({ fresh }) => fresh.map(delivered)));
  }
}

it("starts with the first question, ends after a minute of rest, and starts again", async () => {
  const { store, threads, clock } = await watched();
  await publish(store, 1);
  expect(threads).toHaveLength(0);
  await store.reads.listEvents(NEWEST);
  (clock as ManualClock).advance("59s");
  await store.reads.listEvents(NEWEST);
  expect(threads).toHaveLength(1);
  const ended = once(threads[0]!, "exit");
  (clock as ManualClock).advance("60s");
  await ended;
  expect((await store.reads.listEvents(NEWEST)).data).toHaveLength(1);
  expect(threads).toHaveLength(2);
});

it("shows what was written as soon as it is acknowledged", async () => {
  const { store } = await watched();
  await addEndpoint(store);
  for (let count = 1; count <= 200; count++) {
    const [publication] = await store.events.publish([draft()], START, withCapacity);
    const { data } = await store.reads.listEvents({ ...NEWEST, limit: 1 });
    expect(data[0]!.id).toBe(publication!.id);
    await store.deliveries.record(publication!.fresh.map(delivered));
    const deliveries = await store.reads.listDeliveries({ ...NEWEST, limit: 1 });
    expect(deliveries.data[0]).toMatchObject({ event: publication!.id, status: "delivered" });
  }
});

it("shows an endpoint's change as soon as it is acknowledged", async () => {
  const { store } = await watched();
  const endpoint = await addEndpoint(store);
  await store.events.publish([draft()], START, withoutCapacity);
  for (const [enabled, status] of [
    [false, "held"],
    [true, "pending"],
    [false, "held"],
  ] as const) {
    await store.endpoints.update(null, endpoint, (settings) => ({ ...settings, enabled }), START);
    const { data } = await store.reads.listDeliveries(NEWEST);
    expect(data[0]!.status).toBe(status);
  }
});

it("lets a short question by while a long one is read, and commits while both are", async () => {
  const { store } = await watched();
  await addEndpoint(store);
  await publish(store, 20_000);
  const order: string[] = [];
  const note = (name: string) => () => void order.push(name);
  const long = store.jobs
    .plan({ tenant: null, action: "replay", filter: { status: "delivered", test: false } as never })
    .then(note("long"));
  const short = store.reads.listEvents(NEWEST, { name: "another", whenGone: () => () => {} }).then(note("short"));
  const commit = store.events.publish([draft()], START, withCapacity).then(note("commit"));
  await Promise.all([long, short, commit]);
  expect(order.at(-1)).toBe("long");
});

it("finds what a job is over, piece by piece", async () => {
  const { store } = await watched();
  const endpoint = await addEndpoint(store);
  await publish(store, 2600);
  const job = {
    id: "job_00000000000000000000000001",
    tenant: null,
    action: "replay" as const,
    filter: { status: "delivered" as const, test: false, missing: false },
    ratePerSecond: 100,
    canary: false,
    reason: "",
  };
  const plan = await store.jobs.plan(job);
  expect(plan).toMatchObject({ matched: 2600, endpoints: [{ endpoint, matched: 2600, timedOut: 0 }] });
  expect(await store.jobs.add(job, 2600, START)).toMatchObject({ result: "added" });
  expect((await store.jobs.get(null, job.id))!.endpoints).toMatchObject([{ endpoint }]);
});

it("gives up what nobody waits for any more", async () => {
  const { store } = await watched();
  await publish(store, 20_000);
  let leave = () => {};
  const caller = { name: "gone", whenGone: (run: () => void) => ((leave = run), () => {}) };
  const rare = { ...NEWEST, error: "timeout", status: "delivered" } as const;
  const read = store.reads.listEvents(rare, caller);
  leave();
  await expect(read).rejects.toMatchObject({ code: "request_timeout" });
  // The caller's next query does not wait behind the one that was given up.
  expect((await store.reads.listEvents(NEWEST, caller)).data).toHaveLength(10);
});

it("is replaced when it dies, and what it was asked is refused", async () => {
  const { store, threads } = await watched();
  await publish(store, 5000);
  await store.reads.listEvents(NEWEST);
  // The thread is ended first: otherwise it could answer before it dies.
  const died = threads[0]!.terminate();
  await expect(store.reads.listEvents(NEWEST)).rejects.toMatchObject({ code: "storage_unavailable" });
  await died;
  expect((await store.reads.listEvents(NEWEST)).data).toHaveLength(10);
  expect(threads).toHaveLength(2);
});

it("refuses a cursor of another list with the same words", async () => {
  const { store } = await watched();
  const read = store.reads.listEvents({ ...NEWEST, cursor: "x" });
  await expect(read).rejects.toMatchObject({ code: "invalid_query", errors: [{ pointer: "?cursor" }] });
});

it("a store that closes leaves no log behind, however much is being read", async () => {
  const { dir, store } = await watched();
  await publish(store, 10_000);
  const reads = Array.from({ length: 20 }, () => store.reads.listEvents({ ...NEWEST, error: "timeout" }));
  const settled = Promise.allSettled(reads);
  await store.close();
  await settled;
  expect(statSync(join(dir, "webhookd.db-wal"), { throwIfNoEntry: false })).toBeUndefined();
});

it("damage that a list meets ends the process like any other", async () => {
  const faults: Error[] = [];
  const { dir, store } = await watched({ onFault: (error) => void faults.push(error) });
  await addEndpoint(store);
  await publish(store, 3000);
  await store.close();
  const file = join(dir, "webhookd.db");
  // These pages are far from those that an opening reads.
  const leaves = pagesOf(file).filter(({ tree, kind }) => tree === "event" && kind === "leaf");
  for (const { page } of leaves.slice(leaves.length / 3, leaves.length * 0.6)) overwrite(file, page);
  const again = await open({ dir, startReader, onFault: (error) => void faults.push(error) });
  let cursor: string | undefined;
  const walk = async () => {
    for (let pages = 0; pages < 400; pages++) {
      const page = await again.reads.listEvents({ ...NEWEST, limit: 100, ...(cursor && { cursor }) });
      if (page.nextCursor === null) return;
      cursor = page.nextCursor;
    }
  };
  await expect(walk()).rejects.toMatchObject({ code: "storage_unavailable" });
  expect(faults).toHaveLength(1);
  expect(faults[0]!.name).toBe("StoreDamaged");
});

it("the write-ahead log stays short while lists are read without a pause", async () => {
  const { dir, store } = await watched({ clock: systemClock });
  await addEndpoint(store);
  await publish(store, 5000);
  let reading = true;
  // Each reader asks again as soon as it is answered, without a pause.
  const all = { tenant: null, action: "replay", filter: { status: "delivered", test: false, missing: false } } as const;
  const readOn = (): Promise<unknown> => store.jobs.plan(all).then(() => (reading ? readOn() : null));
  const readers = Array.from({ length: 4 }, readOn);
  const most = { bytes: 0 };
  const deadline = performance.now() + 8000;
  const body = Buffer.from(JSON.stringify({ text: "x".repeat(40_000) }));
  let written = 0;
  while (performance.now() < deadline) {
    await store.events.publish(Array(20).fill(draft({ data: body })), systemClock.now(), withCapacity);
    written += 20 * body.length;
    most.bytes = Math.max(most.bytes, statSync(join(dir, "webhookd.db-wal")).size);
    await sleep(1);
  }
  reading = false;
  await Promise.all(readers);
  expect(written).toBeGreaterThan(3 * most.bytes);
});
