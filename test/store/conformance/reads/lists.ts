import { describe, expect, it } from "vitest";
import type { EventQuery, Page, Store } from "../../../../src/store/store.ts";
import {
  addEndpoint,
  again,
  delivered,
  draft,
  ended,
  EVERYTHING,
  failed,
  publishOne,
  withCapacity,
  START,
} from "../../fixtures.ts";
import type { OpenFresh } from "../../stores.ts";

export function lists(openFresh: OpenFresh): void {
  describe("lists", () => {
    it("shows each event once and in order while others arrive", async () => {
      const { store } = await openFresh();
      const ids = (await store.events.publish(Array(7).fill(draft()), START, withCapacity)).map(({ id }) => id);
      const seen: string[] = [];
      let cursor: string | undefined;
      for (;;) {
        const page: Page<{ id: string }> = await store.reads.listEvents({
          tenant: null,
          limit: 3,
          order: "newest",
          ...(cursor && { cursor }),
        });
        seen.push(...page.data.map(({ id }) => id));
        await publishOne(store);
        if (page.nextCursor === null) break;
        cursor = page.nextCursor;
      }
      expect(seen).toEqual(ids.toReversed());
    });

    it.each(["newest", "oldest"] as const)("ends with a null cursor, %s first", async (order) => {
      const { store } = await openFresh();
      await store.events.publish(Array(4).fill(draft()), START, withCapacity);
      const first = await store.reads.listEvents({ tenant: null, limit: 2, order });
      const second = await store.reads.listEvents({ tenant: null, limit: 2, order, cursor: first.nextCursor! });
      expect([first.data.length, second.data.length, second.nextCursor]).toEqual([2, 2, null]);
    });

    it("filters events by status, type, endpoint, test and time", async () => {
      const { store } = await openFresh();
      const a = await addEndpoint(store);
      const b = await addEndpoint(store, { events: ["budget.exceeded", "goal.achieved"] });
      const held = await addEndpoint(store, { events: ["carbon.threshold"], enabled: false });
      const one = await publishOne(store);
      await store.deliveries.record([failed(one.fresh[0]!), delivered(one.fresh[1]!)]);
      const two = await publishOne(store, { type: "goal.achieved" }, START + 1000);
      await store.deliveries.record([again(two.fresh[0]!, START + 9000)]);
      const three = await publishOne(store, { type: "carbon.threshold" }, START + 2000);
      const four = await publishOne(store, { type: "subscription.detected" }, START + 3000);
      const test = await publishOne(store, { testFor: a }, START + 4000);
      await store.deliveries.record([delivered(test.fresh[0]!)]);
      const list = (more: Partial<EventQuery>) => idsOf(store, more);

      expect(await list({ status: "failed" })).toEqual([one.id]);
      expect(await list({ status: "pending" })).toEqual([two.id]);
      expect(await list({ status: "held" })).toEqual([three.id]);
      expect(await list({ status: "unmatched" })).toEqual([four.id]);
      expect(await list({ status: "delivered" })).toEqual([test.id]);
      expect(await list({ type: "goal.achieved" })).toEqual([two.id]);
      expect(await list({ type: "never.seen" })).toEqual([]);
      expect(await list({ endpoint: b })).toEqual([one.id, two.id]);
      expect(await list({ endpoint: b, status: "delivered" })).toEqual([one.id]);
      expect(await list({ endpoint: b, status: "failed" })).toEqual([]);
      expect(await list({ endpoint: held, status: "held" })).toEqual([three.id]);
      expect(await list({ endpoint: b, status: "unmatched" })).toEqual([]);
      expect(await list({ endpoint: b, status: ["unmatched", "delivered"] })).toEqual([one.id]);
      expect(await list({ statusCode: { least: 200, most: 299 }, status: "unmatched" })).toEqual([]);
      expect(await list({ test: true })).toEqual([test.id]);
      expect(await list({ test: false, order: "newest" })).toEqual([four.id, three.id, two.id, one.id]);
      expect(await list({ since: START + 1000, until: START + 3000 })).toEqual([two.id, three.id]);
    });

    it("keeps tenants apart", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store);
      const mine = await publishOne(store);
      const theirs = await publishOne(store, { tenant: "other" });
      await store.deliveries.record([failed(mine.fresh[0]!)]);
      expect(await idsOf(store, { tenant: "other" })).toEqual([theirs.id]);
      expect(await idsOf(store, { tenant: "other", status: "failed" })).toEqual([]);
      expect(await idsOf(store, { tenant: "other", endpoint })).toEqual([]);
      expect(await idsOf(store, { tenant: "nobody" })).toEqual([]);
      expect(await store.reads.getEvent("other", mine.id)).toBeNull();
      expect(await store.reads.listAttempts({ ...EVERYTHING, tenant: "other", event: mine.id })).toBeNull();
    });

    it("finds a rare match in one page, however many rows come before it", async () => {
      const { store } = await openFresh();
      await addEndpoint(store, { events: ["goal.achieved"] });
      const rare = await publishOne(store, { type: "goal.achieved" });
      for (let batch = 0; batch < 6; batch++)
        await store.events.publish(Array(1000).fill(draft()), START, withCapacity);
      const page = await store.reads.listEvents({ tenant: null, limit: 10, order: "newest", type: "goal.achieved" });
      expect(page.data.map(({ id }) => id)).toEqual([rare.id]);
      expect(page.nextCursor).toBeNull();
    });

    it("shows data as it was published, and at most 100 deliveries", async () => {
      const { store } = await openFresh();
      for (let index = 0; index < 102; index++) await addEndpoint(store);
      const data = Buffer.from('{"n":1e400, "text":"ü"}');
      const { id, fresh } = await publishOne(store, { data });
      await store.deliveries.record([failed(fresh[101]!)]);
      const event = await store.reads.getEvent(null, id);
      expect(Buffer.from(event!.data!)).toEqual(data);
      expect(event!.deliveries).toHaveLength(100);
      expect(event).toMatchObject({ status: "failed", createdAt: START, receivedAt: START, tenant: "default" });
    });

    it("pages an event's attempts in order of their starts", async () => {
      const { store } = await openFresh();
      await addEndpoint(store);
      await addEndpoint(store);
      const { id, fresh } = await publishOne(store);
      await store.deliveries.record(
        fresh.map((claim, index) => ended(claim, { status: "failed" }, { startedAt: START + 10 - index })),
      );
      const replay = await store.events.replay(null, id, {}, START + 20);
      expect(replay.result).toBe("replayed");
      for (const claim of fresh) {
        await store.deliveries.record([
          ended(
            { ...claim, number: 2, round: 2, trigger: "replay" },
            { status: "delivered" },
            { startedAt: START + 20 },
          ),
        ]);
      }
      const pages = async (order: "newest" | "oldest") => {
        const starts: number[] = [];
        for (let cursor: string | undefined; ;) {
          const page = await store.reads.listAttempts({
            tenant: null,
            limit: 1,
            order,
            event: id,
            ...(cursor && { cursor }),
          });
          starts.push(...page!.data.map(({ startedAt }) => startedAt - START));
          if (page!.nextCursor === null) return starts;
          cursor = page!.nextCursor;
        }
      };
      expect(await pages("oldest")).toEqual([9, 10, 20, 20]);
      expect(await pages("newest")).toEqual([20, 20, 10, 9]);
    });

    it("refuses a cursor that it did not give, or gave for something else", async () => {
      const { store } = await openFresh();
      await store.events.publish(Array(3).fill(draft()), START, withCapacity);
      for (const url of ["https://a.example/", "https://b.example/"]) await addEndpoint(store, { url });
      const events = await store.reads.listEvents({ tenant: null, limit: 1, order: "newest" });
      const ofEndpoints = await store.endpoints.list({ tenant: null, limit: 1, order: "newest" });
      for (const cursor of ["AAAA", "", "e", `${events.nextCursor}A`, ofEndpoints.nextCursor!]) {
        await expect(store.reads.listEvents({ tenant: null, limit: 1, order: "newest", cursor })).rejects.toMatchObject(
          {
            code: "invalid_query",
          },
        );
      }
      const turned = { tenant: null, limit: 1, order: "oldest", cursor: events.nextCursor! } as const;
      await expect(store.reads.listEvents(turned)).rejects.toMatchObject({ code: "invalid_query" });
    });
  });
}

async function idsOf(store: Store, more: Partial<EventQuery>): Promise<string[]> {
  return (await store.reads.listEvents({ ...EVERYTHING, ...more })).data.map(({ id }) => id);
}
