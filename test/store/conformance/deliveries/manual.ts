import { describe, expect, it } from "vitest";
import type { Claim } from "../../../../src/domain/deliveries/delivery.ts";
import type { Publication, Store } from "../../../../src/store/store.ts";
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
  publishOne,
  withCapacity,
  START,
  timedOut,
} from "../../fixtures.ts";
import type { OpenFresh } from "../../stores.ts";

const LATER = START + 6 * 3_600_000;

/** Returns the claim of a delivery that has failed once and waits for a late rung. */
async function aWaitingOne(store: Store): Promise<Claim> {
  const { fresh } = await publishOne(store);
  await store.deliveries.record([ended(fresh[0]!, { status: "pending", retry: 5, dueAt: LATER })]);
  return fresh[0]!;
}

const unchanged = (claim: Claim) => ended(claim, { status: "unchanged" }, { outcome: answered(503) });

export function manualAttempts(openFresh: OpenFresh): void {
  describe("a manual attempt", () => {
    it("is made from a waiting delivery with the next number, outside the ladder", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store);
      const { delivery, event, body } = await aWaitingOne(store);
      expect(await store.deliveries.requestedAttempt(delivery)).toBeNull();
      const requested = await store.deliveries.requestAttempt("default", delivery, START);
      expect(requested).toEqual({ result: "requested", delivery, endpoint });
      const claim = await store.deliveries.requestedAttempt(delivery);
      expect(claim).toMatchObject({ event, delivery, endpoint, number: 2, round: 1, trigger: "manual" });
      expect(Buffer.compare(claim!.body, body)).toBe(0);
      expect(await store.deliveries.requestedAttempts(null, 10)).toEqual([{ delivery, endpoint }]);
      expect(await dueNow(store, endpoint)).toMatchObject([{ number: 2, trigger: "ladder", dueAt: LATER }]);
    });

    it("that fails leaves rung, due time and trigger as they were, and takes its number", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store);
      const { delivery, event } = await aWaitingOne(store);
      await store.deliveries.requestAttempt(null, delivery, START);
      const claim = await store.deliveries.requestedAttempt(delivery);
      const recorded = await store.deliveries.record([unchanged(claim!)]);
      expect(recorded).toEqual([{ result: "applied", waiting: { endpoint, event, dueAt: LATER } }]);
      expect(await dueNow(store, endpoint)).toMatchObject([
        { number: 3, round: 1, retry: 5, trigger: "ladder", dueAt: LATER },
      ]);
      const { data } = (await store.reads.listAttempts({ ...EVERYTHING, delivery }))!;
      expect(data.map(({ number, trigger, retry }) => [number, trigger, retry])).toEqual([
        [1, "ladder", 0],
        [2, "manual", null],
      ]);
      expect(await store.deliveries.requestedAttempt(delivery)).toBeNull();
      expect(await store.deliveries.requestedAttempts(null, 10)).toEqual([]);
    });

    it("that succeeds delivers, whether the delivery waited or had failed", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store);
      const waiting = await aWaitingOne(store);
      const { fresh } = await publishOne(store);
      await store.deliveries.record([failed(fresh[0]!)]);
      for (const { delivery } of [waiting, fresh[0]!]) {
        await store.deliveries.requestAttempt(null, delivery, START);
        const claim = await store.deliveries.requestedAttempt(delivery);
        expect(await store.deliveries.record([delivered(claim!)])).toEqual([{ result: "applied", waiting: null }]);
        expect(await store.reads.getDelivery(null, delivery)).toMatchObject({ status: "delivered", attempts: 2 });
      }
      expect(await dueNow(store, endpoint)).toEqual([]);
      expect(await store.deliveries.requestedAttempts(null, 10)).toEqual([]);
    });

    it("leaves a failed delivery failed, in its round", async () => {
      const { store } = await openFresh();
      await addEndpoint(store);
      const { fresh } = await publishOne(store);
      const { delivery, event } = fresh[0]!;
      await store.deliveries.record([failed(fresh[0]!)]);
      await store.deliveries.requestAttempt(null, delivery, START);
      const claim = await store.deliveries.requestedAttempt(delivery);
      expect(claim!.dueAt).toBe(Number.POSITIVE_INFINITY);
      expect(await store.deliveries.record([unchanged(claim!)])).toEqual([{ result: "applied", waiting: null }]);
      expect(await store.reads.getDelivery(null, delivery)).toMatchObject({ status: "failed", attempts: 2, round: 1 });
      expect(await store.events.replay(null, event, {}, START)).toMatchObject({ result: "replayed" });
      expect((await store.reads.getDelivery(null, delivery))!).toMatchObject({ status: "pending", round: 2, retry: 0 });
    });

    it("waits for the attempt of a delivery that is still fresh, and for none that delivered it", async () => {
      const { store } = await openFresh();
      await addEndpoint(store);
      const [a, b] = [await publishOne(store), await publishOne(store)];
      for (const { fresh } of [a, b]) {
        expect(await store.deliveries.requestAttempt(null, fresh[0]!.delivery, START)).toMatchObject({
          result: "requested",
        });
        expect(await store.deliveries.requestedAttempt(fresh[0]!.delivery)).toBeNull();
      }
      await store.deliveries.record([again(a.fresh[0]!, LATER), delivered(b.fresh[0]!)]);
      expect(await store.deliveries.requestedAttempt(a.fresh[0]!.delivery)).toMatchObject({
        number: 2,
        trigger: "manual",
      });
      expect(await store.deliveries.requestedAttempt(b.fresh[0]!.delivery)).toBeNull();
      expect(await store.deliveries.requestedAttempts(null, 10)).toHaveLength(1);
    });

    it("is owed once, however often it is asked for, and through a crash", async () => {
      const opened = await openFresh();
      const { store } = opened;
      const endpoint = await addEndpoint(store);
      const { delivery } = await aWaitingOne(store);
      const requests = await Promise.all(
        Array.from({ length: 20 }, () => store.deliveries.requestAttempt(null, delivery, START)),
      );
      expect(requests.every(({ result }) => result === "requested")).toBe(true);
      const after = await opened.crash();
      expect(await after.deliveries.requestedAttempts(null, 10)).toEqual([{ delivery, endpoint }]);
      const claim = await after.deliveries.requestedAttempt(delivery);
      await after.deliveries.record([unchanged(claim!)]);
      expect(await after.deliveries.requestedAttempt(delivery)).toBeNull();
    });

    it("that we interrupted is owed still", async () => {
      const { store } = await openFresh();
      await addEndpoint(store);
      const { delivery } = await aWaitingOne(store);
      await store.deliveries.requestAttempt(null, delivery, START);
      const claim = await store.deliveries.requestedAttempt(delivery);
      const outcome = { ...timedOut(), outcome: "interrupted", error: "interrupted" } as const;
      await store.deliveries.record([ended(claim!, { status: "unchanged" }, { outcome })]);
      expect(await store.deliveries.requestedAttempt(delivery)).toMatchObject({ number: 3, trigger: "manual" });
      expect(await store.reads.getDelivery(null, delivery)).toMatchObject({ retry: 5, nextAttemptAt: LATER });
    });

    it("may be made while its endpoint is disabled", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store, { enabled: false });
      const { id } = await publishOne(store);
      const { delivery } = (await dueNow(store, endpoint))[0]!;
      expect((await store.reads.getEvent(null, id))!.status).toBe("held");
      expect(await store.deliveries.requestAttempt(null, delivery, START)).toMatchObject({ result: "requested" });
      const claim = await store.deliveries.requestedAttempt(delivery);
      await store.deliveries.record([unchanged(claim!)]);
      expect(await store.reads.getDelivery(null, delivery)).toMatchObject({ status: "held", attempts: 1, retry: 0 });
    });

    it("is owed no more when its endpoint is disabled after it was asked for", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store);
      await addEndpoint(store);
      const { fresh } = await publishOne(store);
      await store.deliveries.record(fresh.map((claim) => again(claim, LATER)));
      const [mine, other] = fresh.map(({ delivery }) => delivery) as [string, string];
      for (const delivery of [mine, other]) await store.deliveries.requestAttempt(null, delivery, START);
      const change = (more: object) => store.endpoints.update(null, endpoint, (now) => ({ ...now, ...more }), START);
      await change({ description: "nothing that matters" });
      expect(await store.deliveries.requestedAttempt(mine)).not.toBeNull();
      await change({ enabled: false });
      expect(await store.deliveries.requestedAttempt(mine)).toBeNull();
      expect(await store.deliveries.requestedAttempt(other)).not.toBeNull();
      await store.deliveries.requestAttempt(null, mine, START);
      await change({ description: "still disabled" });
      expect(await store.deliveries.requestedAttempt(mine)).not.toBeNull();
    });

    it("of a test stays a test", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store);
      const { fresh } = await publishOne(store, { testFor: endpoint });
      await store.deliveries.record([failed(fresh[0]!)]);
      const { delivery } = fresh[0]!;
      await store.deliveries.requestAttempt(null, delivery, START);
      const claim = await store.deliveries.requestedAttempt(delivery);
      expect(claim).toMatchObject({ number: 2, trigger: "test" });
      await store.deliveries.record([failed(claim!)]);
      expect(await store.reads.getDelivery(null, delivery)).toMatchObject({ status: "failed", attempts: 2 });
      expect(await store.deliveries.requestedAttempt(delivery)).toBeNull();
    });

    it("does not come between a replay and its first attempt", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store);
      const { fresh } = await publishOne(store);
      const { delivery, event } = fresh[0]!;
      await store.deliveries.record([failed(fresh[0]!)]);
      await store.deliveries.requestAttempt(null, delivery, START);
      const claim = await store.deliveries.requestedAttempt(delivery);
      await store.events.replay(null, event, {}, START + 5);
      const recorded = await store.deliveries.record([unchanged(claim!)]);
      expect(recorded[0]!.waiting).toEqual({ endpoint, event, dueAt: START + 5 });
      expect(await dueNow(store, endpoint)).toMatchObject([{ number: 3, round: 2, retry: 0, trigger: "replay" }]);
    });

    it("cannot be asked for where nothing can come of it", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store);
      const [done, gone, orphan] = [await publishOne(store), await publishOne(store), await publishOne(store)];
      await store.deliveries.record([delivered(done.fresh[0]!), failed(gone.fresh[0]!), failed(orphan.fresh[0]!)]);
      const idOf = ({ fresh }: typeof done) => fresh[0]!.delivery;
      await store.events.erase(null, gone.id, START);
      expect(await store.deliveries.requestAttempt(null, idOf(done), START)).toEqual({ result: "settled" });
      expect(await store.deliveries.requestAttempt(null, idOf(gone), START)).toEqual({ result: "gone" });
      expect(await store.deliveries.requestAttempt("other", idOf(orphan), START)).toEqual({ result: "not_found" });
      expect(await store.deliveries.requestAttempt(null, "dlv_x", START)).toEqual({ result: "not_found" });
      await store.deliveries.requestAttempt(null, idOf(orphan), START);
      await store.endpoints.delete(null, endpoint, START);
      expect(await store.deliveries.requestAttempt(null, idOf(orphan), START)).toEqual({ result: "endpoint_deleted" });
      expect(await store.deliveries.requestedAttempt(idOf(orphan))).toBeNull();
    });

    it("is owed no more, nor can be asked for, once what was held for its endpoint is cancelled", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store);
      const [asked, unasked] = [await aWaitingOne(store), await aWaitingOne(store)];
      await store.endpoints.update(null, endpoint, (settings) => ({ ...settings, enabled: false }), START);
      await store.deliveries.requestAttempt(null, asked.delivery, START);
      // Both run at the same time, because the rows are rewritten after the call has returned.
      const enabling = store.endpoints.update(
        null,
        endpoint,
        (before) => ({ ...before, enabled: true }),
        START,
        "cancel",
      );
      expect(await store.deliveries.requestAttempt(null, unasked.delivery, START)).toEqual({ result: "settled" });
      expect(await store.deliveries.requestedAttempt(asked.delivery)).toBeNull();
      await enabling;
    });

    it("is what a test event to a disabled endpoint is after a crash", async () => {
      const opened = await openFresh();
      const endpoint = await addEndpoint(opened.store, { enabled: false });
      const [{ fresh }] = (await opened.store.events.publish([draft({ testFor: endpoint })], START, withCapacity)) as [
        Publication,
      ];
      const { delivery } = fresh[0]!;
      const after = await opened.crash();
      expect(await after.deliveries.requestedAttempts(null, 10)).toEqual([{ delivery, endpoint }]);
      const claim = (await after.deliveries.requestedAttempt(delivery))!;
      expect(claim).toMatchObject({ trigger: "test", number: 1 });
      await after.deliveries.record([delivered(claim)]);
      expect(await after.deliveries.requestedAttempts(null, 10)).toEqual([]);
    });

    it("that became vain is forgotten at the next start", async () => {
      const opened = await openFresh();
      const endpoint = await addEndpoint(opened.store);
      const { delivery } = await aWaitingOne(opened.store);
      await opened.store.deliveries.requestAttempt(null, delivery, START);
      await opened.store.endpoints.delete(null, endpoint, START);
      const after = await opened.reopen();
      expect(await after.deliveries.requestedAttempts(null, 10)).toEqual([]);
    });

    it("is listed in pages", async () => {
      const { store } = await openFresh();
      await addEndpoint(store);
      await addEndpoint(store);
      const published = await store.events.publish(Array(3).fill(draft()), START, withCapacity);
      const claims = published.flatMap(({ fresh }) => fresh);
      await store.deliveries.record(claims.map(failed));
      for (const { delivery } of claims) await store.deliveries.requestAttempt(null, delivery, START);
      const seen: string[] = [];
      for (let page = await store.deliveries.requestedAttempts(null, 4); page.length > 0;) {
        seen.push(...page.map(({ delivery }) => delivery));
        page = await store.deliveries.requestedAttempts(page.at(-1)!, 4);
      }
      expect(seen).toEqual(claims.map(({ delivery }) => delivery));
    });
  });
}
