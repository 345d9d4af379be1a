import { describe, expect, it } from "vitest";
import { parseDataFilter } from "../../../../src/domain/events/data-filter.ts";
import type { DeliveryQuery, EventQuery, Store } from "../../../../src/store/store.ts";
import { addEndpoint, delivered, draft, failed, publishOne, withCapacity, START } from "../../fixtures.ts";
import type { OpenFresh } from "../../stores.ts";

const MINUTE_MS = 60_000;

const says = (data: unknown) => ({ data: Buffer.from(JSON.stringify(data)) });

/** Searches to the end, a page at a time. */
async function found(
  store: Store,
  filter: string,
  more: Partial<EventQuery & DeliveryQuery> = {},
): Promise<{ events: string[]; deliveries: string[]; looked: number }> {
  const asked = { tenant: null, limit: 2, order: "newest", data: parseDataFilter(filter)!, ...more } as const;
  const events: string[] = [];
  let looked = 0;
  for (let cursor: string | undefined; ;) {
    const page = await store.reads.listEvents({ ...asked, cursor } as EventQuery);
    events.push(...page.data.map(({ id }) => id));
    looked += page.searched!.events;
    expect(page.searched!.until === null).toBe(page.nextCursor === null);
    if (page.nextCursor === null) break;
    cursor = page.nextCursor;
  }
  const deliveries: string[] = [];
  for (let cursor: string | undefined; ;) {
    const page = await store.reads.listDeliveries({ ...asked, cursor } as DeliveryQuery);
    deliveries.push(...page.data.map(({ id }) => id));
    if (page.nextCursor === null) break;
    cursor = page.nextCursor;
  }
  expect(new Set(deliveries).size).toBe(deliveries.length);
  return { events, deliveries, looked };
}

