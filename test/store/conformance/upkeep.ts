import { describe, expect, it } from "vitest";
import type { PruneRules, Store } from "../../../src/store/store.ts";
import {
  addEndpoint,
  again,
  answered,
  delivered,
  draft,
  dueNow,
  ended,
  EVERYTHING,
  failed,
  newEndpoint,
  withoutCapacity,
  publishOne,
  withCapacity,
  START,
} from "../fixtures.ts";
import type { OpenFresh } from "../stores.ts";

const DAY = 86_400_000;
const HOUR = 3_600_000;
const IDS_IN_ORDER = Array.from({ length: 600 }, (_, index) => index);

/** Returns the rules of the default periods at this time. */
const rulesAt = (now: number): PruneRules => ({ delivered: now - 30 * DAY, failed: now - 90 * DAY });

/** Runs all steps and returns how many events were pruned. */
async function prune(store: Store, rules: PruneRules): Promise<number> {
  let sum = 0;
  let from: string | null = null;
  do {
    const { pruned, next }: { pruned: number; next: string | null } = await store.upkeep.pruneEvents(rules, from);
    sum += pruned;
    from = next;
  } while (from !== null);
  return sum;
}

async function isThere(store: Store, event: string): Promise<boolean> {
  return (await store.reads.getEvent(null, event)) !== null;
}

async function attemptsOf(store: Store, event: string): Promise<number> {
  return (await store.reads.listAttempts({ ...EVERYTHING, event }))!.data.length;
}

const pruneEndpoints = (store: Store, before: number) => store.endpoints.prune(before, null);

