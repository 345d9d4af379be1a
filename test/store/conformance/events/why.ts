import { describe, expect, it } from "vitest";
import { KEPT_CHOICES } from "../../../../src/domain/endpoints/choice.ts";
import type { EndpointSettings } from "../../../../src/domain/endpoints/endpoint.ts";
import { reasonOf, type Reason } from "../../../../src/domain/events/why.ts";
import type { Store } from "../../../../src/store/store.ts";
import {
  addEndpoint,
  again,
  dueNow,
  failed,
  newEndpoint,
  withoutCapacity,
  draft,
  publishOne,
  START,
} from "../../fixtures.ts";
import type { OpenFresh } from "../../stores.ts";

/** Returns the reason, or what there is none of. */
export async function whyOf(store: Store, event: string, endpoint: string, now = START): Promise<Reason | string> {
  const facts = await store.reads.whyFacts(null, event, endpoint);
  return typeof facts === "string" ? facts : reasonOf(facts, { now, halted: null });
}

const EXCEEDED = ["budget.exceeded"];
const ACHIEVED = ["goal.achieved"];

export function why(openFresh: OpenFresh): void {
  const change = (store: Store, id: string, settings: Partial<EndpointSettings>) =>
    store.endpoints.update(null, id, (before) => ({ ...before, ...settings }), START);

  describe("why an event did not arrive", () => {
    it("goes by what the publish saw, however close a change was, and after a crash too", async () => {
      const harness = await openFresh();
      const { store } = harness;
      const endpoint = await addEndpoint(store, { events: ACHIEVED });
      // They share an instant.
      const before = await publishOne(store);
      await change(store, endpoint, { events: EXCEEDED, filter: { data: { n: 5 } } });
      const after = await publishOne(store);
      await change(store, endpoint, { enabled: false, whenDisabled: "skip", filter: null });
      const last = await publishOne(store);
      const later = await addEndpoint(store);
      await store.endpoints.delete(null, endpoint, START + 5);
      const gone = await publishOne(store);
      const codes = async (of: Store) => {
        const events = [before, after, last, gone];
        return Promise.all(events.map(async ({ id }) => ((await whyOf(of, id, endpoint)) as Reason).code));
      };
      expect(await codes(store)).toEqual(["not_subscribed", "filtered", "skipped", "deleted"]);
      expect(await whyOf(store, before.id, later)).toEqual({ code: "not_registered", at: START });
      expect(await codes(await harness.crash())).toEqual(["not_subscribed", "filtered", "skipped", "deleted"]);
    });

    it("counts what waits before it, and says when the next attempt is due", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store);
      const published = await store.events.publish([draft(), draft(), draft()], START, withoutCapacity);
      const ids = published.map(({ id }) => id);
      expect(await whyOf(store, ids[2]!, endpoint)).toMatchObject({ code: "waiting", at: START, ahead: 2 });
      const [claim] = await dueNow(store, endpoint);
      await store.deliveries.record([again(claim!, START + 5000)]);
      expect(await whyOf(store, ids[0]!, endpoint)).toMatchObject({ code: "retrying", at: START + 5000, attempts: 1 });
      expect(await whyOf(store, ids[2]!, endpoint)).toMatchObject({ code: "waiting", ahead: 1 });
      await change(store, endpoint, { enabled: false });
      expect(await whyOf(store, ids[0]!, endpoint)).toEqual({ code: "held", attempts: 1 });
    });

    it("names the attempt that delivered it, though another one ended after that", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store);
      const { id, fresh } = await publishOne(store);
      const { delivery } = fresh[0]!;
      await store.deliveries.record([again(fresh[0]!, START)]);
      await store.deliveries.requestAttempt(null, delivery, START);
      const manual = (await store.deliveries.requestedAttempt(delivery))!;
      const [due] = await dueNow(store, endpoint);
      const success = { ...failed(manual), verdict: { status: "delivered" as const }, startedAt: START + 10 };
      const outcome = { ...success.outcome, outcome: "succeeded" as const, error: null, statusCode: 201 };
      await store.deliveries.record([{ ...success, outcome }]);
      await store.deliveries.record([failed({ ...due!, number: manual.number + 1 })]);
      expect(await whyOf(store, id, endpoint)).toMatchObject({ code: "delivered", at: START + 22, statusCode: 201 });
    });

    it("writes nothing for a change that concerns no choice", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store);
      await change(store, endpoint, { description: "new", ratePerSecond: 5 });
      await change(store, endpoint, { events: EXCEEDED });
      expect(await store.upkeep.pruneChoices()).toBe(0);
    });

    it("keeps earlier choices as long as an event that they decided", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store, { events: ACHIEVED });
      const { id } = await publishOne(store);
      await change(store, endpoint, { events: EXCEEDED });
      await change(store, endpoint, { events: ["invoice.paid"] });
      expect(await store.upkeep.pruneChoices()).toBe(0);
      const { id: second } = await publishOne(store, {}, START + 1);
      await store.upkeep.pruneEvents({ delivered: START + 1, failed: START + 1 }, null);
      expect(await store.upkeep.pruneChoices()).toBe(2);
      expect(await whyOf(store, id, endpoint)).toBe("no_event");
      expect(await whyOf(store, second, endpoint)).toMatchObject({
        code: "not_subscribed",
        choice: { events: ["invoice.paid"] },
      });
    });

    it("says that it cannot be known where a choice or a delivery is gone", async () => {
      const { store, write } = await openFresh();
      const [endpoint, other] = [await addEndpoint(store, { events: ACHIEVED }), await addEndpoint(store)];
      const { id } = await publishOne(store);
      const changes = Array.from({ length: KEPT_CHOICES }, (_, at) => ({ filter: { data: { at } } }));
      await Promise.all(changes.map((settings) => change(store, endpoint, settings)));
      expect(await whyOf(store, id, endpoint)).toEqual({ code: "unknown", because: "choice" });
      await write("DELETE FROM delivery");
      expect(await whyOf(store, id, other)).toEqual({ code: "unknown", because: "delivery" });
    });

    it("finds an endpoint of another tenant only if any tenant may be read", async () => {
      const { store } = await openFresh();
      const { id: other } = await store.endpoints.add(newEndpoint({ tenant: "acme" }), 10, START);
      const { id } = await publishOne(store);
      expect(await whyOf(store, id, other)).toEqual({ code: "tenant_differs", event: "default", endpoint: "acme" });
      expect(await store.reads.whyFacts("default", id, other)).toBe("no_endpoint");
      expect(await store.reads.whyFacts("acme", id, other)).toBe("no_event");
      expect(await store.reads.whyFacts(null, id, `ep_${"0".repeat(26)}`)).toBe("no_endpoint");
    });
  });
}
