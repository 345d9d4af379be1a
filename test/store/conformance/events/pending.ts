import { describe, expect, it } from "vitest";
import type { Store } from "../../../../src/store/store.ts";
import type { TenantShare } from "../../../../src/domain/time/timetable.ts";
import {
  addEndpoint,
  again,
  brokenCapacity,
  delivered,
  draft,
  dueNow,
  EVERYTHING,
  failed,
  publishOne,
  withCapacity,
  START,
} from "../../fixtures.ts";
import type { OpenFresh } from "../../stores.ts";

const LIMIT = 6;
const TOO_MANY = { code: "overloaded", retryAfterSeconds: 10 };

/** Publishes until the store refuses, and returns how many publishes it accepted. */
async function roomOf(store: Store, tenant = "default"): Promise<number> {
  for (let taken = 0; ; taken++) {
    const refused = await publishOne(store, { tenant }).then(
      () => false,
      (error: unknown) => error,
    );
    if (refused === false) continue;
    expect(refused).toMatchObject(TOO_MANY);
    return taken;
  }
}

export function pending(openFresh: OpenFresh): void {
  describe("a limit of what a tenant has pending", () => {
    const open = async () => {
      const harness = await openFresh({ maxPendingPerTenant: LIMIT });
      const endpoint = await addEndpoint(harness.store);
      return { harness, store: harness.store, endpoint };
    };

    it("is reached by deliveries, of this tenant alone", async () => {
      const { store } = await open();
      await addEndpoint(store);
      await addEndpoint(store, { tenant: "other" });
      expect(await roomOf(store)).toBe(LIMIT / 2);
      expect(await roomOf(store, "other")).toBe(LIMIT);
      await publishOne(store, { tenant: "nobody listens" });
    });

    it("refuses for good what is more by itself, and says of whom", async () => {
      const { store } = await open();
      const refused = store.events.publish(Array(LIMIT + 1).fill(draft()), START, withCapacity);
      await expect(refused).rejects.toMatchObject({
        code: "validation_failed",
        message: expect.stringContaining("the tenant default may have at most 6 pending"),
        errors: [{ code: "fan_out_too_large", pointer: "/events" }],
      });
      expect(await roomOf(store)).toBe(LIMIT);
    });

    it("refuses a request as a whole, and nothing that makes no delivery", async () => {
      const { store, endpoint } = await open();
      const key = { idempotency: { key: "k", fingerprint: Buffer.alloc(32), expiresAt: START + 1 } };
      await store.events.publish([draft(key), ...Array(LIMIT - 2).fill(draft())], START, withCapacity);
      await expect(store.events.publish([draft(), draft()], START, withCapacity)).rejects.toMatchObject(TOO_MANY);
      expect((await store.reads.listEvents(EVERYTHING)).data).toHaveLength(LIMIT - 1);
      const [again] = await store.events.publish([draft(key), draft()], START, withCapacity);
      expect(again!.duplicate).toBe(true);
      await publishOne(store, { type: "goal.achieved" });
      await publishOne(store, { testFor: endpoint });
      await expect(publishOne(store)).rejects.toMatchObject(TOO_MANY);
    });

    it("gives room for what was delivered, has failed or was cancelled, and takes it for a replay", async () => {
      const { store, endpoint } = await open();
      const [one, two, three] = (await store.events.publish([draft(), draft(), draft()], START, withCapacity)).map(
        ({ fresh }) => fresh[0]!,
      );
      await store.deliveries.record([delivered(one!), failed(two!), again(three!, START + 1)]);
      expect(await roomOf(store)).toBe(LIMIT - 1);
      const [late] = await dueNow(store, endpoint, START + 1);
      await store.deliveries.record([delivered(late!)]);
      expect(await roomOf(store)).toBe(1);
      await store.events.replay(null, two!.event, {}, START);
      await expect(publishOne(store)).rejects.toMatchObject(TOO_MANY);
      await store.endpoints.delete(null, endpoint, START);
      await addEndpoint(store);
      expect(await roomOf(store)).toBe(LIMIT);
    });

    it("counts what a stop or a crash left, fresh or waiting", async () => {
      const { harness, store } = await open();
      const [first] = await store.events.publish([draft(), draft()], START, withCapacity);
      await store.deliveries.record([again(first!.fresh[0]!, START + 1)]);
      expect(await roomOf(await harness.crash())).toBe(LIMIT - 2);
      await expect(publishOne(await harness.reopen())).rejects.toMatchObject(TOO_MANY);
    });

    it("keeps its count when a commit is undone", async () => {
      const { store } = await open();
      await expect(store.events.publish([draft(), draft()], START, brokenCapacity("boom"))).rejects.toThrow("boom");
      expect(await roomOf(store)).toBe(LIMIT);
    });

    it("is another one for a tenant that has its own, from when it is set", async () => {
      const shares = new Map<string, TenantShare>();
      const set = (maxPending: number) => shares.set("default", { weight: 1, ratePerSecond: null, maxPending });
      const { store } = await openFresh({ shares });
      await addEndpoint(store);
      await addEndpoint(store, { tenant: "other" });
      await store.events.publish([draft(), draft()], START, withCapacity);
      set(LIMIT);
      expect(await roomOf(store)).toBe(LIMIT - 2);
      set(LIMIT + 1);
      expect(await roomOf(store)).toBe(1);
      await store.events.publish(Array(100).fill(draft({ tenant: "other" })), START, withCapacity);
      set(0);
      await store.events.publish(Array(100).fill(draft()), START, withCapacity);
    });

    it("is none unless it is set", async () => {
      const { store } = await openFresh();
      await addEndpoint(store);
      await store.events.publish(Array(100).fill(draft()), START, withCapacity);
      await publishOne(store);
    });
  });
}