export function retention(openFresh: OpenFresh): void {
  describe("pruning of events", () => {
    it("takes a delivered event with all that belongs to it, no earlier than when it is old", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store);
      const { id, fresh } = await publishOne(store);
      await store.deliveries.record([delivered(fresh[0]!)]);
      expect(await prune(store, rulesAt(START + 30 * DAY))).toBe(0);
      expect(await isThere(store, id)).toBe(true);
      expect(await prune(store, rulesAt(START + 30 * DAY + 1))).toBe(1);
      expect(await isThere(store, id)).toBe(false);
      expect(await store.reads.listAttempts({ ...EVERYTHING, event: id })).toBeNull();
      expect((await store.reads.listEvents({ ...EVERYTHING, endpoint })).data).toEqual([]);
    });

    it("keeps a failure longer, and a failed test no longer than a success", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store);
      const real = await publishOne(store);
      const test = await publishOne(store, { testFor: endpoint });
      await store.deliveries.record([failed(real.fresh[0]!), failed(test.fresh[0]!)]);
      expect(await prune(store, rulesAt(START + 31 * DAY))).toBe(1);
      expect([await isThere(store, real.id), await isThere(store, test.id)]).toEqual([true, false]);
      expect(await prune(store, rulesAt(START + 90 * DAY))).toBe(0);
      expect(await prune(store, rulesAt(START + 90 * DAY + 1))).toBe(1);
    });

    it("takes what nobody chose, and what was cancelled", async () => {
      const { store } = await openFresh();
      await publishOne(store);
      const endpoint = await addEndpoint(store);
      await publishOne(store);
      await store.endpoints.delete(null, endpoint, START);
      expect(await prune(store, rulesAt(START + 31 * DAY))).toBe(2);
    });

    it("never takes an event of which a delivery is open, however old", async () => {
      const harness = await openFresh();
      await addEndpoint(harness.store);
      await addEndpoint(harness.store);
      const [first, second] = await harness.store.events.publish([draft(), draft()], START, withCapacity);
      await harness.store.deliveries.record([delivered(first!.fresh[0]!), delivered(second!.fresh[0]!)]);
      await harness.store.deliveries.record([again(second!.fresh[1]!, START + 1000)]);
      expect(await prune(harness.store, rulesAt(START + 1000 * DAY))).toBe(0);
      const store = await harness.reopen();
      expect(await prune(store, rulesAt(START + 1000 * DAY))).toBe(0);
      expect((await store.reads.getEvent(null, first!.id))!.deliveries).toHaveLength(2);
    });

    it("counts from the last attempt, so that what came of a replay can be seen", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store);
      const { id, fresh } = await publishOne(store);
      await store.deliveries.record([failed(fresh[0]!)]);
      const late = START + 80 * DAY;
      await store.events.replay(null, id, {}, late);
      const [claim] = await dueNow(store, endpoint);
      await store.deliveries.record([ended(claim!, { status: "delivered" }, { startedAt: late })]);
      expect(await prune(store, rulesAt(late + 30 * DAY))).toBe(0);
      expect(await prune(store, rulesAt(late + 30 * DAY + 1))).toBe(1);
    });

    it("keeps an old event while an attempt is owed that was asked for, so that its job comes to an end", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store);
      const [claim] = (await publishOne(store)).fresh;
      await store.deliveries.record([failed(claim!)]);
      const filter = { status: "failed", test: false, missing: false } as const;
      const job = { id: "job_06fbqxv0d8r2s4t6v8w0x2y4z6", tenant: null, action: "attempt_now", filter } as const;
      await store.jobs.add({ ...job, ratePerSecond: 1, canary: false, reason: "" }, null, START);
      const { requested } = await store.jobs.step(job.id, [{ endpoint, limit: 1, check: false }], START);
      expect(requested).toHaveLength(1);
      expect(await prune(store, rulesAt(START + 200 * DAY))).toBe(0);
      const owed = await store.deliveries.requestedAttempt(claim!.delivery);
      await store.deliveries.record([ended(owed!, { status: "unchanged" }, { outcome: answered(503) })]);
      expect(await store.jobs.close(job.id, START)).toBe(true);
      expect(await store.jobs.get(null, job.id)).toMatchObject({ status: "done", failed: 1 });
      expect(await prune(store, rulesAt(START + 200 * DAY))).toBe(1);
    });

    it("keeps no event for an attempt that was asked for of an endpoint that is deleted since", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store);
      const [claim] = (await publishOne(store)).fresh;
      await store.deliveries.record([failed(claim!)]);
      const asked = await store.deliveries.requestAttempt(null, claim!.delivery, START);
      expect(asked).toMatchObject({ result: "requested" });
      await store.endpoints.delete(null, endpoint, START);
      expect(await store.deliveries.requestedAttempts(null, 10)).toEqual([]);
      expect(await prune(store, rulesAt(START + 200 * DAY))).toBe(1);
    });

    it("looks at some hundred events a step, and passes those that stay", async () => {
      const { store } = await openFresh();
      await addEndpoint(store);
      const kept = await store.events.publish(
        IDS_IN_ORDER.map(() => draft()),
        START,
        withCapacity,
      );
      const gone = await publishOne(store, { type: "goal.achieved" });
      const rules = rulesAt(START + 31 * DAY);
      const first = await store.upkeep.pruneEvents(rules, null);
      expect(first).toEqual({ pruned: 0, next: expect.any(String) });
      expect(await prune(store, rules)).toBe(1);
      expect([await isThere(store, kept[0]!.id), await isThere(store, gone.id)]).toEqual([true, false]);
    });

    it("reads little from the disk a step, when bodies are large", async () => {
      const { store } = await openFresh();
      const data = Buffer.from(JSON.stringify({ text: "x".repeat(250_000) }));
      for (let event = 0; event < 6; event++) await publishOne(store, { data });
      const rules = rulesAt(START + 31 * DAY);
      const first = await store.upkeep.pruneEvents(rules, null);
      expect(first).toEqual({ pruned: 5, next: expect.any(String) });
      expect(await store.upkeep.pruneEvents(rules, first.next)).toEqual({ pruned: 1, next: null });
    });

    it("leaves an attempt that ends afterwards without an event, and says so", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store);
      const { id, fresh } = await publishOne(store);
      await store.endpoints.delete(null, endpoint, START);
      await prune(store, rulesAt(START + 31 * DAY));
      expect(await store.deliveries.record([delivered(fresh[0]!)])).toEqual([{ result: "superseded", waiting: null }]);
      expect(await isThere(store, id)).toBe(false);
    });
  });

  describe("deleted endpoints", () => {
    it("go once they were deleted long ago and none of their deliveries is kept, with all that was theirs", async () => {
      const harness = await openFresh();
      let { store } = harness;
      const id = await addEndpoint(store, { tenant: "gone", uid: "u1" });
      const { fresh } = await publishOne(store, { tenant: "gone" });
      await store.deliveries.record([failed(fresh[0]!)]);
      for (let more = 0; more < 20; more++) {
        const next = await publishOne(store, { tenant: "gone" });
        await store.deliveries.record([failed(next.fresh[0]!)]);
      }
      expect(await store.statistics.failing("gone", START, 9)).toHaveLength(1);
      await store.upkeep.saveHealth();
      expect(await pruneEndpoints(store, START + DAY)).toEqual({ pruned: 0, next: null });
      await store.endpoints.delete(null, id, START);
      // The row of the last endpoint is never removed, so another one is added.
      const other = await addEndpoint(store, { tenant: "gone", uid: "u1" });
      expect(await pruneEndpoints(store, START + DAY)).toMatchObject({ pruned: 0 });
      expect(await prune(store, rulesAt(START + 91 * DAY))).toBe(21);
      expect(await pruneEndpoints(store, START)).toMatchObject({ pruned: 0 });
      expect(await store.endpoints.tenantOf(id)).toBe("gone");
      expect(await pruneEndpoints(store, START + 1)).toEqual({ pruned: 1, next: null });
      expect(await store.endpoints.tenantOf(id)).toBeNull();
      expect(await store.endpoints.failingSince(id)).toBeNull();
      expect(await store.statistics.failing(null, START, 9)).toEqual([]);
      store = await harness.reopen();
      expect(await store.endpoints.tenantOf(id)).toBeNull();
      const last = await addEndpoint(store, { tenant: "gone" });
      const { fresh: claims } = await publishOne(store, { tenant: "gone" });
      expect(claims.map(({ endpoint }) => endpoint)).toEqual([other, last]);
      const recorded = await store.deliveries.record(claims.map(delivered));
      expect(recorded.map(({ result }) => result)).toEqual(["applied", "applied"]);
    });

    it("stay as long as a job tells of them", async () => {
      const { store } = await openFresh();
      const id = await addEndpoint(store);
      await addEndpoint(store, { tenant: "other" });
      const { fresh } = await publishOne(store);
      await store.deliveries.record([failed(fresh[0]!)]);
      const filter = { test: false, missing: false };
      const job = { id: "job_00000000000000000000000001", tenant: "default", action: "replay" as const, filter };
      await store.jobs.add({ ...job, ratePerSecond: 20, canary: false, reason: "" }, 1, START);
      await store.jobs.steer(null, job.id, "cancelled", START);
      await store.jobs.close(job.id, START);
      await store.endpoints.delete(null, id, START);
      expect(await prune(store, rulesAt(START + 91 * DAY))).toBe(1);
      expect(await pruneEndpoints(store, START + DAY)).toMatchObject({ pruned: 0 });
      expect((await store.jobs.get(null, job.id))!.endpoints).toMatchObject([{ endpoint: id, matched: 1 }]);
      expect(await store.jobs.prune(START + 1, null)).toMatchObject({ pruned: 1 });
      expect(await pruneEndpoints(store, START + DAY)).toMatchObject({ pruned: 1 });
    });
  });

  describe("held deliveries", () => {
    const disabled = { enabled: false, whenDisabled: "hold" } as const;

    it("that were held for too long fail with an attempt that says so, and can be replayed", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store, { ...disabled, url: "https://held.example/" });
      const { id } = await publishOne(store);
      expect((await store.reads.getEvent(null, id))!.status).toBe("held");
      expect(await store.upkeep.expireHeld(START, START + 7 * DAY)).toBe(0);
      expect(await store.upkeep.expireHeld(START + 1, START + 7 * DAY)).toBe(1);
      const event = (await store.reads.getEvent(null, id))!;
      expect(event.status).toBe("failed");
      expect(event.deliveries[0]).toMatchObject({ status: "failed", attempts: 1, nextAttemptAt: null });
      expect(event.deliveries[0]!.lastAttempt).toMatchObject({
        number: 1,
        trigger: "ladder",
        outcome: "failed",
        error: "held_expired",
        statusCode: null,
        url: "https://held.example/",
        startedAt: START + 7 * DAY,
        secret: null,
        endpoint,
      });
      expect(await dueNow(store, endpoint)).toEqual([]);
      expect(await store.events.replay(null, id, {}, START)).toMatchObject({ left: [{ reason: "endpoint_disabled" }] });
    });

    it("of an endpoint that was changed since, or is enabled, or gone, are left alone", async () => {
      const { store } = await openFresh();
      const enabled = await addEndpoint(store, { tenant: "enabled" });
      const gone = await addEndpoint(store, { ...disabled, tenant: "gone" });
      const changed = { ...disabled, tenant: "changed" };
      const events = ["enabled", "gone", "changed"].map((tenant) => draft({ tenant }));
      await store.endpoints.add(newEndpoint(changed), 10, START + DAY);
      const published = await store.events.publish(events, START, withoutCapacity);
      await store.endpoints.delete(null, gone, START);
      expect(await store.upkeep.expireHeld(START + DAY, START + 8 * DAY)).toBe(0);
      expect(await dueNow(store, enabled)).toHaveLength(1);
      const statuses = await Promise.all(
        published.map(async ({ id }) => (await store.reads.getEvent(null, id))!.status),
      );
      expect(statuses).toEqual(["pending", "cancelled", "held"]);
      expect(await store.upkeep.expireHeld(START + DAY + 1, START + 8 * DAY)).toBe(1);
    });

    it("that were on the wire when the clock was set on show the attempt whose number was taken once", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store);
      const { fresh } = await publishOne(store);
      await store.deliveries.record([again(fresh[0]!, START)]);
      const [onWire] = await dueNow(store, endpoint);
      await store.endpoints.update(null, endpoint, (settings) => ({ ...settings, enabled: false }), START);
      const later = START + 8 * DAY;
      expect(await store.upkeep.expireHeld(START + DAY, later)).toBe(1);
      await store.deliveries.record([ended(onWire!, { status: "delivered" }, { startedAt: later + HOUR })]);
      const page = (await store.reads.listEndpointAttempts({ ...EVERYTHING, endpoint }))!;
      expect(page.data.map(({ number, startedAt }) => [number, startedAt])).toEqual([
        [1, START],
        [2, later],
      ]);
    });

    it("are held from when their endpoint was disabled, however long they had waited before", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store);
      const [published] = await store.events.publish([draft()], START, withoutCapacity);
      await store.endpoints.update(null, endpoint, (settings) => ({ ...settings, enabled: false }), START + 3 * DAY);
      expect(await store.upkeep.expireHeld(START + 3 * DAY, START + 10 * DAY)).toBe(0);
      expect(await store.upkeep.expireHeld(START + 3 * DAY + 1, START + 10 * DAY)).toBe(1);
      await store.endpoints.update(null, endpoint, (settings) => ({ ...settings, enabled: true }), START + 11 * DAY);
      expect(await store.events.replay(null, published!.id, {}, START + 11 * DAY)).toMatchObject({
        result: "replayed",
      });
      expect(await dueNow(store, endpoint)).toMatchObject([{ number: 2, round: 2, retry: 0, trigger: "replay" }]);
    });

    it("fail 500 at a time", async () => {
      const { store } = await openFresh();
      await addEndpoint(store, disabled);
      await store.events.publish(
        IDS_IN_ORDER.map(() => draft()),
        START,
        withCapacity,
      );
      expect(await store.upkeep.expireHeld(START + 1, START + DAY)).toBe(500);
      expect(await store.upkeep.expireHeld(START + 1, START + DAY)).toBe(100);
      expect(await store.upkeep.expireHeld(START + 1, START + DAY)).toBe(0);
    });
  });

  describe("what receivers answered", () => {
    const bodyOf = async (store: Store, event: string) => {
      const { data } = (await store.reads.listAttempts({ ...EVERYTHING, event }))!;
      return data.map(({ responseBody, responseTruncated }) => [
        Buffer.from(responseBody).toString(),
        responseTruncated,
      ]);
    };

    async function forget(store: Store, before: number): Promise<number> {
      let sum = 0;
      for (let looked = 500; looked === 500; sum += looked) looked = await store.upkeep.forgetResponses(before);
      return sum;
    }

    it("is forgotten when it is old, and the rest of the attempt stays", async () => {
      const { store } = await openFresh();
      await addEndpoint(store);
      const { id, fresh } = await publishOne(store);
      await store.deliveries.record([delivered(fresh[0]!)]);
      await forget(store, START + HOUR);
      expect(await bodyOf(store, id)).toEqual([["answer", false]]);
      await forget(store, START + HOUR + 1);
      expect(await bodyOf(store, id)).toEqual([["", true]]);
      expect((await store.reads.getEvent(null, id))!.deliveries[0]!.lastAttempt).toMatchObject({ statusCode: 200 });
    });

    it("is forgotten of a late attempt in its own time, although its event was passed long ago", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store);
      const { id, fresh } = await publishOne(store);
      const late = START + 3 * DAY;
      await store.deliveries.record([failed(fresh[0]!)]);
      expect(await forget(store, START + DAY)).toBe(1);
      await store.events.replay(null, id, {}, late);
      const [claim] = await dueNow(store, endpoint);
      await store.deliveries.record([ended(claim!, { status: "delivered" }, { startedAt: late })]);
      await forget(store, late);
      expect(await bodyOf(store, id)).toEqual([
        ["", true],
        ["answer", false],
      ]);
      await forget(store, late + 1);
      expect(await bodyOf(store, id)).toEqual([
        ["", true],
        ["", true],
      ]);
    });

    it("is looked at once, 500 attempts a step, and not again after a restart", async () => {
      const harness = await openFresh();
      await addEndpoint(harness.store);
      const published = await harness.store.events.publish(
        IDS_IN_ORDER.map(() => draft()),
        START,
        withCapacity,
      );
      await harness.store.deliveries.record(published.map(({ fresh }) => delivered(fresh[0]!)));
      expect(await harness.store.upkeep.forgetResponses(START + DAY)).toBe(500);
      const store = await harness.crash();
      expect(await store.upkeep.forgetResponses(START + DAY)).toBe(100);
      expect(await store.upkeep.forgetResponses(START + DAY)).toBe(0);
      for (const { id } of [published[0]!, published.at(-1)!]) expect(await bodyOf(store, id)).toEqual([["", true]]);
    });

    it("costs nothing where there was none", async () => {
      const { store } = await openFresh();
      await addEndpoint(store);
      const { id, fresh } = await publishOne(store);
      const outcome = answered(200, { responseBody: new Uint8Array(0) });
      await store.deliveries.record([ended(fresh[0]!, { status: "delivered" }, { outcome, startedAt: START + DAY })]);
      expect(await forget(store, START + 2 * DAY)).toBe(1);
      expect(await bodyOf(store, id)).toEqual([["", false]]);
    });
  });
}

