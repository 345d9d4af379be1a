import { describe, expect, it } from "vitest";
import { withFaults } from "../../../../src/domain/deliveries/attempt.ts";
import {
  addEndpoint,
  again,
  answered,
  delivered,
  dueNow,
  ended,
  EVERYTHING,
  failed,
  publishOne,
  START,
  timedOut,
} from "../../fixtures.ts";
import type { OpenFresh } from "../../stores.ts";
import { followsTheRule } from "./record-rule.ts";

export function recording(openFresh: OpenFresh): void {
  describe("recording attempts", () => {
    it("keeps the first attempt of a delivery that is sent again after it succeeded", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store);
      const { id, fresh } = await publishOne(store);
      await store.deliveries.record([delivered(fresh[0]!)]);
      const attempts = async () => (await store.reads.listAttempts({ ...EVERYTHING, event: id }))!.data;
      const [first] = await attempts();
      expect(first).toMatchObject({ number: 1, outcome: "succeeded", trigger: "ladder", round: 1 });
      await store.events.replay(null, id, { force: true }, START + 10);
      expect(await attempts()).toEqual([first]);
      const [claim] = await dueNow(store, endpoint);
      expect(claim).toMatchObject({ number: 2, round: 2 });
      await store.deliveries.record([failed(claim!)]);
      // The same result is recorded again, as after a sender's crash.
      await store.deliveries.record([delivered(fresh[0]!)]);
      const both = await attempts();
      expect(both[0]).toEqual(first);
      expect(both.map(({ number, outcome }) => [number, outcome])).toEqual([
        [1, "succeeded"],
        [2, "failed"],
      ]);
      expect(await store.reads.getAttempt(null, first!.id)).toEqual(first);
      expect((await store.reads.listEndpointAttempts({ ...EVERYTHING, endpoint }))!.data).toEqual(both);
    });

    it("marks a success as delivered, and keeps where it went, when each step was done and what was said", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store);
      const { id, fresh } = await publishOne(store);
      expect(await store.deliveries.record([delivered(fresh[0]!)])).toEqual([{ result: "applied", waiting: null }]);
      const event = await store.reads.getEvent(null, id);
      expect(event!.status).toBe("delivered");
      expect(event!.deliveries).toMatchObject([{ endpoint, status: "delivered", attempts: 1, nextAttemptAt: null }]);
      expect(event!.deliveries[0]!.lastAttempt).toMatchObject({
        event: id,
        delivery: fresh[0]!.delivery,
        number: 1,
        outcome: "succeeded",
        statusCode: 200,
        detail: "the receiver answered 200",
        durationMs: 12,
        startedAt: START,
        secret: "current",
        remoteAddress: "203.0.113.7",
        phases: { dnsMs: null, connectMs: null, tlsMs: null, firstByteMs: 8 },
        responseHeaders: { server: "test" },
      });
      expect(Buffer.from(event!.deliveries[0]!.lastAttempt!.responseBody).toString()).toBe("answer");
    });

    it("keeps what was wrong with the response of a success", async () => {
      const { store } = await openFresh();
      await addEndpoint(store);
      const { id, fresh } = await publishOne(store);
      const detail = withFaults("the receiver answered 200", ["bare_lf"]);
      const attempt = ended(fresh[0]!, { status: "delivered" }, { outcome: answered(200, { detail }) });
      expect(await store.deliveries.record([attempt])).toEqual([{ result: "applied", waiting: null }]);
      const event = await store.reads.getEvent(null, id);
      expect(event!.status).toBe("delivered");
      expect(event!.deliveries[0]!.lastAttempt).toMatchObject({
        outcome: "succeeded",
        statusCode: 200,
        detail,
        responseHeaders: { server: "test" },
        phases: { firstByteMs: 8 },
      });
    });

    it("keeps the details of a failure, and the delivery waits for its next rung", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store);
      const { id, fresh } = await publishOne(store);
      const dueAt = START + 30_000;
      const recorded = await store.deliveries.record([again(fresh[0]!, dueAt)]);
      expect(recorded).toEqual([{ result: "applied", waiting: { endpoint, event: id, dueAt } }]);
      expect(await dueNow(store, endpoint)).toMatchObject([
        { number: 2, round: 1, retry: 1, trigger: "ladder", dueAt },
      ]);
      const [delivery] = (await store.reads.getEvent(null, id))!.deliveries;
      expect(delivery).toMatchObject({ status: "pending", attempts: 1, nextAttemptAt: dueAt });
      expect(delivery!.lastAttempt).toMatchObject({
        error: "http_status",
        remoteAddress: "203.0.113.7",
        phases: { firstByteMs: 8 },
        responseHeaders: { server: "test" },
      });
    });

    it("never makes a retry early by a fraction of a millisecond", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store);
      const { fresh } = await publishOne(store);
      const [recorded] = await store.deliveries.record([
        ended(
          fresh[0]!,
          { status: "pending", retry: 1, dueAt: START + 0.25 },
          { outcome: answered(500, { durationMs: 3.7 }) },
        ),
      ]);
      expect(recorded!.waiting!.dueAt).toBe(START + 1);
      expect((await dueNow(store, endpoint))[0]!.dueAt).toBe(START + 1);
    });

    it("makes an interrupted attempt again as what it was", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store);
      const { id, fresh } = await publishOne(store);
      await store.deliveries.record([failed(fresh[0]!)]);
      await store.events.replay(null, id, {}, START + 5);
      const [claim] = await dueNow(store, endpoint);
      const outcome = { ...timedOut(), outcome: "interrupted", error: "interrupted" } as const;
      await store.deliveries.record([ended(claim!, { status: "pending", retry: 0, dueAt: START + 9 }, { outcome })]);
      expect(await dueNow(store, endpoint)).toMatchObject([{ number: 3, round: 2, retry: 0, trigger: "replay" }]);
    });

    it("keeps a late failure and changes nothing for it", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store);
      const { id, fresh } = await publishOne(store);
      await store.deliveries.record([again(fresh[0]!, START + 100)]);
      const waiting = { endpoint, event: id, dueAt: START + 100 };
      expect(await store.deliveries.record([failed(fresh[0]!)])).toEqual([{ result: "superseded", waiting }]);
      expect(await dueNow(store, endpoint)).toMatchObject([{ number: 2, retry: 1, dueAt: START + 100 }]);
      expect((await store.reads.getEvent(null, id))!.deliveries[0]).toMatchObject({ status: "pending", attempts: 1 });
    });

    it.each(["failed", "pending", "cancelled"] as const)("lets a late success win over %s", async (status) => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store);
      const { id, fresh } = await publishOne(store);
      const claim = fresh[0]!;
      if (status === "cancelled") await store.endpoints.delete(null, endpoint, START);
      else await store.deliveries.record([status === "failed" ? failed(claim) : again(claim, START + 100)]);
      expect((await store.reads.getEvent(null, id))!.status).toBe(status);
      expect(await store.deliveries.record([delivered(claim)])).toEqual([{ result: "applied", waiting: null }]);
      expect((await store.reads.getEvent(null, id))!.status).toBe("delivered");
      expect(await store.deliveries.earliestDue(null, 9)).toEqual(new Map());
    });

    it("keeps an attempt that was on the wire when its endpoint was deleted", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store);
      const { id, fresh } = await publishOne(store);
      await store.endpoints.delete(null, endpoint, START);
      expect(await store.deliveries.record([again(fresh[0]!, START + 100)])).toEqual([
        { result: "superseded", waiting: null },
      ]);
      const [delivery] = (await store.reads.getEvent(null, id))!.deliveries;
      expect(delivery).toMatchObject({
        endpoint,
        status: "cancelled",
        attempts: 1,
        lastAttempt: { number: 1, statusCode: 503 },
      });
    });

    it("does not count one attempt twice", async () => {
      const { store } = await openFresh();
      await addEndpoint(store);
      const { id, fresh } = await publishOne(store);
      const results = await store.deliveries.record([delivered(fresh[0]!), delivered(fresh[0]!)]);
      expect(results.map((recorded) => recorded.result)).toEqual(["applied", "superseded"]);
      expect((await store.reads.getEvent(null, id))!.deliveries[0]!.attempts).toBe(1);
    });

    it("writes fresh deliveries back as waiting, unless they were attempted meanwhile", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store);
      const [a, b] = [await publishOne(store), await publishOne(store)];
      await store.deliveries.record([delivered(b.fresh[0]!)]);
      const claims = [...a.fresh, ...b.fresh];
      const waiting = [{ endpoint, event: a.id, dueAt: START }];
      expect(await store.deliveries.park(claims, START + 5)).toEqual(waiting);
      expect(await store.deliveries.park(claims, START + 5)).toEqual(waiting);
      expect(await dueNow(store, endpoint)).toMatchObject([{ event: a.id, number: 1, fresh: true }]);
    });

    it("says where a delivery waits that memory forgets, and has none wait for an instant the clock was set back from", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store);
      const [a, b] = [await publishOne(store), await publishOne(store)];
      await store.deliveries.record([again(a.fresh[0]!, START + 30_000)]);
      expect(await store.deliveries.park([...a.fresh, ...b.fresh], START - 3_600_000)).toEqual([
        { endpoint, event: a.id, dueAt: START + 30_000 },
        { endpoint, event: b.id, dueAt: START - 3_600_000 },
      ]);
    });

    // No claim by hand is given out for a fresh delivery; a store keeps its word even so.
    it("has a fresh delivery wait on disk once an attempt by hand is recorded that does not move it", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store);
      const { id, fresh } = await publishOne(store);
      const attempt = ended({ ...fresh[0]!, trigger: "manual" }, { status: "unchanged" });
      const waiting = { endpoint, event: id, dueAt: START };
      expect(await store.deliveries.record([attempt])).toEqual([{ result: "applied", waiting }]);
      expect(await store.deliveries.fresh(null, 10)).toEqual([]);
      expect(await dueNow(store, endpoint)).toMatchObject([{ event: id, number: 2, retry: 0, trigger: "ladder" }]);
    });

    it("remembers the URL of each attempt as it was then", async () => {
      const { store } = await openFresh();
      await addEndpoint(store);
      const { id, fresh } = await publishOne(store);
      await store.deliveries.record([ended(fresh[0]!, { status: "delivered" }, { url: "https://old.example/" })]);
      const page = await store.reads.listAttempts({ tenant: null, limit: 5, order: "newest", event: id });
      expect(page!.data).toMatchObject([{ url: "https://old.example/" }]);
    });

    followsTheRule(openFresh, [1, 2, 3]);
  });
}
