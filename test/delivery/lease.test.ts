import { expect, it } from "vitest";
import type { Clock } from "../../src/clock.ts";
import type { RemoteChanges } from "../../src/store/contract/processes.ts";
import { around } from "../harness/store.ts";
import { storageUnavailable } from "../../src/store/files/unavailable.ts";
import { addEndpoint, answered, draft, withoutCapacity, START } from "../store/fixtures.ts";
import { openSqlite } from "../store/stores.ts";
import { dispatcherOn } from "./house.ts";
import { unawaited } from "../../src/domain/unawaited.ts";

const SHARE = { total: 1, owned: new Set([0]), leaving: new Set<number>(), againInMs: null };

it("a renewal that is answered after its lease has run out starts nothing", async () => {
  const { store, clock } = await openSqlite();
  await addEndpoint(store);
  await store.events.publish([draft()], START, withoutCapacity);
  const lease = { endpoints: "everything", holdsForMs: 60_000 } as const;
  let answer = Promise.resolve(lease);
  let requests = 0;
  const dispatcher = dispatcherOn({
    store: around(store, (verb, call) => (verb === "ownership.renew" ? answer : call())),
    clock,
    post: async () => {
      requests++;
      return answered(503);
    },
  });
  await dispatcher.start();
  await expect.poll(() => requests, { interval: 1 }).toBe(1);
  await dispatcher.idle();
  const late = Promise.withResolvers<typeof lease>();
  answer = late.promise;
  const renewing = dispatcher.lease.renew();
  clock.advance("2m");
  expect(dispatcher.halts.map(({ reason }) => reason)).toEqual(["lease"]);
  late.resolve(lease);
  await renewing;
  expect(dispatcher.halts.map(({ reason }) => reason)).toEqual(["lease"]);
  answer = Promise.resolve(lease);
  await dispatcher.lease.renew();
  expect(dispatcher.halts).toEqual([]);
  dispatcher.tick();
  await expect.poll(() => requests, { interval: 1 }).toBe(2);
  await dispatcher.stop();
});

it("an answer of the store from before a pause does not end it", async () => {
  const { store, clock } = await openSqlite();
  let late: PromiseWithResolvers<null> | null = null;
  let looks = 0;
  const dispatcher = dispatcherOn({
    store: around(store, (verb, call) => {
      if (verb === "ownership.renew") return Promise.resolve({ endpoints: SHARE, holdsForMs: 60_000 });
      if (verb !== "operations.getPause") return call();
      looks++;
      return late?.promise ?? call();
    }),
    clock,
    post: async () => answered(200),
  });
  await dispatcher.start();
  const atStart = looks;
  late = Promise.withResolvers();
  clock.advance(50);
  await expect.poll(() => looks, { interval: 1 }).toBe(atStart + 1);
  await store.operations.pause({ reason: "test", by: "somebody", at: START });
  await dispatcher.pause();
  late.resolve(null);
  await new Promise(setImmediate);
  expect(dispatcher.paused).toBe(true);
  late = null;
  await dispatcher.stop();
});

it("a node waits for no other node while it handles their changes and withdrawals", async () => {
  const { store, clock } = await openSqlite();
  const changes: RemoteChanges = {
    waiting: [],
    requested: [],
    withdrawn: [{ endpoint: "ep_1", delivery: "dlv_1" }],
    changed: ["ep_2"],
  };
  let takenIn = 0;
  const dispatcher = dispatcherOn({
    store: around({ ...store, ownership: { ...store.ownership, owns: () => false } }, (verb, call) => {
      if (verb === "ownership.renew") return Promise.resolve({ endpoints: SHARE, holdsForMs: 60_000 });
      if (verb === "ownership.remoteChanges") return Promise.resolve(changes);
      // These answers went to a node that has died.
      if (verb === "ownership.untilNotified") return new Promise(() => {});
      if (verb === "ownership.acknowledgeChanges") takenIn++;
      return call();
    }),
    clock,
    post: async () => answered(200),
  });
  await dispatcher.start();
  clock.advance(50);
  await expect.poll(() => takenIn, { interval: 1 }).toBe(1);
  await dispatcher.stop();
});

it("a stop does not wait for a database that does not answer", async () => {
  const { store, clock } = await openSqlite();
  const dispatcher = dispatcherOn({
    store: around(store, (verb, call) => {
      if (verb === "ownership.renew") return Promise.resolve({ endpoints: SHARE, holdsForMs: 60_000 });
      return verb === "ownership.leave" ? new Promise(() => {}) : call();
    }),
    clock,
    post: async () => answered(200),
  });
  await dispatcher.start();
  let isOver = false;
  unawaited(dispatcher.stop().then(() => (isOver = true)));
  const passes = () => {
    clock.advance(100);
    return isOver;
  };
  await expect.poll(passes, { interval: 1 }).toBe(true);
});

