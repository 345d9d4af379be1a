import { describe, expect, it } from "vitest";
import type { DeliveryQuery, EventQuery, PageQuery, Store } from "../../../../src/store/store.ts";
import { addEndpoint, again, delivered, draft, failed, publishOne, withCapacity, START } from "../../fixtures.ts";
import type { OpenFresh } from "../../stores.ts";

const FILTERS: Partial<DeliveryQuery>[] = [
  {},
  { status: "failed" },
  { status: "pending" },
  { status: "delivered" },
  { status: ["failed", "pending"] },
  { type: "goal.achieved" },
  { type: ["goal.achieved", "budget.exceeded"] },
  { error: "http_status" },
  { since: START + 3000, until: START + 6000 },
];

/**
 * Publishes events of two tenants with two endpoints each. Some fail at one endpoint, some at both, some are tests, and
 * some have no recipient.
 */
async function fill(store: Store): Promise<string[]> {
  const endpoints: string[] = [];
  for (const tenant of ["default", "acme"]) {
    const events = ["budget.exceeded", "goal.achieved"];
    endpoints.push(await addEndpoint(store, { tenant, events }));
    endpoints.push(await addEndpoint(store, { tenant, events, url: "https://other.example/" }));
    for (let index = 0; index < 10; index++) {
      const type = events[index % 2]!;
      const { fresh } = await publishOne(store, { tenant, type }, START + 1000 * index);
      const [one, other] = fresh;
      const ends = [delivered, failed, (claim: typeof one) => again(claim!, START + 90_000)];
      await store.deliveries.record([ends[index % 3]!(one!), ends[index % 2]!(other!)]);
    }
    for (const end of [delivered, failed]) {
      const test = await publishOne(store, { tenant, testFor: endpoints.at(-1)! }, START + 4000);
      await store.deliveries.record([end(test.fresh[0]!)]);
    }
    await publishOne(store, { tenant, type: "carbon.threshold" }, START + 5000);
  }
  return endpoints;
}

export function totals(openFresh: OpenFresh): void {
  describe("totals", () => {
    it("are of the whole list on each of its pages, and only where they are asked for", async () => {
      const { store } = await openFresh();
      await addEndpoint(store);
      await store.events.publish(Array(5).fill(draft()), START, withCapacity);
      const query = { tenant: "default", limit: 2, order: "newest" } as const;
      const first = await store.reads.listEvents(query);
      expect(first.total).toBeUndefined();
      const second = await store.reads.listEvents({ ...query, cursor: first.nextCursor!, total: true });
      const last = await store.reads.listEvents({ ...query, cursor: second.nextCursor!, total: true });
      expect([second.total, last.total]).toEqual([{ count: 5 }, { count: 5 }]);
      const nobody = await store.reads.listEvents({ ...query, tenant: "nobody", total: true });
      expect(nobody.total).toEqual({ count: 0 });
    });

    it("are said of every list", async () => {
      const { store } = await openFresh();
      const [endpoint = ""] = await fill(store);
      const query = { tenant: "default", limit: 1, order: "newest", total: true } as const;
      const events = await store.reads.listEvents(query);
      const counts = {
        endpoints: (await store.endpoints.list(query)).total,
        matching: (await store.endpoints.list({ ...query, match: "OTHER" })).total,
        tenants: (await store.reads.listTenants({ ...query, tenant: null, since: 0 })).total,
        "attempts of an endpoint": (await store.reads.listEndpointAttempts({ ...query, endpoint }))!.total,
        "failed ones": (await store.reads.listEndpointAttempts({ ...query, endpoint, outcome: "failed" }))!.total,
        "attempts of an event": (await store.reads.listAttempts({ ...query, event: events.data[0]!.id }))!.total,
        jobs: (await store.jobs.list(query)).total,
        keys: (await store.keys.list(query)).total,
        audit: (await store.audit.list(query)).total,
      };
      expect(counts).toEqual({
        endpoints: { count: 2 },
        matching: { count: 1 },
        tenants: { count: 2 },
        "attempts of an endpoint": { count: 10 },
        "failed ones": { count: 6 },
        "attempts of an event": { count: 0 },
        jobs: { count: 0 },
        keys: { count: 0 },
        audit: { count: 0 },
      });
    });
  });
}

export function totalsOfMany(openFresh: OpenFresh): void {
  describe("totals of long lists", () => {
    it("say how many rows there are on all pages, whatever is asked for", async () => {
      const { store } = await openFresh();
      const endpoints = await fill(store);
      const scopes = [{}, { endpoint: endpoints[0]! }, { endpoint: endpoints[1]! }];
      for (const tenant of [null, "default", "acme"]) {
        for (const filter of FILTERS.flatMap((one) => scopes.map((scope) => ({ ...one, ...scope })))) {
          for (const test of [false, true, undefined]) {
            const query = { tenant, order: "newest", test, ...filter } as const;
            const what = JSON.stringify(query);
            const events = (page: PageQuery) => store.reads.listEvents({ ...query, ...page } as EventQuery);
            const deliveries = (page: PageQuery) => store.reads.listDeliveries({ ...query, ...page } as DeliveryQuery);
            for (const list of [events, deliveries]) {
              const all = await list({ tenant, order: "newest", limit: 100 });
              const page = await list({ tenant, order: "newest", limit: 1, total: true });
              expect(page.total, `${list.name} ${what}`).toEqual({ count: all.data.length });
            }
          }
        }
        const unmatched = await store.reads.listEvents({
          tenant,
          order: "oldest",
          limit: 1,
          status: "unmatched",
          total: true,
        });
        expect(unmatched.total).toEqual({ count: tenant === null ? 2 : 1 });
      }
    });

    it("are counted no further than 10,000", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store);
      for (let left = 10; left > 0; left--) await store.events.publish(Array(1000).fill(draft()), START, withCapacity);
      const query = { tenant: null, limit: 1, order: "newest", total: true } as const;
      expect((await store.reads.listEvents(query)).total).toEqual({ count: 10_000 });
      await publishOne(store);
      const atLeast = { count: 10_000, atLeast: true };
      expect((await store.reads.listEvents(query)).total).toEqual(atLeast);
      expect((await store.reads.listDeliveries({ ...query, endpoint })).total).toEqual(atLeast);
    });
  });
}
