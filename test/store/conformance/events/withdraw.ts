import { describe, expect, it } from "vitest";
import type { EndpointStore } from "../../../../src/store/store.ts";
import {
  addEndpoint,
  again,
  answered,
  delivered,
  draft,
  dueNow,
  ended,
  EVERYTHING,
  failed,
  newEndpoint,
  withoutCapacity,
  publishOne,
  withCapacity,
  START,
} from "../../fixtures.ts";
import type { OpenFresh } from "../../stores.ts";

export function withdrawing(openFresh: OpenFresh): void {
  describe("cancelling an event", () => {
    it("cancels what is open, fresh, waiting or held, and nothing else", async () => {
      const { store } = await openFresh();
      const ids = [
        await addEndpoint(store),
        await addEndpoint(store),
        await addEndpoint(store),
        await addEndpoint(store),
      ];
      const off = await addEndpoint(store, { enabled: false });
      const { id, fresh } = await publishOne(store);
      await store.deliveries.record([delivered(fresh[0]!), failed(fresh[1]!), again(fresh[2]!, START + 500)]);
      const withdrawal = await store.events.cancel("default", id, null);
      expect(withdrawal).toMatchObject({ result: "withdrawn", cancelled: 3 });
      const withdrawn = withdrawal.result === "withdrawn" ? withdrawal.deliveries : [];
      expect(withdrawn.map(({ endpoint }) => endpoint)).toEqual([ids[2], ids[3], off]);
      const event = await store.reads.getEvent(null, id);
      const statuses = event!.deliveries.map(({ status }) => status);
      expect(statuses).toEqual(["delivered", "failed", "cancelled", "cancelled", "cancelled"]);
      expect(await store.deliveries.earliestDue(null, 10)).toEqual(new Map());
      // The deliveries are returned again, because the caller may not have got the first response.
      const repeated = await store.events.cancel(null, id, null);
      expect(repeated).toEqual({ result: "withdrawn", deliveries: withdrawn, cancelled: 0 });
    });

    it("keeps to one endpoint when it is told to", async () => {
      const { store } = await openFresh();
      const [a, b] = [await addEndpoint(store), await addEndpoint(store)];
      const { id, fresh } = await publishOne(store);
      const [toA] = fresh;
      const one = { result: "withdrawn", deliveries: [{ delivery: toA!.delivery, endpoint: a }], cancelled: 1 };
      expect(await store.events.cancel(null, id, a)).toEqual(one);
      expect(await store.events.cancel(null, id, "ep_x")).toMatchObject({ cancelled: 0 });
      await store.deliveries.park(fresh, START);
      expect(await dueNow(store, b)).toHaveLength(1);
    });

    it("takes back a manual attempt that is owed, of a failed delivery too", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store);
      const { id, fresh } = await publishOne(store);
      const { delivery } = fresh[0]!;
      await store.deliveries.record([failed(fresh[0]!)]);
      await store.deliveries.requestAttempt(null, delivery, START);
      const withdrawal = { result: "withdrawn", deliveries: [{ delivery, endpoint, isQuiet: true }], cancelled: 0 };
      expect(await store.events.cancel(null, id, null)).toEqual(withdrawal);
      expect(await store.deliveries.requestedAttempt(delivery)).toBeNull();
      expect(await store.reads.getDelivery(null, delivery)).toMatchObject({ status: "failed" });
    });

    it("records what was on the wire: a success delivers whatever the status, a failure changes nothing", async () => {
      const { store } = await openFresh();
      await addEndpoint(store);
      const [won, lost] = [await publishOne(store), await publishOne(store)];
      for (const { id } of [won, lost]) await store.events.cancel(null, id, null);
      await store.deliveries.record([delivered(won.fresh[0]!), again(lost.fresh[0]!, START + 1)]);
      expect((await store.reads.getEvent(null, won.id))!.status).toBe("delivered");
      expect((await store.reads.getEvent(null, lost.id))!.deliveries).toMatchObject([
        { status: "cancelled", attempts: 1 },
      ]);
      expect(await store.deliveries.earliestDue(null, 10)).toEqual(new Map());
    });

    it("is final: a replay sends nothing of it, and no manual attempt does", async () => {
      const { store } = await openFresh();
      await addEndpoint(store);
      const { id, fresh } = await publishOne(store);
      await store.events.cancel(null, id, null);
      expect(await store.events.replay(null, id, { force: true }, START)).toEqual({ result: "not_failed" });
      expect(await store.deliveries.requestAttempt(null, fresh[0]!.delivery, START)).toEqual({ result: "settled" });
    });

    it("finds no event of another tenant", async () => {
      const { store } = await openFresh();
      await addEndpoint(store);
      const { id } = await publishOne(store);
      expect(await store.events.cancel("other", id, null)).toEqual({ result: "not_found" });
      expect(await store.events.erase("other", id, START)).toEqual({ result: "not_found" });
      expect((await store.reads.getEvent(null, id))!.status).toBe("pending");
    });
  });

  describe("erasing an event", () => {
    it("removes what it said and what it was answered, and keeps its rows", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store);
      await addEndpoint(store);
      const { id, fresh } = await publishOne(store);
      await store.deliveries.record([delivered(fresh[0]!), again(fresh[1]!, START + 500)]);
      expect(await store.reads.getEvent(null, id)).toMatchObject({ erasedAt: null });
      expect(await store.events.erase("default", id, START + 700)).toMatchObject({ result: "withdrawn", cancelled: 1 });
      const event = await store.reads.getEvent(null, id);
      const deliveries = [{ status: "delivered" }, { status: "cancelled" }];
      expect(event).toMatchObject({ id, data: null, erasedAt: START + 700, deliveries });
      const { data } = (await store.reads.listAttempts({ ...EVERYTHING, event: id }))!;
      expect(data).toHaveLength(2);
      for (const attempt of data) {
        expect(Buffer.from(attempt.responseBody).toString()).toBe("");
        expect(attempt.responseHeaders).toEqual({});
      }
      expect(data[1]).toMatchObject({ statusCode: 503, detail: "the receiver answered 503" });
      expect(await dueNow(store, endpoint)).toEqual([]);
      const [, cancelled] = event!.deliveries;
      const named = [{ delivery: cancelled!.id, endpoint: cancelled!.endpoint }];
      const later = START + 900;
      expect(await store.events.erase(null, id, later)).toEqual({
        result: "withdrawn",
        deliveries: named,
        cancelled: 0,
      });
      expect((await store.reads.listEvents(EVERYTHING)).data).toMatchObject([{ id, erasedAt: START + 700 }]);
    });

    it("lets nothing of it be sent again, by force or by hand", async () => {
      const { store } = await openFresh();
      await addEndpoint(store);
      await addEndpoint(store);
      const { id, fresh } = await publishOne(store);
      await store.deliveries.record([failed(fresh[0]!), delivered(fresh[1]!)]);
      await store.deliveries.requestAttempt(null, fresh[0]!.delivery, START);
      await store.events.erase(null, id, START);
      expect(await store.events.replay(null, id, {}, START)).toEqual({ result: "gone" });
      expect(await store.events.replay(null, id, { force: true }, START)).toEqual({ result: "gone" });
      expect(await store.deliveries.requestedAttempt(fresh[0]!.delivery)).toBeNull();
    });

    it("keeps no answer that comes later", async () => {
      const { store } = await openFresh();
      await addEndpoint(store);
      const [won, lost] = [await publishOne(store), await publishOne(store)];
      for (const { id } of [won, lost]) await store.events.erase(null, id, START);
      const outcome = answered(503, { responseBody: Buffer.from("what it said"), responseHeaders: { server: "x" } });
      await store.deliveries.record([
        delivered(won.fresh[0]!),
        ended(lost.fresh[0]!, { status: "pending", retry: 1, dueAt: START + 1 }, { outcome }),
      ]);
      expect((await store.reads.getEvent(null, won.id))!.status).toBe("delivered");
      for (const { id } of [won, lost]) {
        const [attempt] = (await store.reads.listAttempts({ ...EVERYTHING, event: id }))!.data;
        expect([attempt!.responseBody.length, attempt!.responseHeaders]).toEqual([0, {}]);
      }
    });

    it("leaves no attempt behind that somebody asks for meanwhile", async () => {
      const { store } = await openFresh();
      await addEndpoint(store);
      const { id, fresh } = await publishOne(store);
      await store.deliveries.record([failed(fresh[0]!)]);
      const results = new Set<string>();
      const over = new AbortController();
      // Each caller waits for some more turns than the one before, so that one of them asks between any two steps.
      const asking = async (turns: number) => {
        while (!over.signal.aborted) {
          for (let left = turns; left > 0; left--) await Promise.resolve();
          results.add((await store.deliveries.requestAttempt(null, fresh[0]!.delivery, START)).result);
        }
      };
      const asked = Promise.all(Array.from({ length: 10 }, (_, turns) => asking(turns)));
      await store.events.erase(null, id, START);
      over.abort();
      await asked;
      expect(results).toContain("requested");
      expect(await store.deliveries.requestedAttempts(null, 1)).toEqual([]);
    });

    it("leaves other events alone", async () => {
      const { store } = await openFresh();
      await addEndpoint(store);
      const [mine, other] = await store.events.publish([draft(), draft()], START, withCapacity);
      await store.deliveries.record([delivered(other!.fresh[0]!)]);
      await store.events.erase(null, mine!.id, START);
      const event = await store.reads.getEvent(null, other!.id);
      expect(Buffer.from(event!.data!).toString()).toBe('{"n":1.10}');
      expect(Buffer.from(event!.deliveries[0]!.lastAttempt!.responseBody).toString()).toBe("answer");
    });
  });
}