it("slots that left and came back are looked up again, even while an earlier look-up is in progress", async () => {
  const { store, clock } = await openSqlite();
  await addEndpoint(store);
  let slots = SHARE;
  let found = Promise.resolve();
  let requests = 0;
  let looks = 0;
  const owns = () => slots.owned.has(0);
  const dispatcher = dispatcherOn({
    store: around({ ...store, ownership: { ...store.ownership, owns } }, (verb, call) => {
      if (verb === "ownership.renew") return Promise.resolve({ endpoints: slots, holdsForMs: 3_600_000 });
      if (verb !== "deliveries.requestedAttempts") return call();
      looks++;
      return found.then(call);
    }),
    clock,
    post: async () => {
      requests++;
      return answered(requests === 1 ? 503 : 200);
    },
  });
  const renew = async (next: typeof SHARE) => {
    slots = next;
    await dispatcher.lease.renew();
  };
  await dispatcher.start();
  const [publication] = await store.events.publish([draft()], START, dispatcher.capacity);
  dispatcher.accept(publication!);
  await expect.poll(() => requests, { interval: 1 }).toBe(1);
  await dispatcher.idle();

  const late = Promise.withResolvers<void>();
  found = late.promise;
  const before = looks;
  const [both, other] = [new Set([0, 1]), new Set([1])];
  await renew({ ...SHARE, owned: both });
  await expect.poll(() => looks, { interval: 1 }).toBe(before + 1);
  await renew({ ...SHARE, owned: other, leaving: new Set([0]) });
  clock.advance("10m");
  dispatcher.tick();
  await dispatcher.idle();
  await renew({ ...SHARE, owned: both });
  late.resolve();
  const isSent = async () => {
    await dispatcher.lease.renew();
    return requests === 2;
  };
  await expect.poll(isSent, { interval: 1 }).toBe(true);
  await dispatcher.stop();
});

it("deliveries of slots that are still being looked up do not count as lost", async () => {
  const { store, clock } = await openSqlite();
  await addEndpoint(store);
  await store.events.publish([draft()], START, withoutCapacity);
  let slots = { ...SHARE, owned: new Set([1]) };
  let requests = 0;
  let held: PromiseWithResolvers<void> | null = null;
  const dispatcher = dispatcherOn({
    store: around({ ...store, ownership: { ...store.ownership, owns: () => slots.owned.has(0) } }, (verb, call) => {
      if (verb === "ownership.renew") return Promise.resolve({ endpoints: slots, holdsForMs: 3_600_000 });
      if (verb !== "deliveries.earliestDue" || held === null) return call();
      const { promise } = held;
      held = null;
      return promise.then(call);
    }),
    clock,
    post: async () => {
      requests++;
      return answered(200);
    },
  });
  await dispatcher.start();
  dispatcher.tick();
  await dispatcher.idle();
  const late = (held = Promise.withResolvers<void>());
  slots = { ...SHARE, owned: new Set([0, 1]) };
  await dispatcher.lease.renew();
  await expect.poll(() => held, { interval: 1 }).toBeNull();
  let isOver = false;
  unawaited(dispatcher.sweep().then(() => (isOver = true)));
  const passes = () => {
    clock.advance(100);
    return isOver;
  };
  await expect.poll(passes, { interval: 1 }).toBe(true);
  expect(dispatcher.lost).toBe(0);
  late.resolve();
  await expect.poll(() => requests, { interval: 1 }).toBe(1);
  await dispatcher.stop();
});

it("one whose endpoints others have joins them again if it had stopped in time, and ends if it was suspended", async () => {
  for (const suspended of [false, true]) {
    const { store, clock } = await openSqlite();
    // The timers of a suspended process run when it resumes.
    let delayed: (() => void)[] | null = null;
    const after: Clock["after"] = (ms, run) =>
      clock.after(ms, () => {
        if (delayed === null) run();
        else delayed.push(run);
      });
    const ofProcess: Clock = {
      after,
      now: () => clock.now(),
      monotonic: () => clock.monotonic(),
      uptime: () => clock.uptime(),
      nextTurn: (run) => clock.nextTurn(run),
    };
    const answer = { endpoints: SHARE, holdsForMs: 5000 };
    let isLost = false;
    const done: string[] = [];
    const comeback = {
      get isDue() {
        return isLost;
      },
      async rejoin() {
        done.push("joined");
        isLost = false;
        return answer;
      },
      giveUp: () => void done.push("ended"),
    };
    let late: PromiseWithResolvers<typeof answer> | null = null;
    const ownership = { ...store.ownership, owns: () => true, comeback };
    const dispatcher = dispatcherOn({
      store: around({ ...store, ownership }, (verb, call) => {
        if (verb !== "ownership.renew") return call();
        return isLost ? Promise.reject(storageUnavailable()) : (late?.promise ?? Promise.resolve(answer));
      }),
      clock: ofProcess,
      post: async () => answered(200),
    });
    await dispatcher.start();
    // The renewal is answered after the lease has expired.
    late = Promise.withResolvers();
    const renewing = dispatcher.lease.renew();
    if (suspended) delayed = [];
    clock.advance(9000);
    for (const run of delayed?.splice(0) ?? []) run();
    delayed = null;
    late.resolve(answer);
    await renewing;
    expect(dispatcher.halts.map(({ reason }) => reason)).toEqual(["lease"]);
    isLost = true;
    await dispatcher.lease.renew().catch(() => {});
    expect(done).toEqual([suspended ? "ended" : "joined"]);
    expect(dispatcher.halts.map(({ reason }) => reason)).toEqual(suspended ? ["lease"] : []);
    await dispatcher.stop();
  }
});
