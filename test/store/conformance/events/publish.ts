import { describe, expect, it } from "vitest";
import { isId } from "../../../../src/domain/id.ts";
import {
  addEndpoint,
  delivered,
  draft,
  dueNow,
  EVERYTHING,
  withoutCapacity,
  publishOne,
  withCapacity,
  START,
} from "../../fixtures.ts";
import type { OpenFresh } from "../../stores.ts";

export function publishing(openFresh: OpenFresh): void {
  describe("publishing", () => {
    it("makes one delivery for each endpoint of the tenant that chose the type", async () => {
      const { store } = await openFresh();
      const first = await addEndpoint(store);
      const second = await addEndpoint(store, { events: ["goal.achieved", "budget.exceeded"] });
      await addEndpoint(store, { events: ["goal.achieved"] });
      await addEndpoint(store, { tenant: "other" });
      const { deliveries, fresh } = await publishOne(store);
      expect(deliveries).toBe(2);
      expect(fresh.map((claim) => claim.endpoint)).toEqual([first, second]);
    });

    it("hands a fresh delivery over with the exact bytes to send, and does not hand it out a second time", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store);
      const { id, fresh } = await publishOne(store, { data: Buffer.from('{ "n": 9007199254740993 }') });
      const [claim] = fresh;
      expect(isId("evt", id)).toBe(true);
      expect(isId("dlv", claim!.delivery)).toBe(true);
      expect(Buffer.from(claim!.body).toString()).toBe(
        `{"id":"${id}","type":"budget.exceeded","created_at":"2026-11-20T09:55:00.000Z","data":{ "n": 9007199254740993 }}`,
      );
      expect(claim).toMatchObject({ number: 1, round: 1, retry: 0, trigger: "ladder", dueAt: START, fresh: true });
      expect(await dueNow(store, endpoint)).toEqual([]);
    });

    it("keeps the trace of an event for all of its attempts", async () => {
      const harness = await openFresh();
      const endpoint = await addEndpoint(harness.store);
      const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
      const traces = [{ traceparent, tracestate: "a=b c,d=e" }, { traceparent, tracestate: null }, undefined];
      const drafts = traces.map((trace) => draft({ trace }));
      const published = await harness.store.events.publish(drafts, START, withCapacity);
      expect(published.map(({ fresh }) => fresh[0]!.trace)).toEqual(traces);
      expect((await dueNow(await harness.crash(), endpoint)).map(({ trace }) => trace)).toEqual(traces);
    });

    it("leaves on disk, due now, what memory has no room for", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store);
      const [publication] = await store.events.publish([draft()], START, withoutCapacity);
      expect(publication!.fresh).toEqual([]);
      expect(publication!.waiting).toEqual([{ endpoint, event: publication!.id, dueAt: START }]);
      const claims = await dueNow(store, endpoint, START);
      expect(claims).toMatchObject([{ event: publication!.id, number: 1, dueAt: START, fresh: true }]);
      expect(Buffer.from(claims[0]!.body).toString()).toContain('"data":{"n":1.10}}');
    });

    it("refuses more deliveries than one commit may make, and stores none of them", async () => {
      const { store } = await openFresh();
      for (let at = 0; at < 21; at++) await addEndpoint(store);
      const drafts = Array.from({ length: 1000 }, () => draft());
      const refused = store.events.publish(drafts, START, withoutCapacity);
      await expect(refused).rejects.toMatchObject({ errors: [{ code: "fan_out_too_large", pointer: "/events" }] });
      expect((await store.reads.listEvents(EVERYTHING)).data).toEqual([]);
    });

    it("counts towards that only endpoints that receive: none that are disabled and skip", async () => {
      const { store } = await openFresh();
      for (let at = 0; at < 19; at++) await addEndpoint(store);
      for (let at = 0; at < 2; at++) await addEndpoint(store, { enabled: false, whenDisabled: "skip" });
      const drafts = Array.from({ length: 1000 }, () => draft());
      const published = await store.events.publish(drafts, START, withoutCapacity);
      expect(published.every(({ deliveries }) => deliveries === 19)).toBe(true);
    });

    it.each([
      ["a batch", 10],
      ["a batch of much data", 700],
    ])("answers %s that is repeated as the first time, though an endpoint was added since", async (_, bytes) => {
      const { store } = await openFresh();
      for (let at = 0; at < 20; at++) await addEndpoint(store);
      const data = Buffer.from(JSON.stringify({ text: "x".repeat(bytes) }));
      const keyed = (n: number) => {
        const fingerprint = new Uint8Array(32).fill(n % 256);
        return draft({ data, idempotency: { key: `k${n}`, fingerprint, expiresAt: START + 86_400_000 } });
      };
      const drafts = Array.from({ length: 1000 }, (__, n) => keyed(n));
      const first = await store.events.publish(drafts, START, withoutCapacity);
      await addEndpoint(store);
      const again = await store.events.publish(drafts, START + 1, withoutCapacity);
      expect(again).toEqual(first.map((one) => ({ ...one, fresh: [], waiting: [], duplicate: true })));
      // Only the new event counts against the fan-out limit.
      const [, added] = await store.events.publish([drafts[0]!, keyed(1000)], START + 2, withoutCapacity);
      expect(added).toMatchObject({ deliveries: 21, duplicate: false });
      const tooMany = Array.from({ length: 1000 }, (__, n) => keyed(1001 + n));
      const refused = store.events.publish(tooMany, START + 3, withoutCapacity);
      await expect(refused).rejects.toMatchObject({ errors: [{ code: "fan_out_too_large", pointer: "/events" }] });
    });

    it("gives ids that sort in the order of the commits, though the clock goes back", async () => {
      const { store } = await openFresh();
      const ids: string[] = [];
      for (const now of [START, START, START - 3_600_000, START + 1]) {
        const publications = await store.events.publish([draft(), draft()], now, withCapacity);
        ids.push(...publications.map((publication) => publication.id));
      }
      expect(ids).toEqual([...ids].sort());
      expect(new Set(ids).size).toBe(8);
    });

    it("keeps what is published for a disabled endpoint, or skips it, as the endpoint says", async () => {
      const { store } = await openFresh();
      const holds = await addEndpoint(store, { enabled: false });
      await addEndpoint(store, { enabled: false, whenDisabled: "skip" });
      const { id, deliveries, fresh, waiting } = await publishOne(store);
      expect({ deliveries, fresh: fresh.length }).toEqual({ deliveries: 1, fresh: 0 });
      expect(waiting).toEqual([{ endpoint: holds, event: id, dueAt: START }]);
      const event = await store.reads.getEvent(null, id);
      expect(event).toMatchObject({ status: "held", deliveries: [{ status: "held", nextAttemptAt: null }] });
    });

    it("keeps an event that nobody chose, as unmatched", async () => {
      const { store } = await openFresh();
      const { id, deliveries } = await publishOne(store);
      expect(deliveries).toBe(0);
      expect(await store.reads.getEvent(null, id)).toMatchObject({ status: "unmatched", deliveries: [] });
    });

    it("sends a test event to its one endpoint, though it is disabled and chose other types", async () => {
      const { store } = await openFresh();
      await addEndpoint(store);
      const endpoint = await addEndpoint(store, { enabled: false, events: ["goal.achieved"] });
      const { id, fresh } = await publishOne(store, { testFor: endpoint });
      expect(fresh).toMatchObject([{ endpoint, trigger: "test", fresh: true }]);
      expect(await store.reads.getEvent(null, id)).toMatchObject({ test: true, status: "pending" });
      await store.deliveries.record([delivered(fresh[0]!)]);
      const page = await store.reads.listAttempts({ tenant: null, limit: 10, order: "newest", event: id });
      expect(page!.data).toMatchObject([{ trigger: "test", retry: null, remoteAddress: "203.0.113.7" }]);
    });

    it("turns what a stopped process held in memory into waiting deliveries", async () => {
      const harness = await openFresh();
      const endpoint = await addEndpoint(harness.store);
      const publications = await harness.store.events.publish(Array(1203).fill(draft()), START, withCapacity);
      const store = await harness.reopen();
      const claims = (await store.deliveries.due(endpoint, { dueAt: 0, event: "" }, START, 2000)).claims;
      expect(claims.map((claim) => claim.event)).toEqual(publications.map((publication) => publication.id));
    });

    it("commits many requests at once in the order they came", async () => {
      const { store } = await openFresh();
      await addEndpoint(store);
      const requests = Array.from({ length: 60 }, (_, index) =>
        store.events.publish(Array(index % 9).fill(draft()), START, withCapacity),
      );
      const ids = (await Promise.all(requests)).flat().map((publication) => publication.id);
      expect(ids).toEqual([...ids].sort());
      expect(ids).toHaveLength(Array.from({ length: 60 }, (_, index) => index % 9).reduce((a, b) => a + b));
    });
  });
}
