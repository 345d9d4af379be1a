import { describe, expect, it } from "vitest";
import type { Position } from "../../../../src/domain/deliveries/delivery.ts";
import type { Shift, Store } from "../../../../src/store/store.ts";
import {
  addEndpoint,
  again,
  brokenCapacity,
  draft,
  dueNow,
  withoutCapacity,
  publishOne,
  withCapacity,
  START,
} from "../../fixtures.ts";
import type { OpenFresh } from "../../stores.ts";

export function clockSetBy(openFresh: OpenFresh, steps: readonly number[]): void {
  it.each(steps)("a clock that was set moves each due time by %d ms once, however many there are", async (by) => {
    const { store } = await openFresh();
    const endpoint = await addEndpoint(store);
    const other = await addEndpoint(store, { events: ["goal.achieved"] });
    await store.events.publish([draft({ type: "goal.achieved" })], START + 5, withoutCapacity);
    for (let at = 0; at < 12; at++) {
      const published = await store.events.publish(Array(100).fill(draft()), START - RUNG, withCapacity);
      await store.deliveries.record(published.map(({ fresh }) => again(fresh[0]!, START + at)));
    }
    const before = await store.deliveries.due(endpoint, { dueAt: 0, event: "" }, Infinity, 5000);
    const moved = await shiftAll(store, endpoint, shiftBy(by, START + 3 + Math.max(by, 0)));
    const after = await store.deliveries.due(endpoint, { dueAt: 0, event: "" }, Infinity, 5000);
    const expected = before.claims.map(({ event, dueAt }) => [
      event,
      dueAt > START + 3 ? Math.ceil(dueAt + by) : dueAt,
    ]);
    expect(new Map(after.claims.map(({ event, dueAt }) => [event, dueAt]))).toEqual(
      new Map(expected as [string, number][]),
    );
    expect(moved).toBe(800);
    expect(await dueNow(store, other)).toMatchObject([{ dueAt: START + 5 }]);
  });
}

export function clockSet(openFresh: OpenFresh): void {
  clockSetBy(openFresh, [-3_600_000, 0.5]);

  describe("a clock that was set", () => {
    it("leaves alone what is being cancelled", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store);
      const published = await store.events.publish(Array(1203).fill(draft()), START, withCapacity);
      await store.deliveries.record(published.map(({ fresh }) => again(fresh[0]!, START + RUNG)));
      await store.endpoints.update(null, endpoint, (settings) => ({ ...settings, enabled: false }), START);
      const enabling = store.endpoints.update(null, endpoint, (of) => ({ ...of, enabled: true }), START, "cancel");
      expect((await store.recovery.shiftDue(endpoint, shiftBy(-1000, 0), null)).moved).toEqual([]);
      await enabling;
    });

    it("leaves alone what was written since", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store);
      const [publication] = await store.events.publish([draft()], START, withoutCapacity);
      const except = new Set([publication!.id]);
      const shifted = await store.recovery.shiftDue(endpoint, { ...shiftBy(-1000, 0), except }, null);
      expect(shifted).toEqual({ moved: [], next: null });
      expect(await dueNow(store, endpoint)).toMatchObject([{ dueAt: START }]);
    });

    it("moves a delivery by its place on the ladder, and names only what moved", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store);
      const [a, b] = (await store.events.publish([draft(), draft()], START, withCapacity)).flatMap(
        ({ fresh }) => fresh,
      );
      await store.deliveries.record([again(a!, START + 5000), again({ ...b!, retry: 4 }, START + 5000)]);
      const shift: Shift = { by: null, at: START, ladder: [30, 1, 1, 1, 6000], except: new Set() };
      const { moved } = await store.recovery.shiftDue(endpoint, shift, null);
      expect(moved).toEqual([{ endpoint, event: a!.event, dueAt: START + 30 }]);
      expect(await dueNow(store, endpoint)).toMatchObject([
        { event: a!.event, dueAt: START + 30 },
        { event: b!.event, dueAt: START + 5000 },
      ]);
    });

    it("is measured by commits that were not undone", async () => {
      const harness = await openFresh();
      await addEndpoint(harness.store);
      harness.clock.advance("1h");
      const broken = harness.store.events.publish([draft()], harness.clock.now(), brokenCapacity("a bug"));
      await expect(broken).rejects.toThrow("a bug");
      await publishOne(harness.store, {}, harness.clock.now());
      expect((await harness.reopen()).recovery.lastInstant).toBe(harness.clock.now());
    });

    it("is noticed at the next start, until everything was reckoned anew", async () => {
      const harness = await openFresh();
      harness.clock.advance("1h");
      await publishOne(harness.store, {}, harness.clock.now());
      const instant = harness.clock.now();
      harness.clock.step("-30m");
      await publishOne(harness.store, {}, harness.clock.now());
      let store = await harness.reopen();
      expect(store.recovery.lastInstant).toBe(instant);
      await store.recovery.clockSettled(harness.clock.now());
      store = await harness.reopen();
      expect(store.recovery.lastInstant).toBe(instant - 1_800_000);
      await store.recovery.clockUnsettled();
      await publishOne(store, {}, harness.clock.now());
      expect((await harness.reopen()).recovery.lastInstant).toBeGreaterThan(harness.clock.now() + 1e12);
    });
  });
}

const RUNG = 60_000;
const shiftBy = (by: number, at: number): Shift => ({ by, at, ladder: [RUNG], except: new Set() });

async function shiftAll(store: Store, endpoint: string, shift: Shift): Promise<number> {
  let moved = 0;
  let from: Position | null = null;
  do {
    const step = await store.recovery.shiftDue(endpoint, shift, from);
    expect(step.moved.length).toBeLessThanOrEqual(500);
    moved += step.moved.length;
    from = step.next;
  } while (from !== null);
  return moved;
}
