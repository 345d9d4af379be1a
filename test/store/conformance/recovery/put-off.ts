import { describe, expect, it } from "vitest";
import type { Waits } from "../../../../src/domain/deliveries/due-time.ts";
import { addEndpoint, again, draft, dueNow, withoutCapacity, withCapacity, START } from "../../fixtures.ts";
import type { OpenFresh } from "../../stores.ts";

const WAITS: Waits = { ladder: [30_000, 120_000, 600_000], maxRetryAfter: 0 };
const DAY = 86_400_000;

export function puttingOff(openFresh: OpenFresh): void {
  describe("deliveries that a wrong clock has put off", () => {
    it("are made due at once if they are the first of a round, and after their rung if not", async () => {
      const { store, write } = await openFresh();
      const endpoint = await addEndpoint(store);
      const published = await store.events.publish(Array(4).fill(draft()), START, withCapacity);
      const [a, b, c, d] = published.map(({ fresh }) => fresh[0]!);
      await store.deliveries.record([
        again(a!, START + 30_000),
        again({ ...b!, retry: 1 }, START + 120_000),
        again({ ...c!, retry: 2 }, START + DAY),
      ]);
      await store.deliveries.park([d!], START);
      expect(await store.recovery.hasten(WAITS, START)).toHaveLength(1);
      await write(`UPDATE delivery SET due_at = ${START + DAY} WHERE status = 1`);
      const moved = await store.recovery.hasten(WAITS, START);
      const due = [
        { endpoint, event: d!.event, dueAt: START },
        { endpoint, event: a!.event, dueAt: START + 30_000 },
        { endpoint, event: b!.event, dueAt: START + 120_000 },
        { endpoint, event: c!.event, dueAt: START + 600_000 },
      ];
      expect(moved).toEqual(due);
      const { claims } = await store.deliveries.due(endpoint, { dueAt: 0, event: "" }, Infinity, 100);
      expect(claims.map(({ event, dueAt }) => [event, dueAt])).toEqual(due.map(({ event, dueAt }) => [event, dueAt]));
      expect(await store.recovery.hasten(WAITS, START)).toEqual([]);
    });

    it("are left alone as far as a receiver may ask for it, or a longer ladder was in force", async () => {
      const { store } = await openFresh();
      await addEndpoint(store);
      const published = await store.events.publish(Array(2).fill(draft()), START, withCapacity);
      const [a, b] = published.map(({ fresh }) => fresh[0]!);
      await store.deliveries.record([again(a!, START + 3_600_000), again({ ...b!, retry: 5 }, START + 600_000)]);
      expect(await store.recovery.hasten({ ...WAITS, maxRetryAfter: 3_600_000 }, START)).toEqual([]);
      expect(await store.recovery.hasten(WAITS, START)).toMatchObject([{ event: a!.event }]);
    });

    it("are found 500 at a time, whatever else waits, and not if they are being cancelled", async () => {
      const { store, write } = await openFresh();
      const endpoint = await addEndpoint(store);
      const other = await addEndpoint(store, { events: ["goal.achieved"] });
      await store.events.publish(Array(700).fill(draft()), START, withoutCapacity);
      await store.events.publish([draft({ type: "goal.achieved" })], START, withoutCapacity);
      await write(`UPDATE delivery SET due_at = due_at + ${DAY}`);
      const moved = await store.recovery.hasten(WAITS, START);
      expect(moved).toHaveLength(500);
      expect(await store.recovery.hasten(WAITS, START)).toHaveLength(201);
      expect(await dueNow(store, other)).toHaveLength(1);
      await write(`UPDATE delivery SET due_at = due_at + ${DAY}`);
      await store.endpoints.update(null, endpoint, (settings) => ({ ...settings, enabled: false }), START);
      const enabling = store.endpoints.update(null, endpoint, (of) => ({ ...of, enabled: true }), START, "cancel");
      expect((await store.recovery.hasten(WAITS, START)).map((one) => one.endpoint)).toEqual([other]);
      await enabling;
    });
  });
}
