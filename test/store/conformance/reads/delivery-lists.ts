import { describe, expect, it } from "vitest";
import type { DeliveryQuery, EndpointAttemptQuery, EventQuery, Store } from "../../../../src/store/store.ts";
import {
  addEndpoint,
  again,
  answered,
  delivered,
  draft,
  ended,
  EVERYTHING,
  failed,
  publishOne,
  withCapacity,
  START,
  timedOut,
} from "../../fixtures.ts";
import type { OpenFresh, StoreUnderTest } from "../../stores.ts";

const S5XX = { least: 500, most: 599 };

/** Creates two endpoints, and a delivery in each state. */
async function aScene({ store }: StoreUnderTest) {
  const a = await addEndpoint(store);
  const b = await addEndpoint(store, { events: ["budget.exceeded", "goal.achieved"] });
  const off = await addEndpoint(store, { events: ["carbon.threshold"], enabled: false });
  const one = await publishOne(store);
  await store.deliveries.record([failed(one.fresh[0]!), delivered(one.fresh[1]!)]);
  const two = await publishOne(store, {}, START + 1000);
  await store.deliveries.record([
    ended(two.fresh[0]!, { status: "pending", retry: 1, dueAt: START + 9000 }, { outcome: timedOut() }),
    ended(two.fresh[1]!, { status: "failed" }, { outcome: answered(404) }),
  ]);
  const three = await publishOne(store, { type: "goal.achieved" }, START + 2000);
  const four = await publishOne(store, { type: "carbon.threshold" }, START + 3000);
  const test = await publishOne(store, { testFor: a }, START + 4000);
  await store.deliveries.record([delivered(test.fresh[0]!)]);
  const [[oneA, oneB], [twoA, twoB], [threeB], [testA]] = [one, two, three, test].map(({ fresh }) =>
    fresh.map(({ delivery }) => delivery),
  ) as [[string, string], [string, string], [string], [string]];
  const held = (await store.reads.getEvent(null, four.id))!.deliveries[0]!.id;
  return { a, b, off, one, two, three, four, test, oneA, oneB, twoA, twoB, threeB, held, testA };
}

