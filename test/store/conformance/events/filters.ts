import { describe, expect, it } from "vitest";
import type { EventDraft } from "../../../../src/domain/events/event.ts";
import type { FilterDocument } from "../../../../src/domain/events/filter/filter.ts";
import { addEndpoint, draft, EVERYTHING, failed, withoutCapacity, publishOne, START } from "../../fixtures.ts";
import { LongFilters } from "../../../../src/domain/events/filter/verdicts.ts";
import { publishing } from "../../../../src/domain/events/routing.ts";
import type { OpenFresh } from "../../stores.ts";

function about(data: object, more: Partial<EventDraft> = {}): EventDraft {
  return draft({ data: Buffer.from(JSON.stringify(data)), ...more });
}

export function filters(openFresh: OpenFresh): void {
  describe("filters of endpoints", () => {
    const large: FilterDocument = { data: { amount: { $gt: 1000 }, currency: "EUR" } };
    const euro = { amount: 2000, currency: "EUR" };

    it("choose among the events of a type, each by its own data and tags", async () => {
      const { store } = await openFresh();
      const some = [null, large, { data: { currency: "USD" } }, large, { tags: "vip" }, { type: { $neq: "x" } }];
      const endpoints: string[] = [];
      for (const filter of some) endpoints.push(await addEndpoint(store, { filter }));
      const drafts = [
        about(euro),
        about({ amount: 5, currency: "EUR" }),
        about({ amount: 5, currency: "USD" }, { labels: { publisherId: null, tags: ["vip"] } }),
      ];
      const published = await store.events.publish(drafts, START, withoutCapacity);
      const reached = published.map(({ waiting }) => waiting.map(({ endpoint }) => endpoints.indexOf(endpoint)));
      expect(reached).toEqual([
        [0, 1, 3, 5],
        [0, 5],
        [0, 2, 4, 5],
      ]);
      expect(published.map(({ deliveries }) => deliveries)).toEqual([4, 2, 4]);
      const { data } = await store.endpoints.list(EVERYTHING);
      expect(data.map(({ filter }) => filter)).toEqual(some);
    });

    it("hold from the change of an endpoint on, after a restart too", async () => {
      const harness = await openFresh();
      const endpoint = await addEndpoint(harness.store, { filter: large });
      const set = (filter: FilterDocument | null) =>
        harness.store.endpoints.update(null, endpoint, (before) => ({ ...before, filter }), START);
      const reached = async () => (await publishOne(harness.store, { data: Buffer.from('{"amount":5}') })).deliveries;
      const counts = [await reached()];
      expect((await set({ data: { amount: 5 } }))!.filter).toEqual({ data: { amount: 5 } });
      counts.push(await reached());
      await harness.reopen();
      counts.push(await reached());
      await set(large);
      counts.push(await reached());
      expect((await set(null))!.filter).toBeNull();
      counts.push(await reached());
      expect(counts).toEqual([0, 1, 1, 0, 1]);
    });

    it("leave an event that nobody takes without deliveries, and a test goes out all the same", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store, { filter: large });
      const [none] = await store.events.publish([about({})], START, withoutCapacity);
      expect((await store.reads.getEvent(null, none!.id))!.status).toBe("unmatched");
      const [test] = await store.events.publish([about({}, { testFor: endpoint })], START, withoutCapacity);
      expect(test!.deliveries).toBe(1);
    });

    it("say which events an endpoint never had, by the filter of now", async () => {
      const { store } = await openFresh();
      const labels = { publisherId: null, tags: ["vip"] };
      const big = about({ ...euro, note: "x".repeat(100_000) });
      await store.events.publish(
        [about(euro), about({ amount: 5 }, { labels }), big, big, big],
        START,
        withoutCapacity,
      );
      const endpoint = await addEndpoint(store, { filter: { data: { amount: 5 } } });
      const matched = async (filter: FilterDocument | null) => {
        await store.endpoints.update(null, endpoint, (before) => ({ ...before, filter }), START);
        const filtered = { test: false, missing: true, endpoint };
        return (await store.jobs.plan({ action: "replay", tenant: "default", filter: filtered })).matched;
      };
      const counts = [await matched(large), await matched({ tags: "vip" }), await matched({ data: { amount: 5 } })];
      expect([...counts, await matched(null), await matched({ type: "other" })]).toEqual([4, 1, 1, 5, 0]);
    });

    it("that take long refuse the publish until they were asked, and it then happens once", async () => {
      const { store } = await openFresh();
      const slow = (at: number) => ({ data: { x: { $or: Array.from({ length: 40 }, (_, n) => ({ $gt: at + n })) } } });
      const taking = [await addEndpoint(store), await addEndpoint(store, { filter: { data: { x: 1 } } })];
      for (let at = 0; at < 5; at++) await addEndpoint(store, { filter: slow(10 + 100 * at) });
      const ones = (note: string) => about({ note, x: Array.from({ length: 400 }, () => 1) });
      const large = "x".repeat(150_000);
      for (const drafts of [[ones("")], [ones("a"), ones("b")], [ones(large), ones(large)]]) {
        const publish = () => store.events.publish(drafts, START, withoutCapacity);
        await expect(publish()).rejects.toBeInstanceOf(LongFilters);
        const published = await publishing(publish);
        expect(published.map(({ waiting }) => waiting.map(({ endpoint }) => endpoint))).toEqual(
          drafts.map(() => taking),
        );
      }
      expect((await store.reads.listEvents({ ...EVERYTHING, total: true })).data).toHaveLength(5);
      const once = {
        tenant: "default",
        key: "k",
        fingerprint: Buffer.alloc(32),
        expiresAt: START + 1000,
        answer: () => "a",
      };
      const drafts = [ones("c")];
      await publishing(() => store.events.publish(drafts, START, withoutCapacity, once));
      await expect(store.events.publish(drafts, START, withoutCapacity, once)).rejects.not.toBeInstanceOf(LongFilters);
      expect((await store.reads.listEvents(EVERYTHING)).data).toHaveLength(6);
    });

    it("do not filter a replay again", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store);
      const { id, fresh } = await publishOne(store);
      await store.deliveries.record(fresh.map(failed));
      await store.endpoints.update(null, endpoint, (before) => ({ ...before, filter: large }), START);
      expect(await store.events.replay(null, id, {}, START)).toMatchObject({ waiting: [{ endpoint }] });
    });
  });
}