export function withdrawingMany(openFresh: OpenFresh): void {
  describe("a large fan-out", () => {
    it("reaches every delivery of a large fan-out", async () => {
      const { store } = await openFresh();
      for (let index = 0; index < 1001; index++) await store.endpoints.add(...anEndpoint(index));
      const [published] = await store.events.publish([draft()], START, withoutCapacity);
      expect(await store.events.cancel(null, published!.id, null)).toMatchObject({ cancelled: 1001 });
      expect(await store.deliveries.earliestDue(null, 2000)).toEqual(new Map());
    });

    it("is done whole for a large fan-out, whatever is replayed meanwhile", async () => {
      const { store } = await openFresh();
      for (let index = 0; index < 600; index++) await store.endpoints.add(...anEndpoint(index));
      const { id, fresh } = await publishOne(store);
      await store.deliveries.record(fresh.map(failed));
      const erased = store.events.erase(null, id, START);
      const replays = Array.from({ length: 10 }, () => store.events.replay(null, id, {}, START));
      await Promise.all([erased, ...replays]);
      const page = await store.reads.listDeliveries({ ...EVERYTHING, status: "pending" });
      expect(page.data).toEqual([]);
      const answers = (await store.reads.listAttempts({ ...EVERYTHING, event: id }))!.data.map(({ responseBody }) =>
        Buffer.from(responseBody).toString(),
      );
      expect(answers.join("")).toBe("");
      expect(await store.events.replay(null, id, {}, START)).toEqual({ result: "gone" });
    });
  });
}

function anEndpoint(index: number): Parameters<EndpointStore["add"]> {
  return [newEndpoint({ url: `https://receiver.example/${index}` }), 5000, START];
}