export function pruningMany(openFresh: OpenFresh): void {
  describe("pruning much", () => {
    it("goes in steps, and on from where it was after a crash in the middle of an event", async () => {
      const harness = await openFresh();
      for (let endpoint = 0; endpoint < 300; endpoint++) await addEndpoint(harness.store);
      const { id, fresh } = await publishOne(harness.store);
      const small = await publishOne(harness.store, { type: "goal.achieved" });
      await harness.store.deliveries.record(fresh.map((claim) => failed(claim)));
      const rules = rulesAt(START + 91 * DAY);
      let step = await harness.store.upkeep.pruneEvents(rules, null);
      // Attempts are removed before deliveries.
      for (
        ;
        (await attemptsOf(harness.store, id)) > 0;
        step = await harness.store.upkeep.pruneEvents(rules, step.next)
      ) {
        expect(step).toEqual({ pruned: 0, next: expect.any(String) });
      }
      const store = await harness.crash();
      expect((await store.reads.getEvent(null, id))!.deliveries).toHaveLength(100);
      expect(await prune(store, rules)).toBe(2);
      expect([await isThere(store, id), await isThere(store, small.id)]).toEqual([false, false]);
    });

    it("are looked at 500 a step, and one that is still being cancelled stays", async () => {
      const { store } = await openFresh();
      const ids = await Promise.all(IDS_IN_ORDER.map(() => addEndpoint(store)));
      for (const id of ids.slice(0, -1)) await store.endpoints.delete(null, id, START);
      const first = await pruneEndpoints(store, START + 1);
      expect(first).toEqual({ pruned: 500, next: expect.any(String) });
      expect(await store.endpoints.prune(START + 1, first.next)).toEqual({ pruned: 99, next: null });
      expect((await store.endpoints.list(EVERYTHING)).data.map(({ id }) => id)).toEqual(ids.slice(-1));
    });
  });
}
