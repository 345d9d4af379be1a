import { describe, expect, it } from "vitest";
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
  withoutCapacity,
  publishOne,
  withCapacity,
  START,
} from "../../fixtures.ts";
import type { Standing } from "../../../../src/domain/endpoints/standing.ts";
import type { OpenFresh } from "../../stores.ts";

const MINUTE = 60_000;

export function health(openFresh: OpenFresh): void {
  describe("the health of an endpoint", () => {
    it("tells how the latest attempts went, and since when they fail", async () => {
      const harness = await openFresh();
      const { store } = harness;
      const id = await addEndpoint(store);
      const attempt = async (succeeds: boolean, startedAt: number) => {
        const claim = (await publishOne(store)).fresh[0]!;
        await store.deliveries.record([
          { ...(succeeds ? delivered(claim) : again(claim, startedAt + MINUTE)), startedAt },
        ]);
      };
      const none = { lastSuccessAt: null, lastFailureAt: null, consecutiveFailures: 0 };
      expect(await store.endpoints.health("default", id)).toEqual({
        ...none,
        pending: 0,
        held: 0,
        failed: 0,
        heldKeys: null,
      });
      await attempt(false, START);
      await attempt(false, START + 1000);
      expect(await store.endpoints.failingSince(id)).toBe(START + 12);
      expect(await store.endpoints.health(null, id)).toMatchObject({
        lastFailureAt: START + 1012,
        consecutiveFailures: 2,
        pending: 2,
      });
      await attempt(true, START + 2000);
      expect(await store.endpoints.failingSince(id)).toBeNull();
      await attempt(false, START + 3000);
      await store.upkeep.saveHealth();
      const after = { lastSuccessAt: START + 2012, lastFailureAt: START + 3012, consecutiveFailures: 1 };
      expect(await store.endpoints.health(null, id)).toMatchObject(after);
      const crashed = await harness.crash();
      expect(await crashed.endpoints.health(null, id)).toMatchObject(after);
      expect(await crashed.endpoints.failingSince(id)).toBe(START + 3012);
    });

    it("is written when the store is closed", async () => {
      const harness = await openFresh();
      const id = await addEndpoint(harness.store);
      await harness.store.deliveries.record([failed((await publishOne(harness.store)).fresh[0]!)]);
      const store = await harness.reopen();
      expect(await store.endpoints.health(null, id)).toMatchObject({ consecutiveFailures: 1, failed: 1 });
    });

    it("counts what is pending, held and failed, tests and interruptions left out", async () => {
      const { store } = await openFresh();
      const id = await addEndpoint(store);
      await addEndpoint(store);
      await store.events.publish(Array(3).fill(draft()), START, withoutCapacity);
      const fresh = (await publishOne(store)).fresh.find(({ endpoint }) => endpoint === id)!;
      const gone = (await publishOne(store)).fresh.find(({ endpoint }) => endpoint === id)!;
      const test = (await publishOne(store, { testFor: id })).fresh[0]!;
      const interrupted = { ...answered(503), outcome: "interrupted", error: "interrupted" } as const;
      const verdict = { status: "pending", retry: 0, dueAt: START } as const;
      await store.deliveries.record([failed(gone), failed(test), ended(fresh, verdict, { outcome: interrupted })]);
      const counts = { pending: 4, held: 0, failed: 1, consecutiveFailures: 1 };
      expect(await store.endpoints.health(null, id)).toMatchObject(counts);
      await store.endpoints.update(null, id, (settings) => ({ ...settings, enabled: false }), START);
      expect(await store.endpoints.health(null, id)).toMatchObject({ ...counts, pending: 0, held: 4 });
    });

    it("is read of several endpoints at once, as of each alone", async () => {
      const { store } = await openFresh();
      const [one, two, gone] = [await addEndpoint(store), await addEndpoint(store), await addEndpoint(store)];
      const { fresh } = await publishOne(store);
      await store.deliveries.record([delivered(fresh.find(({ endpoint }) => endpoint === one)!)]);
      await store.deliveries.record([failed(fresh.find(({ endpoint }) => endpoint === two)!)]);
      await store.events.publish(Array(2).fill(draft()), START, withoutCapacity);
      await store.endpoints.update(null, two, (settings) => ({ ...settings, enabled: false }), START);
      await store.endpoints.delete(null, gone, START);
      const all = await store.endpoints.healthOf([two, gone, one]);
      expect([...all.keys()].toSorted()).toEqual([one, two].toSorted());
      expect(all.get(one)).toMatchObject({ pending: 2, consecutiveFailures: 0 });
      for (const id of [one, two]) expect(all.get(id)).toEqual(await store.endpoints.health(null, id));
    });

    it("decides which endpoints a list shows, by their state", async () => {
      const { store } = await openFresh();
      const [working, failing, retrying, untried, disabled, fresh] = [
        await addEndpoint(store, { events: ["goal.achieved"] }),
        await addEndpoint(store, { events: ["budget.exceeded"] }),
        await addEndpoint(store, { events: ["carbon.threshold"] }),
        await addEndpoint(store, { events: ["subscription.detected"] }),
        await addEndpoint(store, { events: ["goal.achieved"] }),
        await addEndpoint(store, { events: ["goal.achieved"], enabled: false }),
      ] as const;
      const attempt = async (type: string, how: typeof delivered | typeof failed, times = 1) => {
        for (let time = 0; time < times; time++)
          await store.deliveries.record((await publishOne(store, { type })).fresh.map(how));
      };
      await attempt("goal.achieved", delivered);
      await attempt("budget.exceeded", failed, 3);
      await attempt("carbon.threshold", failed);
      await attempt("subscription.detected", failed);
      for (const [id, enabled] of [
        [untried, false],
        [untried, true],
        [disabled, false],
      ] as const)
        await store.endpoints.update(null, id, (settings) => ({ ...settings, enabled }), START);
      await store.endpoints.update(null, fresh, (settings) => ({ ...settings, enabled: true }), START);
      await store.upkeep.saveHealth();
      const listed = async (standing: Standing | readonly Standing[]) => {
        const query = { tenant: null, limit: 10, order: "oldest", standing, total: true } as const;
        const { data, total } = await store.endpoints.list(query);
        expect(total).toMatchObject({ count: data.length });
        return data.map(({ id }) => id);
      };
      expect(await listed("working")).toEqual([working]);
      expect(await listed("failing")).toEqual([failing]);
      expect(await listed("retrying")).toEqual([retrying]);
      expect(await listed("untried")).toEqual([untried]);
      expect(await listed("disabled")).toEqual([disabled]);
      expect(await listed("new")).toEqual([fresh]);
      expect(await listed("damaged")).toEqual([]);
      expect(await listed(["failing", "new", "retrying"])).toEqual([failing, retrying, fresh]);
    });

    it("is nobody's but the tenant's", async () => {
      const { store } = await openFresh();
      const id = await addEndpoint(store);
      expect(await store.endpoints.health("other", id)).toBeNull();
      await store.endpoints.delete(null, id, START);
      expect(await store.endpoints.health(null, id)).toBeNull();
    });
  });

  describe("an endpoint that is disabled by itself", () => {
    it("says why, once, and only if it still has the URL that failed", async () => {
      const { store } = await openFresh();
      const id = await addEndpoint(store);
      const url = "https://receiver.example/hook";
      expect(await store.endpoints.disable(id, "https://other.example/", "gone", START + 1)).toBe(false);
      expect(await store.endpoints.disable(id, url, "gone", START + 1)).toBe(true);
      expect(await store.endpoints.disable(id, url, "failing", START + 2)).toBe(false);
      const shown = { enabled: false, disabledReason: "gone", updatedAt: START + 1 };
      expect(await store.endpoints.get(null, id)).toMatchObject(shown);
      expect((await publishOne(store)).fresh).toEqual([]);
      const other = await store.endpoints.update(
        null,
        id,
        (settings) => ({ ...settings, description: "d" }),
        START + 3,
      );
      expect(other).toMatchObject({ enabled: false, disabledReason: "gone" });
    });

    it("begins anew when it is enabled, also if the process dies at once", async () => {
      const harness = await openFresh();
      const { store } = harness;
      const id = await addEndpoint(store);
      await store.deliveries.record([failed((await publishOne(store)).fresh[0]!)]);
      await store.upkeep.saveHealth();
      await store.endpoints.disable(id, "https://receiver.example/hook", "failing", START);
      const enabled = await store.endpoints.update(null, id, (settings) => ({ ...settings, enabled: true }), START);
      expect(enabled).toMatchObject({ enabled: true, disabledReason: null });
      for (const each of [store, await harness.crash()]) {
        expect(await each.endpoints.failingSince(id)).toBeNull();
        expect(await each.endpoints.health(null, id)).toMatchObject({ consecutiveFailures: 0 });
      }
    });
  });

  describe("cancelling what was held", () => {
    it("is so at once, however much it is, and touches nothing that comes later", async () => {
      const { store, clock } = await openFresh();
      const id = await addEndpoint(store);
      const onWire = (await publishOne(store)).fresh[0]!;
      const held = await store.events.publish(Array(1203).fill(draft()), START, withoutCapacity);
      await store.endpoints.update(null, id, (settings) => ({ ...settings, enabled: false }), START);
      // This change does not enable the endpoint, so it cancels nothing.
      await store.endpoints.update(null, id, (settings) => settings, START, "cancel");
      expect(await store.endpoints.health(null, id)).toMatchObject({ held: 1204 });
      await store.endpoints.update(null, id, (settings) => ({ ...settings, enabled: true }), START, "cancel");
      const status = async (event: string) => (await store.reads.getEvent(null, event))!.deliveries[0]!.status;
      expect([await status(onWire.event), await status(held[1202]!.id)]).toEqual(["cancelled", "cancelled"]);
      expect(await store.endpoints.health(null, id)).toMatchObject({ pending: 0, held: 0 });
      const later = await store.events.publish([draft(), draft()], START, withoutCapacity);
      expect(await store.endpoints.health(null, id)).toMatchObject({ pending: 2 });
      // Until all rows are rewritten, none can be read or replayed.
      expect(await store.deliveries.due(id, { dueAt: 0, event: "" }, START, 10)).toMatchObject({
        claims: [],
        cancelling: true,
      });
      expect(await store.deliveries.waiting(id, { dueAt: 0, event: "" }, 10)).toEqual([]);
      await whenCancelled(store, clock, id);
      expect((await dueNow(store, id)).map(({ event }) => event)).toEqual(later.map((each) => each.id));
      expect((await store.reads.listEvents({ ...EVERYTHING, status: "pending" })).data).toHaveLength(2);
      expect(await store.deliveries.record([again(onWire, START + MINUTE)])).toMatchObject([
        { result: "superseded", waiting: null },
      ]);
      expect(await store.deliveries.record([delivered(onWire)])).toMatchObject([{ result: "applied" }]);
      expect(await status(onWire.event)).toBe("delivered");
      expect(await status(held[600]!.id)).toBe("cancelled");
    });

    it("leaves the failed ones alone, and refuses to replay them until it is done", async () => {
      const { store, clock } = await openFresh();
      const id = await addEndpoint(store);
      const failure = (await publishOne(store)).fresh[0]!;
      await store.deliveries.record([failed(failure)]);
      await store.events.publish(Array(700).fill(draft()), START, withoutCapacity);
      await store.endpoints.update(null, id, (settings) => ({ ...settings, enabled: false }), START);
      const cancelling = store.endpoints.update(
        null,
        id,
        (settings) => ({ ...settings, enabled: true }),
        START,
        "cancel",
      );
      const early = store.events.replay(null, failure.event, {}, START);
      await cancelling;
      expect((await early).result).toBe("endpoint_disabled");
      await whenCancelled(store, clock, id);
      expect((await store.events.replay(null, failure.event, {}, START)).result).toBe("replayed");
      expect(await dueNow(store, id)).toHaveLength(1);
    });

    it("goes on through other changes of the endpoint", async () => {
      const { store, clock } = await openFresh();
      const id = await addEndpoint(store);
      await store.events.publish(Array(1203).fill(draft()), START, withoutCapacity);
      await store.endpoints.update(null, id, (settings) => ({ ...settings, enabled: false }), START);
      // The second change happens before the first has rewritten all rows.
      await Promise.all([
        store.endpoints.update(null, id, (settings) => ({ ...settings, enabled: true }), START, "cancel"),
        store.endpoints.update(null, id, (settings) => ({ ...settings, description: "d" }), START),
      ]);
      await whenCancelled(store, clock, id);
      expect(await dueNow(store, id)).toEqual([]);
      expect(await store.endpoints.health(null, id)).toMatchObject({ pending: 0, held: 0 });
    });

    it("takes in what was held and cancelled while it was under way, also what is due before the rest", async () => {
      const { store, clock } = await openFresh();
      const id = await addEndpoint(store);
      const published = await store.events.publish(Array(1203).fill(draft()), START, withCapacity);
      await store.deliveries.record(published.map(({ fresh }) => again(fresh[0]!, START + 60 * MINUTE)));
      const enable = (enabled: boolean) =>
        store.endpoints.update(null, id, (settings) => ({ ...settings, enabled }), START, "cancel");
      await enable(false);
      await enable(true);
      // Some rows are rewritten by now. The deliveries held from here on are due before those.
      const [, held] = await Promise.all([
        enable(false),
        store.events.publish([draft(), draft()], START, withoutCapacity),
      ]);
      await enable(true);
      await whenCancelled(store, clock, id);
      expect(await dueNow(store, id)).toEqual([]);
      expect(await store.endpoints.health(null, id)).toMatchObject({ pending: 0, held: 0 });
      expect((await store.reads.getEvent(null, held[1]!.id))!.deliveries).toMatchObject([{ status: "cancelled" }]);
    });

    it("drops the attempts that were asked for of it, so that nothing keeps its events", async () => {
      const { store, clock } = await openFresh();
      const id = await addEndpoint(store);
      const [held, failure] = [await publishOne(store), await publishOne(store)].map(({ fresh }) => fresh[0]!);
      await store.deliveries.record([again(held!, START + MINUTE), failed(failure!)]);
      const enable = (enabled: boolean) =>
        store.endpoints.update(null, id, (settings) => ({ ...settings, enabled }), START, "cancel");
      await enable(false);
      for (const { delivery } of [held!, failure!]) await store.deliveries.requestAttempt(null, delivery, START);
      await enable(true);
      await whenCancelled(store, clock, id);
      const owed = await store.deliveries.requestedAttempts(null, 10);
      expect(owed).toEqual([{ delivery: failure!.delivery, endpoint: id }]);
      const later = START + 60 * MINUTE;
      expect(await store.upkeep.pruneEvents({ delivered: later, failed: later }, null)).toMatchObject({ pruned: 1 });
      expect(await store.reads.getEvent(null, held!.event)).toBeNull();
    });

    it("goes on after a crash", async () => {
      const harness = await openFresh();
      const id = await addEndpoint(harness.store);
      await harness.store.events.publish(Array(1203).fill(draft()), START, withoutCapacity);
      await harness.store.endpoints.update(null, id, (settings) => ({ ...settings, enabled: false }), START);
      await harness.store.endpoints.update(null, id, (settings) => ({ ...settings, enabled: true }), START, "cancel");
      const store = await harness.crash();
      await whenCancelled(store, harness.clock, id);
      expect(await dueNow(store, id)).toEqual([]);
      expect(await store.deliveries.earliestDue(null, 9)).toEqual(new Map());
    });
  });
}

export function healthOfMany(openFresh: OpenFresh): void {
  describe("the health of an endpoint with many deliveries", () => {
    it("counts to ten thousand and no further", async () => {
      const { store } = await openFresh();
      const id = await addEndpoint(store);
      for (let batch = 0; batch < 11; batch++)
        await store.events.publish(Array(1000).fill(draft()), START, withoutCapacity);
      expect(await store.endpoints.health(null, id)).toMatchObject({ pending: 10_000 });
    });
  });
}

type Opened = Awaited<ReturnType<OpenFresh>>;

/** Waits until the held deliveries are cancelled. The clock moves, because a store may pause between its steps. */
async function whenCancelled(store: Opened["store"], clock: Opened["clock"], id: string): Promise<void> {
  const isCancelling = async () => {
    clock.advance(100);
    return (await store.deliveries.due(id, { dueAt: 0, event: "" }, 0, 1)).cancelling;
  };
  await expect.poll(isCancelling, { interval: 5 }).toBeUndefined();
}
