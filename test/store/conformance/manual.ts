import { describe, expect, it } from "vitest";
import type { Claim } from "../../../src/domain/delivery.ts";
import type { Publication, Store } from "../../../src/store/store.ts";
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
  room,
  START,
  timedOut,
} from "../fixtures.ts";
import type { OpenFresh } from "../stores.ts";

const LATER = START + 6 * 3_600_000;

/** A delivery that has failed once and waits for a late rung. */
async function aWaitingOne(store: Store): Promise<Claim> {
  const { fresh } = await publishOne(store);
  await store.record([ended(fresh[0]!, { status: "pending", retry: 5, dueAt: LATER })]);
  return fresh[0]!;
}

const unchanged = (claim: Claim) => ended(claim, { status: "unchanged" }, { outcome: answered(503) });

export function manualAttempts(openFresh: OpenFresh): void {
  describe("a manual attempt", () => {
    it("is made from a waiting delivery with the next number, outside the ladder", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store);
      const { delivery, event, body } = await aWaitingOne(store);
      expect(await store.requestedAttempt(delivery)).toBeNull();
      const requested = await store.requestAttempt("default", delivery, START);
      expect(requested).toEqual({ result: "requested", delivery, endpoint });
      const claim = await store.requestedAttempt(delivery);
      expect(claim).toMatchObject({ event, delivery, endpoint, number: 2, round: 1, trigger: "manual" });
      expect(Buffer.compare(claim!.body, body)).toBe(0);
      expect(await store.requestedAttempts(null, 10)).toEqual([{ delivery, endpoint }]);
      expect(await dueNow(store, endpoint)).toMatchObject([{ number: 2, trigger: "ladder", dueAt: LATER }]);
    });

    it("that fails leaves rung, due time and trigger as they were, and takes its number", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store);
      const { delivery, event } = await aWaitingOne(store);
      await store.requestAttempt(null, delivery, START);
      const claim = await store.requestedAttempt(delivery);
      const recorded = await store.record([unchanged(claim!)]);
      expect(recorded).toEqual([{ result: "applied", waiting: { endpoint, event, dueAt: LATER } }]);
      expect(await dueNow(store, endpoint)).toMatchObject([
        { number: 3, round: 1, retry: 5, trigger: "ladder", dueAt: LATER },
      ]);
      const { data } = (await store.listAttempts({ ...EVERYTHING, delivery }))!;
      expect(data.map(({ number, trigger, retry }) => [number, trigger, retry])).toEqual([
        [1, "ladder", 0],
        [2, "manual", null],
      ]);
      expect(await store.requestedAttempt(delivery)).toBeNull();
      expect(await store.requestedAttempts(null, 10)).toEqual([]);
    });

    it("that succeeds delivers, whether the delivery waited or had failed", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store);
      const waiting = await aWaitingOne(store);
      const { fresh } = await publishOne(store);
      await store.record([failed(fresh[0]!)]);
      for (const { delivery } of [waiting, fresh[0]!]) {
        await store.requestAttempt(null, delivery, START);
        const claim = await store.requestedAttempt(delivery);
        expect(await store.record([delivered(claim!)])).toEqual([{ result: "applied", waiting: null }]);
        expect(await store.getDelivery(null, delivery)).toMatchObject({ status: "delivered", attempts: 2 });
      }
      expect(await dueNow(store, endpoint)).toEqual([]);
      expect(await store.requestedAttempts(null, 10)).toEqual([]);
    });

    it("leaves a failed delivery failed, in its round", async () => {
      const { store } = await openFresh();
      await addEndpoint(store);
      const { fresh } = await publishOne(store);
      const { delivery, event } = fresh[0]!;
      await store.record([failed(fresh[0]!)]);
      await store.requestAttempt(null, delivery, START);
      const claim = await store.requestedAttempt(delivery);
      expect(claim!.dueAt).toBe(Number.POSITIVE_INFINITY);
      expect(await store.record([unchanged(claim!)])).toEqual([{ result: "applied", waiting: null }]);
      expect(await store.getDelivery(null, delivery)).toMatchObject({ status: "failed", attempts: 2, round: 1 });
      expect(await store.replay(null, event, {}, START)).toMatchObject({ result: "replayed" });
      expect((await store.getDelivery(null, delivery))!).toMatchObject({ status: "pending", round: 2, retry: 0 });
    });

    it("waits for the attempt of a delivery that is still fresh, and for none that delivered it", async () => {
      const { store } = await openFresh();
      await addEndpoint(store);
      const [a, b] = [await publishOne(store), await publishOne(store)];
      for (const { fresh } of [a, b]) {
        expect(await store.requestAttempt(null, fresh[0]!.delivery, START)).toMatchObject({ result: "requested" });
        expect(await store.requestedAttempt(fresh[0]!.delivery)).toBeNull();
      }
      await store.record([again(a.fresh[0]!, LATER), delivered(b.fresh[0]!)]);
      expect(await store.requestedAttempt(a.fresh[0]!.delivery)).toMatchObject({ number: 2, trigger: "manual" });
      expect(await store.requestedAttempt(b.fresh[0]!.delivery)).toBeNull();
      expect(await store.requestedAttempts(null, 10)).toHaveLength(1);
    });

    it("is owed once, however often it is asked for, and through a crash", async () => {
      const opened = await openFresh();
      const { store } = opened;
      const endpoint = await addEndpoint(store);
      const { delivery } = await aWaitingOne(store);
      const requests = await Promise.all(Array.from({ length: 20 }, () => store.requestAttempt(null, delivery, START)));
      expect(requests.every(({ result }) => result === "requested")).toBe(true);
      const after = await opened.crash();
      expect(await after.requestedAttempts(null, 10)).toEqual([{ delivery, endpoint }]);
      const claim = await after.requestedAttempt(delivery);
      await after.record([unchanged(claim!)]);
      expect(await after.requestedAttempt(delivery)).toBeNull();
    });

    it("that we interrupted is owed still", async () => {
      const { store } = await openFresh();
      await addEndpoint(store);
      const { delivery } = await aWaitingOne(store);
      await store.requestAttempt(null, delivery, START);
      const claim = await store.requestedAttempt(delivery);
      const outcome = { ...timedOut(), outcome: "interrupted", error: "interrupted" } as const;
      await store.record([ended(claim!, { status: "unchanged" }, { outcome })]);
      expect(await store.requestedAttempt(delivery)).toMatchObject({ number: 3, trigger: "manual" });
      expect(await store.getDelivery(null, delivery)).toMatchObject({ retry: 5, nextAttemptAt: LATER });
    });

    it("may be made while its endpoint is disabled", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store, { enabled: false });
      const { id } = await publishOne(store);
      const { delivery } = (await dueNow(store, endpoint))[0]!;
      expect((await store.getEvent(null, id))!.status).toBe("held");
      expect(await store.requestAttempt(null, delivery, START)).toMatchObject({ result: "requested" });
      const claim = await store.requestedAttempt(delivery);
      await store.record([unchanged(claim!)]);
      expect(await store.getDelivery(null, delivery)).toMatchObject({ status: "held", attempts: 1, retry: 0 });
    });

    it("is owed no more when its endpoint is disabled after it was asked for", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store);
      await addEndpoint(store);
      const { fresh } = await publishOne(store);
      await store.record(fresh.map((claim) => again(claim, LATER)));
      const [mine, other] = fresh.map(({ delivery }) => delivery) as [string, string];
      for (const delivery of [mine, other]) await store.requestAttempt(null, delivery, START);
      const change = (more: object) => store.updateEndpoint(null, endpoint, (now) => ({ ...now, ...more }), START);
      await change({ description: "nothing that matters" });
      expect(await store.requestedAttempt(mine)).not.toBeNull();
      await change({ enabled: false });
      expect(await store.requestedAttempt(mine)).toBeNull();
      expect(await store.requestedAttempt(other)).not.toBeNull();
      await store.requestAttempt(null, mine, START);
      await change({ description: "still disabled" });
      expect(await store.requestedAttempt(mine)).not.toBeNull();
    });

    it("of a test stays a test", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store);
      const { fresh } = await publishOne(store, { testFor: endpoint });
      await store.record([failed(fresh[0]!)]);
      const { delivery } = fresh[0]!;
      await store.requestAttempt(null, delivery, START);
      const claim = await store.requestedAttempt(delivery);
      expect(claim).toMatchObject({ number: 2, trigger: "test" });
      await store.record([failed(claim!)]);
      expect(await store.getDelivery(null, delivery)).toMatchObject({ status: "failed", attempts: 2 });
      expect(await store.requestedAttempt(delivery)).toBeNull();
    });

    it("does not come between a replay and its first attempt", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store);
      const { fresh } = await publishOne(store);
      const { delivery, event } = fresh[0]!;
      await store.record([failed(fresh[0]!)]);
      await store.requestAttempt(null, delivery, START);
      const claim = await store.requestedAttempt(delivery);
      await store.replay(null, event, {}, START + 5);
      const recorded = await store.record([unchanged(claim!)]);
      expect(recorded[0]!.waiting).toEqual({ endpoint, event, dueAt: START + 5 });
      expect(await dueNow(store, endpoint)).toMatchObject([{ number: 3, round: 2, retry: 0, trigger: "replay" }]);
    });

    it("cannot be asked for where nothing can come of it", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store);
      const [done, gone, orphan] = [await publishOne(store), await publishOne(store), await publishOne(store)];
      await store.record([delivered(done.fresh[0]!), failed(gone.fresh[0]!), failed(orphan.fresh[0]!)]);
      const idOf = ({ fresh }: typeof done) => fresh[0]!.delivery;
      await store.eraseEvent(null, gone.id);
      expect(await store.requestAttempt(null, idOf(done), START)).toEqual({ result: "settled" });
      expect(await store.requestAttempt(null, idOf(gone), START)).toEqual({ result: "gone" });
      expect(await store.requestAttempt("other", idOf(orphan), START)).toEqual({ result: "not_found" });
      expect(await store.requestAttempt(null, "dlv_x", START)).toEqual({ result: "not_found" });
      await store.requestAttempt(null, idOf(orphan), START);
      await store.deleteEndpoint(null, endpoint, START);
      expect(await store.requestAttempt(null, idOf(orphan), START)).toEqual({ result: "endpoint_deleted" });
      expect(await store.requestedAttempt(idOf(orphan))).toBeNull();
    });

    it("is owed no more, nor can be asked for, once what was held for its endpoint is cancelled", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store);
      const [asked, unasked] = [await aWaitingOne(store), await aWaitingOne(store)];
      await store.updateEndpoint(null, endpoint, (settings) => ({ ...settings, enabled: false }), START);
      await store.requestAttempt(null, asked.delivery, START);
      // Together, because the rows are rewritten after the answer.
      const enabling = store.updateEndpoint(
        null,
        endpoint,
        (before) => ({ ...before, enabled: true }),
        START,
        "cancel",
      );
      expect(await store.requestAttempt(null, unasked.delivery, START)).toEqual({ result: "settled" });
      expect(await store.requestedAttempt(asked.delivery)).toBeNull();
      await enabling;
    });

    it("is what a test event to a disabled endpoint is after a crash", async () => {
      const opened = await openFresh();
      const endpoint = await addEndpoint(opened.store, { enabled: false });
      const [{ fresh }] = (await opened.store.publish([draft({ testFor: endpoint })], START, room)) as [Publication];
      const { delivery } = fresh[0]!;
      const after = await opened.crash();
      expect(await after.requestedAttempts(null, 10)).toEqual([{ delivery, endpoint }]);
      const claim = (await after.requestedAttempt(delivery))!;
      expect(claim).toMatchObject({ trigger: "test", number: 1 });
      await after.record([delivered(claim)]);
      expect(await after.requestedAttempts(null, 10)).toEqual([]);
    });

    it("that became vain is forgotten at the next start", async () => {
      const opened = await openFresh();
      const endpoint = await addEndpoint(opened.store);
      const { delivery } = await aWaitingOne(opened.store);
      await opened.store.requestAttempt(null, delivery, START);
      await opened.store.deleteEndpoint(null, endpoint, START);
      const after = await opened.reopen();
      expect(await after.requestedAttempts(null, 10)).toEqual([]);
    });

    it("is listed in pages", async () => {
      const { store } = await openFresh();
      await addEndpoint(store);
      await addEndpoint(store);
      const published = await store.publish(Array(3).fill(draft()), START, room);
      const claims = published.flatMap(({ fresh }) => fresh);
      await store.record(claims.map(failed));
      for (const { delivery } of claims) await store.requestAttempt(null, delivery, START);
      const seen: string[] = [];
      for (let page = await store.requestedAttempts(null, 4); page.length > 0;) {
        seen.push(...page.map(({ delivery }) => delivery));
        page = await store.requestedAttempts(page.at(-1)!, 4);
      }
      expect(seen).toEqual(claims.map(({ delivery }) => delivery));
    });
  });
}
