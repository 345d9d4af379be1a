import { randomBytes } from "node:crypto";
import { describe, expect, it, vi } from "vitest";
import type { Claim } from "../../../../src/domain/deliveries/delivery.ts";
import type { NewEndpoint } from "../../../../src/domain/endpoints/endpoint.ts";
import { newId } from "../../../../src/domain/id.ts";
import type { NewJob } from "../../../../src/domain/deliveries/job.ts";
import type { Publication, Store } from "../../../../src/store/store.ts";
import {
  addEndpoint,
  again,
  BEGINNING,
  brokenCapacity,
  delivered,
  draft,
  failed,
  publishOne,
  START,
  withCapacity,
  withoutCapacity,
} from "../../fixtures.ts";
import type { OpenFresh } from "../../stores.ts";

const BY_KEY: Partial<NewEndpoint> = { ordering: "by_key" };
const HOLD: Partial<NewEndpoint> = { ordering: "by_key", afterFailure: "hold" };
const LATER = START + 3_600_000;

/** Publishes an event for each key, in one batch. Its events are due at once, or wait on the disk. */
async function publish(store: Store, keys: readonly (string | undefined)[], capacity = withCapacity) {
  const drafts = keys.map((orderingKey) => draft({ orderingKey }));
  return store.events.publish(drafts, START, capacity);
}

const idsOf = (some: readonly { readonly id: string }[]) => some.map(({ id }) => id);

/** The claims that wait on the disk and are due. */
async function due(store: Store, endpoint: string, until = LATER): Promise<readonly Claim[]> {
  return (await store.deliveries.due(endpoint, BEGINNING, until, 1000)).claims;
}

const eventsDue = async (store: Store, endpoint: string, until = LATER) =>
  (await due(store, endpoint, until)).map(({ event }) => event);

async function onlyDue(store: Store, endpoint: string): Promise<Claim> {
  const claims = await due(store, endpoint);
  expect(claims).toHaveLength(1);
  return claims[0]!;
}

const released = (store: Store) => store.deliveries.reordered()?.released.map(({ event }) => event) ?? [];

/** Three events of one key. The first is due on the disk, and the others wait behind it. */
async function three(openFresh: OpenFresh, more: Partial<NewEndpoint> = BY_KEY) {
  const harness = await openFresh();
  const { store } = harness;
  const endpoint = await addEndpoint(store, more);
  const [first, second, third] = (await publish(store, ["a", "a", "a"], withoutCapacity)) as [
    Publication,
    Publication,
    Publication,
  ];
  return { harness, store, endpoint, first: first.id, second: second.id, third: third.id };
}

async function statusOf(store: Store, event: string) {
  const { status, nextAttemptAt } = (await store.reads.getEvent(null, event))!.deliveries[0]!;
  return { status, nextAttemptAt };
}

async function runJob(store: Store, given: Partial<Omit<NewJob, "filter">> & { filter?: object }) {
  const filter = { test: false, missing: false, ...given.filter };
  const job = { tenant: "default", ratePerSecond: 20, canary: false, reason: "", action: "replay" as const, ...given };
  const id = newId("job", START, randomBytes(10));
  const added = await store.jobs.add({ ...job, id, filter }, null, START);
  if (added.result !== "added") throw new Error(added.result);
  const endpoints = await store.jobs.endpoints(id, null);
  const takes = endpoints.map(({ endpoint }) => ({ endpoint, limit: 100, check: false }));
  return store.jobs.step(id, takes, START);
}

