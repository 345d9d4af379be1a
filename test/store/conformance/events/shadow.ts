import { describe, expect, it } from "vitest";
import type { Claim } from "../../../../src/domain/deliveries/delivery.ts";
import { reasonOf, sentenceOf } from "../../../../src/domain/events/why.ts";
import { addEndpoint, BEGINNING, draft, dueNow, EVERYTHING, publishOne, START, withCapacity } from "../../fixtures.ts";
import type { OpenFresh } from "../../stores.ts";

const DAY = 86_400_000;
const SHADOW = { enabled: false, whenDisabled: "shadow" } as const;

export function shadowing(openFresh: OpenFresh): void {
  describe("an endpoint in shadow", () => {
    it("gets deliveries that are shadowed, of which nothing is sent or handed over", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store, { ...SHADOW, filter: { data: { n: { $gt: 1 } } } });
      const { id, deliveries, fresh, waiting } = await publishOne(store);
      expect({ deliveries, fresh, waiting }).toEqual({ deliveries: 1, fresh: [], waiting: [] });
      const other = await publishOne(store, { data: Buffer.from('{"n":1}') });
      expect(other.deliveries).toBe(0);
      const event = await store.reads.getEvent(null, id);
      const shown = { status: "shadowed", attempts: 0, nextAttemptAt: null, lastAttempt: null };
      expect(event).toMatchObject({ status: "shadowed", deliveries: [shown] });
      expect(await dueNow(store, endpoint)).toEqual([]);
      expect(await store.deliveries.earliestDue(null, 10)).toEqual(new Map());
      expect(await store.deliveries.fresh(null, 10)).toEqual([]);
    });

    it("stays silent about them when it is enabled: they are not sent, and the next one is", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store, SHADOW);
      const before = await publishOne(store);
      await store.endpoints.update(null, endpoint, (one) => ({ ...one, enabled: true }), START + 1);
      expect(await dueNow(store, endpoint)).toEqual([]);
      const after = await publishOne(store, {}, START + 2);
      expect(after.fresh).toMatchObject([{ event: after.id, number: 1 }]);
      expect(await store.reads.getEvent(null, before.id)).toMatchObject({ status: "shadowed" });
    });

    it("takes no line of an ordering key, and a held event behind it is the first", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store, { ...SHADOW, ordering: "by_key", afterFailure: "hold" });
      await publishOne(store, { orderingKey: "a" });
      await store.endpoints.update(null, endpoint, (one) => ({ ...one, whenDisabled: "hold" }), START + 1);
      const held = await publishOne(store, { orderingKey: "a" }, START + 2);
      await store.endpoints.update(null, endpoint, (one) => ({ ...one, enabled: true }), START + 3);
      const due = await dueNow(store, endpoint);
      expect(due.map(({ event }) => event)).toEqual([held.id]);
    });

    it("is sent a test all the same", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store, SHADOW);
      const { fresh } = await publishOne(store, { testFor: endpoint });
      expect(fresh).toMatchObject([{ endpoint, trigger: "test" }]);
    });

    it("has nothing that counts as pending, delivered or failed", async () => {
      const { store } = await openFresh({ maxPendingPerTenant: 2 });
      const endpoint = await addEndpoint(store, SHADOW);
      for (let at = 0; at < 5; at++) await publishOne(store, {}, START + at);
      await store.events.publish(Array(5).fill(draft()), START + 5, withCapacity);
      expect(await store.endpoints.health(null, endpoint)).toMatchObject({
        lastSuccessAt: null,
        lastFailureAt: null,
        consecutiveFailures: 0,
        pending: 0,
        held: 0,
        failed: 0,
        heldKeys: null,
      });
      expect(await store.upkeep.mendPending()).toEqual([]);
    });

    it("is left alone by replays, cancels, jobs and requests for an attempt", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store, SHADOW);
      const { id } = await publishOne(store);
      await store.endpoints.update(null, endpoint, (one) => ({ ...one, enabled: true }), START + 1);
      const [delivery] = (await store.reads.getEvent(null, id))!.deliveries;
      expect(await store.events.replay(null, id, { force: true }, START + 2)).toEqual({ result: "not_failed" });
      expect(await store.events.cancel(null, id, null)).toMatchObject({ cancelled: 0, deliveries: [] });
      expect(await store.deliveries.requestAttempt(null, delivery!.id, START + 2)).toMatchObject({ result: "settled" });
      expect(await dueNow(store, endpoint)).toEqual([]);
      const late: Claim[] = [...(await store.deliveries.due(endpoint, BEGINNING, START + DAY, 10)).claims];
      expect(late).toEqual([]);
      expect(await store.reads.getEvent(null, id)).toMatchObject({ status: "shadowed" });
    });

    it("finds them in lists by their status, and among those of its own", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store, SHADOW);
      const sent = await addEndpoint(store, { events: ["goal.achieved"] });
      const events = [await publishOne(store), await publishOne(store, {}, START + 1)];
      await publishOne(store, { type: "goal.achieved" }, START + 2);
      const ids = events.map(({ id }) => id);
      const status = "shadowed" as const;
      const [listed, own, none, all] = [
        await store.reads.listDeliveries({ ...EVERYTHING, status, total: true }),
        await store.reads.listDeliveries({ ...EVERYTHING, status: ["held", status], endpoint }),
        await store.reads.listDeliveries({ ...EVERYTHING, status, endpoint: sent }),
        await store.reads.listEvents({ ...EVERYTHING, status, tenant: "default", total: true }),
      ];
      expect(listed!.data.map(({ event }) => event)).toEqual(ids);
      expect(own!.data.map(({ event }) => event)).toEqual(ids);
      expect(none!.data).toEqual([]);
      expect(all!.data.map(({ id }) => id)).toEqual(ids);
      for (const other of ["pending", "held", "delivered", "cancelled", "failed"] as const) {
        const { data } = (await store.reads.listDeliveries({ ...EVERYTHING, status: other, endpoint }))!;
        expect([other, data]).toEqual([other, []]);
      }
    });

    it("keeps them for as long as what was delivered", async () => {
      const { store } = await openFresh();
      await addEndpoint(store, SHADOW);
      await publishOne(store);
      const rules = (now: number) => ({ delivered: now - 30 * DAY, failed: now - 90 * DAY });
      expect((await store.upkeep.pruneEvents(rules(START + 30 * DAY), null)).pruned).toBe(0);
      expect((await store.upkeep.pruneEvents(rules(START + 31 * DAY), null)).pruned).toBe(1);
    });

    it("says why nothing arrived", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store, SHADOW);
      const { id } = await publishOne(store);
      const facts = await store.reads.whyFacts(null, id, endpoint);
      const reason = typeof facts === "string" ? null : reasonOf(facts, { now: START, halted: null });
      expect(reason).toEqual({ code: "shadowed" });
      expect(sentenceOf(reason!)).toMatch(/^It was shadowed: .+ so nothing was sent\.$/);
    });
  });
}
