import { describe, expect, it } from "vitest";
import { addEndpoint, draft, EVERYTHING, withoutCapacity, publishOne, START } from "../../fixtures.ts";
import type { OpenFresh } from "../../stores.ts";

export function patterns(openFresh: OpenFresh): void {
  describe("patterns of event types", () => {
    const types = ["budget.exceeded", "budget.limit.raised", "budget", "goal.achieved"];
    const drafts = types.map((type) => draft({ type }));

    it("reach every type that they match, and each endpoint once", async () => {
      const { store } = await openFresh();
      const chosen = [["*"], ["budget.*"], ["budget.limit.*"], ["budget"], ["budget.exceeded", "budget.*", "*"]];
      const endpoints: string[] = [];
      for (const events of chosen) endpoints.push(await addEndpoint(store, { events }));
      await addEndpoint(store, { tenant: "other", events: ["*"] });
      const published = await store.events.publish(drafts, START, withoutCapacity);
      const reached = published.map(({ waiting }) => waiting.map(({ endpoint }) => endpoints.indexOf(endpoint)));
      expect(reached).toEqual([
        [0, 1, 4],
        [0, 1, 2, 4],
        [0, 3, 4],
        [0, 4],
      ]);
      expect(published.map(({ deliveries }) => deliveries)).toEqual([3, 4, 3, 2]);
    });

    it("take in a type that nobody has published before, and exact names do not", async () => {
      const { store } = await openFresh();
      const pattern = await addEndpoint(store, { events: ["fresh.*"] });
      await addEndpoint(store, { events: ["fresh.one"] });
      const first = await publishOne(store, { type: "fresh.two" });
      expect(first.fresh.map(({ endpoint }) => endpoint)).toEqual([pattern]);
      const later = await addEndpoint(store, { events: ["fresh.*"] });
      const second = await publishOne(store, { type: "fresh.two" });
      expect(second.fresh.map(({ endpoint }) => endpoint)).toEqual([pattern, later]);
    });

    it("hold from the change of an endpoint on, after a restart too", async () => {
      const harness = await openFresh();
      const endpoint = await addEndpoint(harness.store, { events: ["goal.achieved"] });
      const set = (events: string[]) =>
        harness.store.endpoints.update(null, endpoint, (before) => ({ ...before, events }), START);
      const reached = async () => (await publishOne(harness.store)).deliveries;
      const counts = [await reached()];
      expect((await set(["budget.*"]))!.events).toEqual(["budget.*"]);
      counts.push(await reached());
      await harness.reopen();
      counts.push(await reached());
      await set(["goal.*"]);
      counts.push(await reached());
      await set(["*"]);
      counts.push(await reached());
      await harness.store.endpoints.delete(null, endpoint, START);
      counts.push(await reached());
      expect(counts).toEqual([0, 1, 1, 0, 1, 0]);
    });

    it("are among the endpoints of a type, and are never a type that is known no more", async () => {
      const { store } = await openFresh();
      const ids: string[] = [];
      for (const events of [["*"], ["budget.*"], ["budget.exceeded"], ["goal.*"]]) {
        ids.push(await addEndpoint(store, { events }));
      }
      const list = await store.endpoints.list({ ...EVERYTHING, type: "budget.exceeded" });
      expect(list.data.map(({ id }) => id)).toEqual(ids.slice(0, 3));
      expect(await store.endpoints.typesInUse([])).toEqual([{ type: "budget.exceeded", endpoints: 1, some: [ids[2]] }]);
    });

    it("say which events an endpoint never had, when they are back-filled", async () => {
      const { store } = await openFresh();
      await store.events.publish(drafts, START, withoutCapacity);
      const endpoint = await addEndpoint(store, { events: ["budget.*", "goal.achieved"] });
      const matched = async (type?: string) => {
        const filter = { test: false, missing: true, endpoint, ...(type !== undefined && { type }) };
        const plan = await store.jobs.plan({ action: "replay", tenant: "default", filter });
        return plan.matched;
      };
      const counts = [await matched(), await matched("budget.limit.raised"), await matched("budget")];
      expect(counts).toEqual([3, 1, 0]);
    });
  });
}
