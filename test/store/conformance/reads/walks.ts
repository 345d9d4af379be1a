import { describe, expect, it } from "vitest";
import type { Attempt, Page, PageQuery, Store } from "../../../../src/store/store.ts";
import { addEndpoint, delivered, draft, failed, withoutCapacity, withCapacity, START } from "../../fixtures.ts";
import type { OpenFresh } from "../../stores.ts";

type Walk = (store: Store, query: PageQuery, endpoint: string) => Promise<Page<{ readonly id: string }>>;

const WALKS: Record<string, Walk> = {
  events: (store, query) => store.reads.listEvents(query),
  "the failed events of an endpoint": (store, query, endpoint) =>
    store.reads.listEvents({ ...query, endpoint, status: "failed" }),
  deliveries: (store, query) => store.reads.listDeliveries(query),
  "a tenant's deliveries": (store, query) => store.reads.listDeliveries({ ...query, tenant: "default" }),
  "failed, pending and held deliveries": (store, query) =>
    store.reads.listDeliveries({ ...query, status: ["failed", "pending", "held"] }),
  "failed deliveries": (store, query) => store.reads.listDeliveries({ ...query, status: "failed" }),
  "deliveries by error": (store, query) => store.reads.listDeliveries({ ...query, error: "http_status" }),
  "the attempts of an endpoint": async (store, query, endpoint) =>
    (await store.reads.listEndpointAttempts({ ...query, endpoint }))!,
  "the failed attempts of an endpoint": async (store, query, endpoint) =>
    (await store.reads.listEndpointAttempts({ ...query, endpoint, outcome: "failed" }))!,
};

/** Publishes events with one failed delivery each. */
async function arrive(store: Store, count: number): Promise<void> {
  for (let left = count; left > 0; left -= 1000) {
    const publications = await store.events.publish(Array(Math.min(left, 1000)).fill(draft()), START, withCapacity);
    await store.deliveries.record(publications.flatMap(({ fresh }) => fresh.map(failed)));
  }
}

