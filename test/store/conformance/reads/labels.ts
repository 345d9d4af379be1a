import { describe, expect, it } from "vitest";
import type { DeliveryQuery, EventQuery, Store } from "../../../../src/store/store.ts";
import { addEndpoint, delivered, EVERYTHING, failed, publishOne, START } from "../../fixtures.ts";
import type { OpenFresh } from "../../stores.ts";

const DAY_MS = 24 * 3_600_000;

/** Returns the events that the lists of events and of deliveries find, which must be the same. */
async function found(store: Store, more: Partial<EventQuery & DeliveryQuery>): Promise<string[]> {
  const events = await store.reads.listEvents({ ...EVERYTHING, ...more } as EventQuery);
  const deliveries = await store.reads.listDeliveries({ ...EVERYTHING, ...more } as DeliveryQuery);
  const ids = events.data.map(({ id }) => id);
  expect([...new Set(deliveries.data.map(({ event }) => event))]).toEqual(ids);
  return ids;
}

export function labels(openFresh: OpenFresh): void {
  describe("the publisher's id and tags", () => {
    it("are shown, and find events and their deliveries", async () => {
      const { store } = await openFresh();
      const one = await addEndpoint(store);
      await addEndpoint(store, { url: "https://other.example/" });
      const a = await publishOne(store, { labels: { publisherId: "order-1", tags: ["acme", "blue"] } });
      const b = await publishOne(store, { labels: { publisherId: "order-2", tags: ["acme"] } });
      const c = await publishOne(store, { labels: { publisherId: null, tags: ["order-1"] } });
      const plain = await publishOne(store);
      await store.deliveries.record([failed(a.fresh[0]!), delivered(a.fresh[1]!)]);

      expect(await store.reads.getEvent("default", a.id)).toMatchObject({
        publisherId: "order-1",
        tags: ["acme", "blue"],
      });
      const { data } = await store.reads.listEvents(EVERYTHING);
      expect(data.map(({ publisherId, tags }) => [publisherId, tags])).toEqual([
        ["order-1", ["acme", "blue"]],
        ["order-2", ["acme"]],
        [null, ["order-1"]],
        [null, []],
      ]);
      expect(await store.reads.getEvent(null, plain.id)).toMatchObject({ publisherId: null, tags: [] });

      expect(await found(store, { publisherId: "order-1" })).toEqual([a.id]);
      expect(await found(store, { publisherId: "ORDER-1" })).toEqual([]);
      expect(await found(store, { tag: "acme" })).toEqual([a.id, b.id]);
      expect(await found(store, { tag: "acme", order: "newest" })).toEqual([b.id, a.id]);
      expect(await found(store, { tag: ["blue", "order-1"] })).toEqual([a.id, c.id]);
      expect(await found(store, { tag: "acme", publisherId: "order-2" })).toEqual([b.id]);
      expect(await found(store, { label: "order-1" })).toEqual([a.id, c.id]);
      expect(await found(store, { label: "acme", status: "failed" })).toEqual([a.id]);
      expect(await found(store, { label: "acme", endpoint: one, status: "delivered" })).toEqual([]);
      expect(await found(store, { tag: "acme", since: START + 1 })).toEqual([]);
      expect(await found(store, { tag: "acme", type: "goal.achieved" })).toEqual([]);
      const page = await store.reads.listEvents({ ...EVERYTHING, tag: "acme", limit: 1, total: true });
      expect(page.total).toEqual({ count: 2 });
      const next = await store.reads.listEvents({ ...EVERYTHING, tag: "acme", limit: 1, cursor: page.nextCursor! });
      expect(next.data.map(({ id }) => id)).toEqual([b.id]);
    });

    it("belong to their tenant", async () => {
      const { store } = await openFresh();
      const ids: string[] = [];
      for (const tenant of ["default", "acme", "globex"]) {
        await addEndpoint(store, { tenant });
        ids.push((await publishOne(store, { tenant, labels: { publisherId: "7", tags: ["x"] } })).id);
      }
      expect(await found(store, { tag: "x" })).toEqual(ids);
      expect(await found(store, { tag: "x", tenant: "acme" })).toEqual([ids[1]]);
      expect(await found(store, { publisherId: "7", tenant: "nobody" })).toEqual([]);
      expect(await found(store, { label: "7", tenant: "globex" })).toEqual([ids[2]]);
    });

    it("go when the event is erased, and when it is pruned", async () => {
      const { store } = await openFresh();
      await addEndpoint(store);
      const given = { publisherId: "order-1", tags: ["acme"] };
      const erased = await publishOne(store, { labels: given });
      const pruned = await publishOne(store, { labels: given });
      await store.deliveries.record([delivered(pruned.fresh[0]!)]);
      await store.events.erase(null, erased.id, START);
      expect(await store.reads.getEvent(null, erased.id)).toMatchObject({ publisherId: null, tags: [] });
      expect(await found(store, { tag: "acme" })).toEqual([pruned.id]);
      const before = START + DAY_MS;
      await store.upkeep.pruneEvents({ delivered: before, failed: before }, null);
      expect(await store.reads.getEvent(null, pruned.id)).toBeNull();
      expect(await found(store, { tag: "acme" })).toEqual([]);
    });
  });
}