export function dataSearch(openFresh: OpenFresh): void {
  describe("what events' data says", () => {
    it("says how far it got where another filter leaves nothing to look at, too", async () => {
      const { store } = await openFresh();
      await addEndpoint(store);
      await publishOne(store, says({ n: 1 }));
      const asked = { tenant: null, limit: 2, order: "newest", data: parseDataFilter("n:1")! } as const;
      const none: (EventQuery & DeliveryQuery)[] = [
        { ...asked, tag: "nobody" },
        { ...asked, type: "carbon.threshold" },
        { ...asked, tenant: "nobody" },
        { ...asked, error: "dns_failure" },
        { ...asked, publisherId: "nobody", total: true },
      ];
      for (const query of none) {
        const pages = [await store.reads.listEvents(query), await store.reads.listDeliveries(query)];
        for (const page of pages) expect(page).toMatchObject({ data: [], nextCursor: null, searched: { until: null } });
      }
    });

    it("finds events and their deliveries, with every other filter", async () => {
      const { store } = await openFresh();
      const one = await addEndpoint(store);
      const other = await addEndpoint(store, { url: "https://other.example/" });
      const customer = (id: string, n: number) => says({ customer: { id }, n });
      const a = await publishOne(store, { ...customer("cus_1", 1), labels: { publisherId: "order-1", tags: [] } });
      const b = await publishOne(store, customer("cus_2", 2), START + MINUTE_MS);
      const c = await publishOne(store, customer("cus_1", 3), START + 2 * MINUTE_MS);
      const unmatched = await publishOne(
        store,
        { ...customer("cus_1", 4), type: "goal.achieved" },
        START + 3 * MINUTE_MS,
      );
      const foreign = await publishOne(store, { ...customer("cus_1", 5), tenant: "acme" }, START + 4 * MINUTE_MS);
      await store.deliveries.record([failed(a.fresh[0]!), delivered(a.fresh[1]!), delivered(c.fresh[0]!)]);
      const own = (publication: typeof a) => publication.fresh.map(({ delivery }) => delivery);

      const everywhere = await found(store, "customer.id:cus_1");
      expect(everywhere.events).toEqual([foreign, unmatched, c, a].map(({ id }) => id));
      expect(everywhere.deliveries).toEqual([...own(c).toReversed(), ...own(a).toReversed()]);
      const oldest = await found(store, "customer.id:cus_1", { order: "oldest" });
      expect(oldest.events).toEqual(everywhere.events.toReversed());
      expect(oldest.deliveries).toEqual(everywhere.deliveries.toReversed());

      const events = async (more: object) => (await found(store, "customer.id:cus_1", more)).events;
      expect(await events({ tenant: "default" })).toEqual([unmatched.id, c.id, a.id]);
      expect(await events({ tenant: "acme" })).toEqual([foreign.id]);
      expect(await events({ type: "goal.achieved" })).toEqual([unmatched.id]);
      expect(await events({ since: START + MINUTE_MS, until: START + 3 * MINUTE_MS })).toEqual([c.id]);
      expect(await events({ status: "failed" })).toEqual([a.id]);
      expect(await events({ status: "delivered" })).toEqual([]);
      expect(await events({ endpoint: one, status: "delivered" })).toEqual([c.id]);
      expect(await events({ publisherId: "order-1" })).toEqual([a.id]);
      expect(await events({ error: "http_status" })).toEqual([a.id]);
      expect((await found(store, "customer.id:cus_1", { endpoint: other })).deliveries).toEqual([own(c)[1], own(a)[1]]);
      expect((await found(store, "customer.id:cus_2")).events).toEqual([b.id]);
      expect((await found(store, "customer.id:cus_1 n:3")).events).toEqual([c.id]);
      expect((await found(store, "n:3")).events).toEqual([c.id]);
      // The envelope is not part of the data.
      expect((await found(store, "type:goal.achieved")).events).toEqual([]);

      await store.events.erase(null, c.id, START);
      expect((await found(store, "n:3")).events).toEqual([]);
    });

    it("finds any characters, and any place in data of any length", async () => {
      const { store } = await openFresh();
      const values = ["*", "a*b?[c]", "[x]", "]", "ÄÖ💶", "%_%", "7", "a".repeat(256), '"', "\\"];
      const padding = "*?[]7%_".repeat(9000);
      const ids: string[] = [];
      for (const value of values) {
        const [found] = await store.events.publish([draft(says({ padding, deep: [{ value }] }))], START, withCapacity);
        ids.push(found!.id);
      }
      for (const [at, value] of values.entries()) {
        expect((await found(store, `deep.value:${JSON.stringify(value)}`)).events, value).toEqual([ids[at]]);
      }
    });

    it("is looked for in pages that say how far they got, and show each event once while more arrives", async () => {
      const { store } = await openFresh();
      await addEndpoint(store);
      const at = (batch: number) =>
        store.events.publish(
          Array.from({ length: 100 }, (_, index) =>
            draft(says({ n: index % 10, batch, customer: `customer-000${index % 10}` })),
          ),
          START + batch * MINUTE_MS,
          withCapacity,
        );
      const ids: string[] = [];
      for (let batch = 0; batch < 20; batch++) {
        const publications = await at(batch);
        ids.push(...publications.filter((_, index) => index % 10 === 7).map(({ id }) => id));
      }
      // All the customers' names begin alike.
      for (const [order, filter] of [
        ["newest", "n:7"],
        ["oldest", "customer:customer-0007"],
      ] as const) {
        const seen: string[] = [];
        let looked = 0;
        const data = parseDataFilter(filter)!;
        let added = 0;
        for (let cursor: string | undefined; ;) {
          const page = await store.reads.listEvents({ tenant: null, limit: 30, order, cursor, data });
          seen.push(...page.data.map(({ id }) => id));
          looked += page.searched!.events;
          if (page.nextCursor === null) break;
          if (order === "newest") expect(page.searched!.until).toBe(page.data.at(-1)!.receivedAt);
          if (added++ < 2) await at(20);
          cursor = page.nextCursor;
        }
        const known = seen.filter((id) => ids.includes(id));
        expect(known).toEqual(order === "newest" ? ids.toReversed() : ids);
        expect(new Set(seen).size).toBe(seen.length);
        expect(looked).toBeGreaterThanOrEqual(2000);
      }
      const total = await store.reads.listEvents({
        tenant: null,
        limit: 10,
        order: "newest",
        data: parseDataFilter("n:7 batch:0")!,
        total: true,
      });
      expect(total).toMatchObject({ data: { length: 10 } });
      expect(total.total).toBeUndefined();
    });
  });
}