export function deliveryLists(openFresh: OpenFresh): void {
  describe("lists of deliveries and attempts", () => {
    it("shows a delivery with its event, its place on the ladder and its last attempt", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store);
      const { id, fresh } = await publishOne(store);
      await store.deliveries.record([again(fresh[0]!, START + 30_000)]);
      const { delivery } = fresh[0]!;
      const expected = {
        id: delivery,
        event: id,
        type: "budget.exceeded",
        receivedAt: START,
        tenant: "default",
        test: false,
        endpoint,
        status: "pending",
        attempts: 1,
        round: 1,
        retry: 1,
        nextAttemptAt: START + 30_000,
        lastAttempt: { delivery, number: 1, statusCode: 503 },
      };
      expect(await store.reads.getDelivery("default", delivery)).toMatchObject(expected);
      expect((await store.reads.listDeliveries(EVERYTHING)).data).toMatchObject([expected]);
      expect((await store.reads.getEvent(null, id))!.deliveries).toMatchObject([expected]);
    });

    it("filters deliveries", async () => {
      const scene = await openFresh();
      const s = await aScene(scene);
      const list = (more: Partial<DeliveryQuery>) => deliveriesOf(scene.store, { test: false, ...more });
      expect(await list({})).toEqual([s.oneA, s.oneB, s.twoA, s.twoB, s.threeB, s.held]);
      expect(await list({ order: "newest" })).toEqual([s.held, s.threeB, s.twoB, s.twoA, s.oneB, s.oneA]);
      expect(await list({ status: "failed" })).toEqual([s.oneA, s.twoB]);
      expect(await list({ status: "pending" })).toEqual([s.twoA, s.threeB]);
      expect(await list({ status: "held" })).toEqual([s.held]);
      expect(await list({ status: "delivered" })).toEqual([s.oneB]);
      expect(await list({ status: "cancelled" })).toEqual([]);
      expect(await list({ type: "goal.achieved" })).toEqual([s.threeB]);
      expect(await list({ type: "never.seen" })).toEqual([]);
      expect(await list({ endpoint: s.a })).toEqual([s.oneA, s.twoA]);
      expect(await list({ endpoint: s.b, status: "failed" })).toEqual([s.twoB]);
      expect(await list({ event: s.two.id })).toEqual([s.twoA, s.twoB]);
      expect(await list({ event: s.two.id, endpoint: s.b })).toEqual([s.twoB]);
      expect(await list({ event: s.two.id, status: "pending" })).toEqual([s.twoA]);
      expect(await list({ since: START + 1000, until: START + 3000 })).toEqual([s.twoA, s.twoB, s.threeB]);
      expect(await deliveriesOf(scene.store, { test: true })).toEqual([s.testA]);
    });

    it("filters deliveries and events by what the last attempt came to", async () => {
      const scene = await openFresh();
      const s = await aScene(scene);
      const list = (more: Partial<DeliveryQuery>) => deliveriesOf(scene.store, { test: false, ...more });
      const events = async (more: Partial<EventQuery>) =>
        (await scene.store.reads.listEvents({ ...EVERYTHING, test: false, ...more })).data.map(({ id }) => id);
      expect(await list({ error: "timeout" })).toEqual([s.twoA]);
      expect(await list({ error: "http_status" })).toEqual([s.oneA, s.twoB]);
      expect(await list({ error: "http_status", endpoint: s.b })).toEqual([s.twoB]);
      expect(await list({ error: "http_status", status: "pending" })).toEqual([]);
      expect(await list({ statusCode: { least: 404, most: 404 } })).toEqual([s.twoB]);
      expect(await list({ statusCode: S5XX })).toEqual([s.oneA]);
      expect(await list({ statusCode: { least: 200, most: 299 } })).toEqual([s.oneB]);
      expect(await list({ statusCode: S5XX, error: "timeout" })).toEqual([]);
      expect(await events({ error: "timeout" })).toEqual([s.two.id]);
      expect(await events({ error: "http_status" })).toEqual([s.one.id, s.two.id]);
      expect(await events({ error: "http_status", endpoint: s.a })).toEqual([s.one.id]);
      expect(await events({ statusCode: S5XX, status: "failed" })).toEqual([s.one.id]);
      expect(await events({ statusCode: { least: 200, most: 299 } })).toEqual([s.one.id]);
    });

    it("looks at the last attempt, not at those before it", async () => {
      const { store } = await openFresh();
      await addEndpoint(store);
      const { fresh } = await publishOne(store);
      const claim = fresh[0]!;
      await store.deliveries.record([again(claim, START + 1)]);
      await store.deliveries.record([
        ended({ ...claim, number: 2, retry: 1 }, { status: "failed" }, { outcome: timedOut(), startedAt: START + 1 }),
      ]);
      expect(await deliveriesOf(store, { error: "http_status" })).toEqual([]);
      expect(await deliveriesOf(store, { error: "timeout" })).toEqual([claim.delivery]);
    });

    it("filters an endpoint's attempts, each failure of a delivery included", async () => {
      const scene = await openFresh();
      const { store } = scene;
      const s = await aScene(scene);
      await store.deliveries.record([ended({ ...s.two.fresh[0]!, number: 2, retry: 1 }, { status: "delivered" })]);
      const list = async (more: Partial<EndpointAttemptQuery>) => {
        const page = await store.reads.listEndpointAttempts({ ...EVERYTHING, endpoint: s.a, test: false, ...more });
        return page!.data.map(({ delivery, number }) => `${delivery} ${number}`);
      };
      expect(await list({})).toEqual([`${s.oneA} 1`, `${s.twoA} 1`, `${s.twoA} 2`]);
      expect(await list({ order: "newest" })).toEqual([`${s.twoA} 2`, `${s.twoA} 1`, `${s.oneA} 1`]);
      expect(await list({ outcome: "failed" })).toEqual([`${s.oneA} 1`, `${s.twoA} 1`]);
      expect(await list({ outcome: "failed", order: "newest" })).toEqual([`${s.twoA} 1`, `${s.oneA} 1`]);
      expect(await list({ outcome: "succeeded" })).toEqual([`${s.twoA} 2`]);
      expect(await list({ outcome: "interrupted" })).toEqual([]);
      expect(await list({ error: "timeout" })).toEqual([`${s.twoA} 1`]);
      expect(await list({ statusCode: S5XX })).toEqual([`${s.oneA} 1`]);
      expect(await list({ since: START + 1 })).toEqual([`${s.twoA} 1`, `${s.twoA} 2`]);
      expect(await list({ until: START + 1000 })).toEqual([`${s.oneA} 1`]);
      expect(await list({ test: true })).toEqual([`${s.testA} 1`]);
      await store.endpoints.delete(null, s.a, START);
      expect(await list({ error: "timeout" })).toEqual([`${s.twoA} 1`]);
    });

    it("gives one attempt by its id, and a delivery's by number", async () => {
      const { store } = await openFresh();
      await addEndpoint(store);
      const { id, fresh } = await publishOne(store);
      const claim = fresh[0]!;
      for (let number = 1; number <= 3; number++) {
        await store.deliveries.record([again({ ...claim, number, retry: number - 1 }, START + number)]);
      }
      const { data } = (await store.reads.listAttempts({ ...EVERYTHING, event: id }))!;
      expect((await store.reads.listAttempts({ ...EVERYTHING, delivery: claim.delivery }))!.data).toEqual(data);
      const newest = { ...EVERYTHING, order: "newest", limit: 2, delivery: claim.delivery } as const;
      const page = (await store.reads.listAttempts(newest))!;
      expect(page.data.map(({ number }) => number)).toEqual([3, 2]);
      const rest = (await store.reads.listAttempts({ ...newest, cursor: page.nextCursor! }))!;
      expect([rest.data.map(({ number }) => number), rest.nextCursor]).toEqual([[1], null]);
      for (const attempt of data) {
        const alone = await store.reads.getAttempt("default", attempt.id);
        expect({ ...alone, responseBody: Buffer.from(alone!.responseBody) }).toEqual({
          ...attempt,
          responseBody: Buffer.from(attempt.responseBody),
        });
      }
    });

    it("keeps tenants apart, and takes no id that it did not make", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store);
      const { id, fresh } = await publishOne(store);
      await store.deliveries.record([failed(fresh[0]!)]);
      const { delivery } = fresh[0]!;
      const attempt = (await store.reads.listAttempts({ ...EVERYTHING, event: id }))!.data[0]!.id;
      const other = { ...EVERYTHING, tenant: "other" };
      await store.events.publish([draft({ tenant: "other" })], START, withCapacity);
      expect(await store.reads.getDelivery("other", delivery)).toBeNull();
      expect(await store.reads.getAttempt("other", attempt)).toBeNull();
      expect(await store.reads.listAttempts({ ...other, delivery })).toBeNull();
      expect(await store.reads.listEndpointAttempts({ ...other, endpoint })).toBeNull();
      for (const more of [{}, { endpoint }, { event: id }, { status: "failed" }, { error: "http_status" }] as const) {
        expect(await deliveriesOf(store, { tenant: "other", ...more }), JSON.stringify(more)).toEqual([]);
        expect(await deliveriesOf(store, { tenant: "default", ...more })).toEqual([delivery]);
      }
      const forged = (text: string) => text.slice(0, -1) + (text.endsWith("0") ? "1" : "0");
      expect(await store.reads.getDelivery(null, forged(delivery))).toBeNull();
      expect(await store.reads.getAttempt(null, forged(attempt))).toBeNull();
      expect(await store.reads.listAttempts({ ...EVERYTHING, delivery: forged(delivery) })).toBeNull();
      expect(await deliveriesOf(store, { event: forged(id) })).toEqual([]);
      expect(await store.reads.getDelivery(null, "dlv_x")).toBeNull();
      expect(await store.reads.getAttempt(null, "att_x")).toBeNull();
      expect(await store.reads.listEndpointAttempts({ ...EVERYTHING, endpoint: "ep_x" })).toBeNull();
    });

    it("takes no cursor of another list, another endpoint or another order", async () => {
      const scene = await openFresh();
      const { store } = scene;
      const s = await aScene(scene);
      const one = { tenant: null, limit: 1, order: "newest" } as const;
      const ofDeliveries = (await store.reads.listDeliveries(one)).nextCursor!;
      const ofEndpoint = (await store.reads.listEndpointAttempts({ ...one, endpoint: s.a }))!.nextCursor!;
      const refused = { code: "invalid_query" };
      for (const cursor of ["AAAA", ofEndpoint, `${ofDeliveries}A`]) {
        await expect(store.reads.listDeliveries({ ...one, cursor })).rejects.toMatchObject(refused);
      }
      await expect(store.reads.listEvents({ ...one, cursor: ofDeliveries })).rejects.toMatchObject(refused);
      await expect(store.reads.listDeliveries({ ...one, order: "oldest", cursor: ofDeliveries })).rejects.toMatchObject(
        refused,
      );
      await expect(
        store.reads.listEndpointAttempts({ ...one, endpoint: s.b, cursor: ofEndpoint }),
      ).rejects.toMatchObject(refused);
      await expect(store.reads.listAttempts({ ...one, delivery: s.oneA, cursor: ofEndpoint })).rejects.toMatchObject(
        refused,
      );
    });
  });
}

async function deliveriesOf(store: Store, more: Partial<DeliveryQuery>): Promise<string[]> {
  return (await store.reads.listDeliveries({ ...EVERYTHING, ...more })).data.map(({ id }) => id);
}