export function ordering(openFresh: OpenFresh): void {
  describe("order by key", () => {
    it("lets the first of each key be due, and those without a key", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store, BY_KEY);
      const unordered = await addEndpoint(store);
      const published = await publish(store, ["a", "b", "a", undefined, "b", "a"]);
      const fresh = (one: string) => published.map((each) => each.fresh.find((claim) => claim.endpoint === one));
      expect(fresh(unordered).every((claim) => claim !== undefined && claim.ordered === undefined)).toBe(true);
      const firsts = fresh(endpoint);
      expect(firsts.map((claim) => claim !== undefined)).toEqual([true, true, false, true, false, false]);
      expect(firsts[0]!.ordered).toMatchObject({ sequence: 1 });
      expect(firsts[3]!.ordered).toBeUndefined();
      expect(published.every(({ waiting }) => waiting.length === 0)).toBe(true);
      expect(await due(store, endpoint)).toEqual([]);
      expect(await statusOf(store, published[2]!.id)).toEqual({ status: "pending", nextAttemptAt: null });
      await store.deliveries.record([delivered(firsts[0]!), delivered(firsts[3]!)]);
      expect(released(store)).toEqual([published[2]!.id]);
      const next = await onlyDue(store, endpoint);
      expect(next).toMatchObject({ event: published[2]!.id, number: 1, fresh: true, ordered: { sequence: 2 } });
      await store.deliveries.record([delivered(next), delivered(firsts[1]!)]);
      expect(new Set(await eventsDue(store, endpoint))).toEqual(new Set([published[4]!.id, published[5]!.id]));
    });

    it("counts without a gap, whatever is undone or removed in between", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store, BY_KEY);
      const deliverNext = async () => {
        const claim = await onlyDue(store, endpoint);
        await store.deliveries.record([delivered(claim)]);
        return claim.ordered!.sequence;
      };
      await publish(store, ["a"], withoutCapacity);
      expect(await deliverNext()).toBe(1);
      await expect(publish(store, ["a"], brokenCapacity("broken"))).rejects.toThrow("broken");
      await publish(store, ["a", "a"], withoutCapacity);
      expect(await deliverNext()).toBe(2);
      // The one that is open keeps the row of its key.
      await store.upkeep.pruneEvents({ delivered: LATER, failed: LATER }, null);
      expect(await store.upkeep.pruneKeys(null)).toEqual({ pruned: 0, next: null });
      expect(await publish(store, ["a"])).toMatchObject([{ fresh: [], waiting: [] }]);
      expect([await deliverNext(), await deliverNext()]).toEqual([3, 4]);
      await store.upkeep.pruneEvents({ delivered: LATER, failed: LATER }, null);
      expect(await store.upkeep.pruneKeys(null)).toEqual({ pruned: 1, next: null });
      await publish(store, ["a"], withoutCapacity);
      expect(await deliverNext()).toBe(1);
    });

    it("keeps those behind until the one ahead is delivered, however often it is retried", async () => {
      const { store, endpoint, first, second } = await three(openFresh);
      const claim = await onlyDue(store, endpoint);
      expect(claim.event).toBe(first);
      await store.deliveries.record([again(claim, START + 1000)]);
      expect(store.deliveries.reordered()).toBeNull();
      const retry = await onlyDue(store, endpoint);
      expect(retry).toMatchObject({ event: first, number: 2 });
      await store.deliveries.record([delivered(retry)]);
      expect(await eventsDue(store, endpoint)).toEqual([second]);
    });

    it("goes on after a failure, or holds the key until it is replayed", async () => {
      const { store, endpoint, first, second } = await three(openFresh);
      await store.deliveries.record([failed(await onlyDue(store, endpoint))]);
      expect(released(store)).toEqual([second]);
      expect(await eventsDue(store, endpoint)).toEqual([second]);

      const held = await three(openFresh, HOLD);
      await held.store.deliveries.record([failed(await onlyDue(held.store, held.endpoint))]);
      expect(released(held.store)).toEqual([]);
      const [later] = await publish(held.store, ["a"]);
      expect(later).toMatchObject({ fresh: [], waiting: [] });
      expect(await due(held.store, held.endpoint)).toEqual([]);
      expect(await held.store.events.replay(null, held.first, {}, START)).toMatchObject({
        result: "replayed",
        waiting: [{ event: held.first }],
      });
      await held.store.deliveries.record([delivered(await onlyDue(held.store, held.endpoint))]);
      expect(released(held.store)).toEqual([held.second]);
      expect(first).not.toBe(held.first);
    });

    it("frees a held key when the failed event is cancelled or erased, or an attempt outside the ladder succeeds", async () => {
      for (const way of ["cancel", "erase", "attempt", "delete"] as const) {
        const { store, endpoint, first, second } = await three(openFresh, HOLD);
        const claim = await onlyDue(store, endpoint);
        await store.deliveries.record([failed(claim)]);
        if (way === "cancel") {
          expect(await store.events.cancel(null, first, null)).toMatchObject({ cancelled: 1, deliveries: [{}] });
          expect((await statusOf(store, first)).status).toBe("cancelled");
        }
        if (way === "erase") await store.events.erase(null, first, START);
        if (way === "attempt") {
          await store.deliveries.requestAttempt(null, claim.delivery, START);
          await store.deliveries.record([delivered((await store.deliveries.requestedAttempt(claim.delivery))!)]);
        }
        if (way === "delete") {
          await store.endpoints.delete(null, endpoint, START);
          expect(released(store)).toEqual([]);
          expect((await statusOf(store, second)).status).toBe("cancelled");
          continue;
        }
        expect(released(store), way).toEqual([second]);
        expect(await eventsDue(store, endpoint)).toEqual([second]);
      }
    });

    it("holds no key for a delivery that fails and then succeeds in one commit", async () => {
      const { store, endpoint, second } = await three(openFresh, HOLD);
      const claim = await onlyDue(store, endpoint);
      await store.deliveries.record([failed(claim), delivered({ ...claim, number: 2, trigger: "manual" })]);
      expect(await store.statistics.heldKeys(10)).toEqual([]);
      expect(released(store)).toEqual([second]);
      expect(await eventsDue(store, endpoint)).toEqual([second]);
    });

    it("lets the next one be due when the first is cancelled or erased, and nothing else when a later one is", async () => {
      const { store, endpoint, first, second, third } = await three(openFresh);
      await store.events.cancel(null, second, null);
      expect(store.deliveries.reordered()).toBeNull();
      expect(await eventsDue(store, endpoint)).toEqual([first]);
      await store.events.erase(null, first, START);
      expect(released(store)).toEqual([third]);
    });

    it("puts a replayed event before what waits for its key, which keeps its rung", async () => {
      const { store, endpoint, first, second, third } = await three(openFresh);
      await store.deliveries.record([failed(await onlyDue(store, endpoint))]);
      await store.deliveries.record([again(await onlyDue(store, endpoint), LATER - 5)]);
      store.deliveries.reordered();
      await store.events.replay(null, first, {}, START);
      expect(store.deliveries.reordered()).toMatchObject({ released: [], overtaken: [{ endpoint }] });
      expect(await eventsDue(store, endpoint)).toEqual([first]);
      await store.deliveries.record([delivered(await onlyDue(store, endpoint))]);
      // A retry is never early.
      expect(store.deliveries.reordered()).toEqual({
        released: [{ endpoint, event: second, dueAt: LATER - 5 }],
        overtaken: [],
      });
      expect(await onlyDue(store, endpoint)).toMatchObject({ event: second, number: 2, retry: 1, dueAt: LATER - 5 });
      expect((await statusOf(store, third)).status).toBe("pending");
    });

    it("records an attempt that was on the wire when its delivery was overtaken", async () => {
      for (const result of ["delivered", "again", "failed"] as const) {
        const { store, endpoint, first, second, third } = await three(openFresh);
        await store.deliveries.record([failed(await onlyDue(store, endpoint))]);
        const onWire = await onlyDue(store, endpoint);
        await store.events.replay(null, first, {}, START);
        store.deliveries.reordered();
        const ended = { delivered, again: (claim: Claim) => again(claim, START + 50), failed }[result](onWire);
        expect(await store.deliveries.record([ended])).toEqual([{ result: "applied", waiting: null }]);
        expect(store.deliveries.reordered()).toBeNull();
        expect(await eventsDue(store, endpoint), result).toEqual([first]);
        await store.deliveries.record([delivered(await onlyDue(store, endpoint))]);
        const next = await onlyDue(store, endpoint);
        expect(next).toMatchObject(result === "again" ? { event: second, number: 2, retry: 1 } : { event: third });
      }
    });

    it("overtakes a first attempt that memory has, and gives it back", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store, BY_KEY);
      const [one] = await publish(store, ["a"]);
      await store.deliveries.record([failed(one!.fresh[0]!)]);
      const [two] = await publish(store, ["a"]);
      await store.events.replay(null, one!.id, {}, START);
      expect(store.deliveries.reordered()!.overtaken).toEqual([{ endpoint, delivery: two!.fresh[0]!.delivery }]);
      expect(await store.deliveries.park(two!.fresh, START)).toEqual([]);
      expect(await eventsDue(store, endpoint)).toEqual([one!.id]);
      await store.deliveries.record([delivered(await onlyDue(store, endpoint))]);
      expect(await eventsDue(store, endpoint)).toEqual([two!.id]);
    });

    it("keeps replayed events in order among themselves, one by one and by a job", async () => {
      for (const by of ["hand", "job"] as const) {
        const { store, endpoint, first, second, third } = await three(openFresh);
        for (let left = 2; left > 0; left--) await store.deliveries.record([failed(await onlyDue(store, endpoint))]);
        if (by === "job") await runJob(store, { filter: { status: "failed" } });
        else {
          // The second one is due until the first one goes before it.
          await store.events.replay(null, second, {}, START);
          await store.events.replay(null, first, {}, START);
        }
        const order: string[] = [];
        for (let left = 3; left > 0; left--) {
          const claim = await onlyDue(store, endpoint);
          order.push(claim.event);
          await store.deliveries.record([delivered(claim)]);
        }
        expect(order, by).toEqual([first, second, third]);
        expect(await due(store, endpoint)).toEqual([]);
      }
    });

    it("puts what a job adds afterwards before what waits for its key, without a number", async () => {
      const { store } = await openFresh();
      const [missed] = await publish(store, ["a"]);
      const endpoint = await addEndpoint(store, BY_KEY);
      const [one] = await publish(store, ["a", "a"], withoutCapacity);
      const step = await runJob(store, { filter: { missing: true, endpoint } });
      expect(step.waiting.map(({ event }) => event)).toEqual([missed!.id]);
      expect(store.deliveries.reordered()!.overtaken).toHaveLength(1);
      const late = await onlyDue(store, endpoint);
      expect(late).toMatchObject({ event: missed!.id, ordered: { sequence: 0 } });
      await store.deliveries.record([delivered(late)]);
      expect(await onlyDue(store, endpoint)).toMatchObject({ event: one!.id, ordered: { sequence: 1 } });
    });

    it("keeps the line of what a job added, once retention has removed the event before it", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store, { ...BY_KEY, whenDisabled: "skip" });
      const enable = (enabled: boolean) =>
        store.endpoints.update(null, endpoint, (settings) => ({ ...settings, enabled }), START);
      const [one] = await publish(store, ["a"]);
      await store.deliveries.record([delivered(one!.fresh[0]!)]);
      await enable(false);
      const [missed] = await publish(store, ["a"]);
      await enable(true);
      await runJob(store, { filter: { missing: true, endpoint } });
      await store.upkeep.pruneEvents({ delivered: LATER, failed: LATER }, null);
      expect(await store.reads.getEvent(null, one!.id)).toBeNull();
      expect(await store.upkeep.pruneKeys(null)).toEqual({ pruned: 0, next: null });
      const [next] = await publish(store, ["a"], withoutCapacity);
      expect(next!.waiting).toEqual([]);
      const late = await onlyDue(store, endpoint);
      expect(late).toMatchObject({ event: missed!.id, ordered: { sequence: 0 } });
      await store.deliveries.record([delivered(late)]);
      expect(released(store)).toEqual([next!.id]);
      expect(await onlyDue(store, endpoint)).toMatchObject({ event: next!.id, ordered: { sequence: 2 } });
    });

    it("cancels by a job, and lets the next one be due", async () => {
      const { store, endpoint, first, second, third } = await three(openFresh);
      await runJob(store, { action: "cancel", filter: { events: [first, second] } });
      expect(released(store)).toContain(third);
      expect(await eventsDue(store, endpoint)).toEqual([third]);
    });

    it("refuses an attempt outside the ladder for what waits behind another, also by a job", async () => {
      const { store, endpoint, first, second } = await three(openFresh);
      const { deliveries } = (await store.reads.getEvent(null, second))!;
      const [{ id }] = deliveries as [(typeof deliveries)[number]];
      expect(await store.deliveries.requestAttempt(null, id, START)).toEqual({ result: "behind" });
      const step = await runJob(store, { action: "attempt_now", filter: { endpoint, status: "pending" } });
      expect(step.requested).toHaveLength(1);
      const claim = await onlyDue(store, endpoint);
      expect(step.requested[0]!.delivery).toBe(claim.delivery);
      // Overtaking drops the request, because its attempt would come before its turn.
      await store.deliveries.record([failed(claim)]);
      const next = await onlyDue(store, endpoint);
      await store.deliveries.requestAttempt(null, next.delivery, START);
      await store.events.replay(null, first, {}, START);
      expect(await store.deliveries.requestedAttempt(next.delivery)).toBeNull();
      const left = await store.deliveries.requestedAttempts(null, 10);
      expect(left.map(({ delivery }) => delivery)).not.toContain(next.delivery);
    });

    it("says how many keys are held at an endpoint, since when, and which event holds the first", async () => {
      const { store } = await openFresh();
      expect(await store.statistics.heldKeys(10)).toEqual([]);
      const [one, other, none] = [
        await addEndpoint(store, HOLD),
        await addEndpoint(store, HOLD),
        await addEndpoint(store, HOLD),
      ];
      const [first, second] = (await publish(store, ["a", "b", "a"], withoutCapacity)) as [Publication, Publication];
      const fail = async (endpoint: string, at: number) => {
        const claim = (await due(store, endpoint))[at]!;
        await store.deliveries.record([failed(claim)]);
      };
      await fail(one, 0);
      await fail(one, 0);
      await fail(other, 1);
      const held = { count: 2, since: START, orderingKey: "a", event: first.id };
      const alone = { count: 1, since: START, orderingKey: "b", event: second.id };
      expect((await store.endpoints.health(null, one))!.heldKeys).toEqual(held);
      const health = await store.endpoints.healthOf([other, none]);
      expect([health.get(other)!.heldKeys, health.get(none)!.heldKeys]).toEqual([alone, null]);
      const all = await store.statistics.heldKeys(10);
      expect(new Set(all)).toEqual(
        new Set([
          { endpoint: one, ...held },
          { endpoint: other, ...alone },
        ]),
      );
      expect(await store.statistics.heldKeys(1)).toHaveLength(1);
      await store.events.cancel(null, first.id, one);
      expect((await store.endpoints.health(null, one))!.heldKeys).toEqual(alone);
      await store.endpoints.delete(null, one, START);
      expect(await store.statistics.heldKeys(10)).toEqual([{ endpoint: other, ...alone }]);
    });

    it("holds no key of an endpoint that was deleted while its last attempt was on the wire", async () => {
      const { harness, store, endpoint, first } = await three(openFresh, HOLD);
      const claim = await onlyDue(store, endpoint);
      // The attempt is recorded before the delivery is cancelled.
      await Promise.all([store.endpoints.delete(null, endpoint, START), store.deliveries.record([failed(claim)])]);
      expect(await statusOf(store, first)).toMatchObject({ status: "failed" });
      expect(await store.statistics.heldKeys(10)).toEqual([]);
      // Another node may have recorded a failure without seeing that the endpoint was deleted.
      await harness.write(`INSERT INTO held_key (ordering_key, sequence, event, endpoint, since)
        SELECT ordering_key, sequence, event, endpoint, ${START} FROM delivery WHERE sequence = 1`);
      expect(await store.statistics.heldKeys(10)).toEqual([]);
    });

    it("says which delivery another one waits behind, and which one holds the key", async () => {
      const { store, endpoint, first, second, third } = await three(openFresh, HOLD);
      const query = { tenant: null, limit: 10, order: "oldest", endpoint } as const;
      const shown = async () =>
        (await store.reads.listDeliveries(query))!.data.map(({ behind, sequence }) => [sequence, behind]);
      const ahead = { event: first, attempts: 0, nextAttemptAt: START, holdsKey: false };
      expect(await shown()).toEqual([
        [1, null],
        [2, ahead],
        [3, ahead],
      ]);
      await store.deliveries.record([again(await onlyDue(store, endpoint), LATER)]);
      const retried = { ...ahead, attempts: 1, nextAttemptAt: LATER };
      expect((await store.reads.getEvent(null, third))!.deliveries[0]!.behind).toEqual(retried);
      expect(await store.reads.whyFacts(null, second, endpoint)).toMatchObject({ delivery: { behind: retried } });
      await store.deliveries.record([failed(await onlyDue(store, endpoint))]);
      const held = { event: first, attempts: 2, nextAttemptAt: null, holdsKey: true };
      expect(await shown()).toEqual([
        [1, null],
        [2, held],
        [3, held],
      ]);
      const unordered = await publishOne(store);
      expect((await store.reads.getEvent(null, unordered.id))!.deliveries[0]).toMatchObject({
        sequence: null,
        behind: null,
      });
    });

    it("counts and lists what waits behind another as pending", async () => {
      const { store, endpoint } = await three(openFresh);
      const query = { tenant: null, limit: 10, order: "oldest", endpoint, status: "pending" } as const;
      expect((await store.reads.listDeliveries(query))!.data).toHaveLength(3);
      expect(await store.endpoints.health(null, endpoint)).toMatchObject({ pending: 3 });
      expect(await store.deliveries.waiting(endpoint, BEGINNING, 10)).toHaveLength(1);
      expect((await store.deliveries.due(endpoint, BEGINNING, LATER, 10)).nextDueAt).toBeNull();
    });

    it("numbers the deliveries of a key at each endpoint, also after a restart", async () => {
      const { harness, store, endpoint } = await three(openFresh);
      const other = await addEndpoint(store, BY_KEY);
      await publish(store, ["a"], withoutCapacity);
      expect((await onlyDue(store, other)).ordered!.sequence).toBe(1);
      const again_ = await harness.crash();
      const [claim] = await due(again_, endpoint);
      await again_.deliveries.record([delivered(claim!)]);
      await publish(again_, ["a"], withoutCapacity);
      const numbers: number[] = [];
      for (let left = 4; left > 0; left--) {
        const next = await onlyDue(again_, endpoint);
        numbers.push(next.ordered!.sequence);
        await again_.deliveries.record([delivered(next)]);
      }
      expect(numbers).toEqual([2, 3, 4, 5]);
    });

    it("does not number a repeat by its idempotency key", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store, BY_KEY);
      const idempotency = { key: "k", fingerprint: Buffer.from("same"), expiresAt: LATER };
      const one = await publishOne(store, { orderingKey: "a", idempotency });
      await publishOne(store, { orderingKey: "a", idempotency });
      const [next] = await publish(store, ["a"]);
      expect(next!.fresh).toEqual([]);
      await store.deliveries.record([delivered(one.fresh[0]!)]);
      expect((await onlyDue(store, endpoint)).ordered!.sequence).toBe(2);
    });

    it("finds the first of each key after a crash, and what memory had", async () => {
      const { store, ...harness } = await openFresh();
      const endpoint = await addEndpoint(store, BY_KEY);
      const published = await publish(store, ["a", "a", "b"]);
      const after = await harness.crash();
      await after.recovery.takeUp();
      expect(new Set(await eventsDue(after, endpoint))).toEqual(new Set([published[0]!.id, published[2]!.id]));
    });

    it("keeps the order when the endpoint is disabled, and lets each one expire in its time", async () => {
      const { store, endpoint, first, second, third } = await three(openFresh);
      const disable = (enabled: boolean, at: number) =>
        store.endpoints.update(null, endpoint, (settings) => ({ ...settings, enabled }), at);
      await disable(false, START);
      expect((await statusOf(store, second)).status).toBe("held");
      expect(await store.upkeep.expireHeld(START + 1, START + 10)).toBe(1);
      expect((await statusOf(store, first)).status).toBe("failed");
      // It does not begin to wait only now.
      expect(await store.upkeep.expireHeld(START + 1, START + 10)).toBe(1);
      await disable(true, START + 20);
      expect((await statusOf(store, second)).status).toBe("failed");
      expect(await eventsDue(store, endpoint)).toEqual([third]);
    });

    it("cancels what an endpoint held when it is enabled, and goes on with what comes after", async () => {
      const { harness, store, endpoint, second } = await three(openFresh);
      await store.endpoints.update(null, endpoint, (settings) => ({ ...settings, enabled: false }), START);
      await store.endpoints.update(null, endpoint, (settings) => ({ ...settings, enabled: true }), START, "cancel");
      const [later] = await publish(store, ["a"]);
      expect((await statusOf(store, second)).status).toBe("cancelled");
      const [now] = await vi.waitFor(async () => {
        harness.clock.advance(1000);
        const claims = [...later!.fresh, ...(await due(store, endpoint))];
        expect(claims).toHaveLength(1);
        return claims;
      });
      expect(now!.event).toBe(later!.id);
    });

    it("keeps those in line in order when order is switched off, and orders only what comes after it is switched on", async () => {
      const { store, endpoint, first, second } = await three(openFresh);
      const set = (settings: Partial<NewEndpoint>) =>
        store.endpoints.update(null, endpoint, (before) => ({ ...before, ...settings }), START);
      await set({ ordering: "none" });
      const [free] = await publish(store, ["a"], withoutCapacity);
      expect(new Set(await eventsDue(store, endpoint))).toEqual(new Set([first, free!.id]));
      const claims = await due(store, endpoint);
      await store.deliveries.record(claims.map(delivered));
      expect(await eventsDue(store, endpoint)).toEqual([second]);
      await set({ ordering: "by_key" });
      const [behind] = await publish(store, ["a"]);
      expect(behind!.fresh).toEqual([]);
    });

    it("frees held keys when the endpoint does not hold them any more", async () => {
      const { store, endpoint, second } = await three(openFresh, HOLD);
      await store.deliveries.record([failed(await onlyDue(store, endpoint))]);
      expect(await store.upkeep.freeKeys(START)).toBe(0);
      await store.endpoints.update(null, endpoint, (before) => ({ ...before, afterFailure: "continue" }), START);
      expect(await store.upkeep.freeKeys(START)).toBe(1);
      expect(released(store)).toEqual([second]);
      expect(await store.upkeep.freeKeys(START)).toBe(0);
    });

    it("frees a held key when retention removes the failed event", async () => {
      const { store, endpoint, first, second } = await three(openFresh, HOLD);
      await store.deliveries.record([failed(await onlyDue(store, endpoint))]);
      await store.upkeep.pruneEvents({ delivered: LATER, failed: LATER }, null);
      expect(await store.reads.getEvent(null, first)).toBeNull();
      expect(released(store)).toEqual([second]);
      expect(await eventsDue(store, endpoint)).toEqual([second]);
    });

    it("begins to count again once the last event of a key is gone", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store, BY_KEY);
      const [one] = await publish(store, ["a"]);
      await store.deliveries.record([delivered(one!.fresh[0]!)]);
      expect(await store.upkeep.pruneKeys(null)).toEqual({ pruned: 0, next: null });
      const [other] = await publish(store, ["b"]);
      await store.upkeep.pruneEvents({ delivered: LATER, failed: LATER }, null);
      await store.deliveries.record([delivered(other!.fresh[0]!)]);
      expect(await store.upkeep.pruneKeys(null)).toEqual({ pruned: 1, next: null });
      const [again_] = await publish(store, ["a", "b"], withoutCapacity);
      const claims = await due(store, endpoint);
      expect(claims.map(({ ordered }) => ordered!.sequence)).toEqual([1, 2]);
      expect(claims[0]!.event).toBe(again_!.id);
    });

    it("never moves the due time of what waits behind when the clock is set", async () => {
      const { store, endpoint, first, second } = await three(openFresh);
      const change = { by: -60_000, at: START - 60_000, ladder: [1000] };
      await store.recovery.shiftDue(endpoint, { ...change, except: new Set() }, null);
      const later = { by: 120_000, at: START + 120_000, ladder: [1000] };
      await store.recovery.shiftDue(endpoint, { ...later, except: new Set() }, null);
      await store.recovery.hasten({ ladder: [1000], maxRetryAfter: 0 }, START);
      expect(await eventsDue(store, endpoint)).toEqual([first]);
      await store.deliveries.record([delivered(await onlyDue(store, endpoint))]);
      expect(await eventsDue(store, endpoint)).toEqual([second]);
    });

    it("lets one event after another go through, with many in one commit", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store, BY_KEY);
      const keys = Array.from({ length: 60 }, (_, at) => `k${at % 7}`);
      const published = idsOf(await publish(store, keys, withoutCapacity));
      const got = new Map<string, string[]>();
      for (let round = 0; round < 60; round++) {
        const claims = await due(store, endpoint);
        if (claims.length === 0) break;
        await store.deliveries.record(claims.map(delivered));
        for (const { event } of claims) {
          const key = keys[published.indexOf(event)]!;
          got.set(key, [...(got.get(key) ?? []), event]);
        }
      }
      for (const [key, events] of got) expect(events).toEqual(published.filter((_, at) => keys[at] === key));
      expect([...got.values()].flat()).toHaveLength(60);
    });
  });
}
