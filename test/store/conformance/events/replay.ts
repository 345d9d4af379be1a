import { describe, expect, it } from "vitest";
import { addEndpoint, again, delivered, dueNow, failed, publishOne, START } from "../../fixtures.ts";
import type { OpenFresh } from "../../stores.ts";

export function replaying(openFresh: OpenFresh): void {
  describe("replaying", () => {
    it("starts a new round on the first rung with the same id and bytes, due now", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store);
      const { id, fresh } = await publishOne(store);
      await store.deliveries.record([again(fresh[0]!, START + 30_000)]);
      await store.deliveries.record((await dueNow(store, endpoint)).map(failed));
      const now = START + 60_000;
      const replay = await store.events.replay("default", id, {}, now);
      expect(replay).toEqual({ result: "replayed", waiting: [{ endpoint, event: id, dueAt: now }], left: [] });
      const [claim] = await dueNow(store, endpoint);
      expect(claim).toMatchObject({ number: 3, round: 2, retry: 0, trigger: "replay", dueAt: now });
      expect(Buffer.compare(claim!.body, fresh[0]!.body)).toBe(0);
      await store.deliveries.record([again(claim!, now + 30_000)]);
      expect(await dueNow(store, endpoint)).toMatchObject([{ number: 4, round: 2, retry: 1, trigger: "ladder" }]);
    });

    it("makes one round of many replays at once", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store);
      const { id, fresh } = await publishOne(store);
      await store.deliveries.record([failed(fresh[0]!)]);
      const replays = await Promise.all(Array.from({ length: 20 }, () => store.events.replay(null, id, {}, START)));
      expect(replays.filter((replay) => replay.result === "replayed")).toHaveLength(1);
      expect(replays.filter((replay) => replay.result === "not_failed")).toHaveLength(19);
      expect(await dueNow(store, endpoint)).toHaveLength(1);
    });

    it("touches nothing that is pending or delivered, unless it is forced to", async () => {
      const { store } = await openFresh();
      const [a, b, c] = [await addEndpoint(store), await addEndpoint(store), await addEndpoint(store)];
      const { id, fresh } = await publishOne(store);
      const [toA, toB, toC] = fresh;
      await store.deliveries.record([failed(toA!), delivered(toB!), again(toC!, START + 777)]);
      const replay = await store.events.replay(null, id, {}, START + 1);
      expect(replay).toMatchObject({ waiting: [{ endpoint: a }] });
      const forced = await store.events.replay(null, id, { force: true }, START + 2);
      expect(forced).toMatchObject({ waiting: [{ endpoint: b }] });
      expect(await dueNow(store, c)).toMatchObject([{ dueAt: START + 777, round: 1 }]);
    });

    it("keeps to one endpoint when it is told to", async () => {
      const { store } = await openFresh();
      const [a, b] = [await addEndpoint(store), await addEndpoint(store)];
      const { id, fresh } = await publishOne(store);
      await store.deliveries.record(fresh.map(failed));
      expect(await store.events.replay(null, id, { endpoint: b }, START)).toMatchObject({ waiting: [{ endpoint: b }] });
      expect(await store.events.replay(null, id, { endpoint: b }, START)).toEqual({ result: "not_failed" });
      expect(await dueNow(store, a)).toEqual([]);
    });

    it("leaves deliveries of deleted endpoints alone and names them", async () => {
      const { store } = await openFresh();
      const [a, b] = [await addEndpoint(store), await addEndpoint(store)];
      const { id, fresh } = await publishOne(store);
      await store.deliveries.record(fresh.map(failed));
      await store.endpoints.delete(null, a, START);
      const left = [{ delivery: fresh[0]!.delivery, endpoint: a, reason: "endpoint_deleted" }];
      expect(await store.events.replay(null, id, { endpoint: a }, START)).toEqual({
        result: "endpoint_disabled",
        left,
      });
      expect(await store.events.replay(null, id, {}, START)).toMatchObject({
        result: "replayed",
        waiting: [{ endpoint: b }],
        left,
      });
    });

    it("leaves those of disabled endpoints alone too, a failed test event's included", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store, { enabled: false });
      const { id, fresh } = await publishOne(store, { testFor: endpoint });
      await store.deliveries.record([failed(fresh[0]!)]);
      const left = [{ delivery: fresh[0]!.delivery, endpoint, reason: "endpoint_disabled" }];
      expect(await store.events.replay(null, id, {}, START)).toEqual({ result: "endpoint_disabled", left });
    });

    it("finds no event of another tenant, and none whose random part is wrong", async () => {
      const { store } = await openFresh();
      await addEndpoint(store);
      const { id, fresh } = await publishOne(store);
      await store.deliveries.record([failed(fresh[0]!)]);
      const forged = id.slice(0, -1) + (id.endsWith("0") ? "1" : "0");
      for (const [tenant, event] of [
        ["other", id],
        [null, forged],
        [null, "evt_x"],
      ] as const) {
        expect(await store.events.replay(tenant, event, {}, START)).toEqual({ result: "not_found" });
      }
    });
  });
}