export function walks(openFresh: OpenFresh, count: number): void {
  describe("walking a list", () => {
    it(`shows each of ${count} once while a tenth more arrives, whatever the list and its order`, async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store);
      await arrive(store, count);
      const limit = count / 20;
      const walking = Object.entries(WALKS).flatMap(([name, walk]) =>
        (["newest", "oldest"] as const).map((order) => ({ name, walk, order, seen: [] as string[], cursor: "" })),
      );
      const there = new Map<string, string[]>();
      for (const { name, walk } of walking) {
        if (!there.has(name)) there.set(name, await allOf(store, walk, endpoint));
        expect(there.get(name)).toHaveLength(count);
      }
      for (let open = walking; open.length > 0; open = open.filter(({ cursor }) => cursor !== "end")) {
        if (open === walking || open[0]!.seen.length % (count / 10) === 0) await arrive(store, count / 100);
        for (const each of open) {
          const query = { tenant: null, limit, order: each.order, ...(each.cursor && { cursor: each.cursor }) };
          const { data, nextCursor } = await each.walk(store, query, endpoint);
          each.seen.push(...data.map(({ id }) => id));
          each.cursor = nextCursor ?? "end";
        }
      }
      for (const { name, order, seen } of walking) {
        const before = there.get(name)!;
        expect(new Set(seen).size, `${name}, ${order}: repeats`).toBe(seen.length);
        const known = new Set(before);
        const shown = seen.filter((id) => known.has(id));
        // The ids are compared as text, because a diff of thousands of ids would help nobody.
        const expected = order === "oldest" ? before : before.toReversed();
        expect(shown.join() === expected.join(), `${name}, ${order}: gaps or disorder`).toBe(true);
      }
    });

    it("shows each attempt once while deliveries are attempted again", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store);
      const publications = await store.events.publish(Array(30).fill(draft()), START, withCapacity);
      const claims = publications.flatMap(({ fresh }) => fresh);
      await store.deliveries.record(claims.map(failed));
      for (const order of ["newest", "oldest"] as const) {
        const seen: Attempt[] = [];
        let number = order === "newest" ? 2 : 6;
        const last = number + 3;
        for (let cursor: string | undefined; ;) {
          const page = await store.reads.listEndpointAttempts({ tenant: null, limit: 7, order, endpoint, cursor });
          seen.push(...page!.data);
          if (number <= last)
            await store.deliveries.record(claims.map((claim) => failed({ ...claim, number: number++ })));
          if (page!.nextCursor === null) break;
          cursor = page!.nextCursor;
        }
        expect(new Set(seen.map(({ id }) => id)).size).toBe(seen.length);
        const firsts = seen.filter((attempt) => attempt.number === 1).map(({ delivery }) => delivery);
        const ids = claims.map(({ delivery }) => delivery);
        expect(firsts).toEqual(order === "newest" ? ids.toReversed() : ids);
      }
    });

    it("lets others commit while it looks for rare rows", async () => {
      const { store, takesTurns } = await openFresh();
      const endpoint = await addEndpoint(store);
      const [rare] = await store.events.publish([draft({ type: "goal.achieved" }), draft()], START, withoutCapacity);
      await addEndpoint(store, { events: ["goal.achieved"] });
      for (let batch = 0; batch < 11; batch++)
        await store.events.publish(Array(1000).fill(draft()), START, withCapacity);
      const [late] = await store.events.publish([draft({ type: "goal.achieved" })], START, withCapacity);
      const query = { tenant: null, limit: 10, order: "newest" } as const;
      let committed = false;
      const commit = store.events.publish([draft()], START, withCapacity).then(() => (committed = true));
      expect(await store.reads.listEvents({ ...query, test: true })).toEqual({ data: [], nextCursor: null });
      if (takesTurns) expect(committed).toBe(true);
      await commit;
      const page = await store.reads.listEvents({ ...query, type: "goal.achieved" });
      expect(page.data.map(({ id }) => id)).toEqual([late!.id, rare!.id]);
      expect(page.nextCursor).toBeNull();
      expect((await store.reads.getEvent(null, rare!.id))!.status).toBe("unmatched");
      const attempts = await store.reads.listEndpointAttempts({ tenant: null, limit: 10, order: "oldest", endpoint });
      expect(attempts).toEqual({ data: [], nextCursor: null });
      // There are too many deliveries to sort.
      const pending = await store.reads.listDeliveries({ tenant: null, limit: 2, order: "newest", status: "pending" });
      expect(pending.data.map(({ type }) => type)).toEqual(["budget.exceeded", "goal.achieved"]);
    });

    it("is not held up by a long history when few are pending", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store);
      const off = await addEndpoint(store, { events: ["goal.achieved"], enabled: false });
      const [waiting] = await store.events.publish([draft()], START, withoutCapacity);
      const [held] = await store.events.publish([draft({ type: "goal.achieved" })], START, withCapacity);
      const publications = await store.events.publish(Array(6000).fill(draft()), START, withCapacity);
      const [fresh, ...others] = publications.flatMap((publication) => publication.fresh);
      await store.deliveries.record(others.map(delivered));
      const newest = { tenant: null, limit: 10, order: "newest" } as const;
      const page = async (more: object) => {
        const { data, nextCursor } = await store.reads.listDeliveries({ ...newest, ...more });
        const events = await store.reads.listEvents({ ...newest, ...more });
        expect(events.data.map(({ id }) => id)).toEqual(data.map(({ event }) => event));
        expect([nextCursor, events.nextCursor]).toEqual([null, null]);
        return data.map(({ event }) => event);
      };
      expect(await page({ status: "pending" })).toEqual([fresh!.event, waiting!.id]);
      expect(await page({ status: "pending", order: "oldest" })).toEqual([waiting!.id, fresh!.event]);
      expect(await page({ status: "pending", endpoint })).toEqual([fresh!.event, waiting!.id]);
      expect(await page({ status: "held" })).toEqual([held!.id]);
      expect(await page({ status: "held", endpoint: off })).toEqual([held!.id]);
      expect(await page({ status: "held", endpoint })).toEqual([]);
      const first = await store.reads.listDeliveries({ ...newest, status: "pending", limit: 1 });
      const second = await store.reads.listDeliveries({
        ...newest,
        status: "pending",
        limit: 1,
        cursor: first.nextCursor!,
      });
      expect([second.data.map(({ event }) => event), second.nextCursor]).toEqual([[waiting!.id], null]);
    });

    it("is not held up by events that are owed to nobody, nor by successes", async () => {
      const { store } = await openFresh();
      await store.events.publish(Array(1000).fill(draft()), START, withCapacity);
      const endpoint = await addEndpoint(store);
      const publications = await store.events.publish(Array(6000).fill(draft()), START, withCapacity);
      const [first, ...others] = publications.flatMap(({ fresh }) => fresh);
      await store.deliveries.record([failed(first!), ...others.map(delivered)]);
      const newest = { tenant: null, limit: 10, order: "newest" } as const;
      for (const filter of [
        { status: "failed" },
        { status: "failed", endpoint },
        { error: "http_status" },
        { error: "http_status", endpoint },
      ] as const) {
        const page = await store.reads.listDeliveries({ ...newest, ...filter });
        expect(page, JSON.stringify(filter)).toMatchObject({ data: [{ id: first!.delivery }], nextCursor: null });
        expect(await store.reads.listEvents({ ...newest, ...filter })).toMatchObject({
          data: [{ id: first!.event }],
          nextCursor: null,
        });
      }
      const failures = await store.reads.listEndpointAttempts({ ...newest, endpoint, outcome: "failed" });
      expect(failures).toMatchObject({ data: [{ delivery: first!.delivery }], nextCursor: null });
      const ofTenant = await store.reads.listDeliveries({ ...newest, tenant: "default", order: "oldest" });
      expect(ofTenant.data).toHaveLength(10);
    });
  });
}

async function allOf(store: Store, walk: Walk, endpoint: string): Promise<string[]> {
  const ids: string[] = [];
  for (let cursor: string | undefined; ;) {
    const page = await walk(store, { tenant: null, limit: 5000, order: "oldest", cursor }, endpoint);
    ids.push(...page.data.map(({ id }) => id));
    if (page.nextCursor === null) return ids;
    cursor = page.nextCursor;
  }
}
