import { describe, expect, it } from "vitest";
import type { Store } from "../../../../src/store/store.ts";
import {
  addEndpoint,
  brokenCapacity,
  delivered,
  draft,
  ended,
  EVERYTHING,
  failed,
  publishOne,
} from "../../fixtures.ts";
import type { OpenFresh, StoreUnderTest } from "../../stores.ts";

const HOUR = 3_600_000;
const HALF_A_YEAR = 182 * 24 * HOUR;
const NEVER = Number.NEGATIVE_INFINITY;

/** Publishes two events while the clock is ahead, and then one every hour. */
async function ahead(harness: StoreUnderTest, by: number) {
  const { clock } = harness;
  const publish = async (store: Store) => {
    const published = await publishOne(store, {}, clock.now());
    return { ...published, at: clock.now() };
  };
  clock.step(by);
  const [a, b] = [await publish(harness.store), await publish(harness.store)];
  clock.step(-by);
  clock.advance(1000);
  const events = [a, b];
  for (let left = 5; left > 0; left--) {
    events.push(await publish(harness.store));
    clock.advance(HOUR);
  }
  return { events, publish };
}

const ids = (all: readonly { readonly id: string }[]) => all.map(({ id }) => id);

/** Returns the time at which each event was received, as lists show it. */
async function receivedAt(store: Store): Promise<ReadonlyMap<string, number>> {
  const { data } = await store.reads.listEvents({ ...EVERYTHING });
  return new Map(data.map((event) => [event.id, event.receivedAt]));
}

export function clockAhead(openFresh: OpenFresh): void {
  describe.each([HOUR, HALF_A_YEAR])("once a clock was %i ms ahead", (by) => {
    it("shows when events were received that came after that, also after a restart and a crash", async () => {
      const harness = await openFresh();
      await addEndpoint(harness.store);
      const { events, publish } = await ahead(harness, by);
      const [a, b, c, ...later] = events;
      for (const open of [async () => harness.store, harness.reopen, harness.crash]) {
        const store = await open();
        const seen = await receivedAt(store);
        for (const { id, at } of [c!, ...later]) expect(Math.abs(seen.get(id)! - at)).toBeLessThanOrEqual(1);
        // These two were published before it.
        for (const { id } of [a!, b!]) expect(seen.get(id)).toBeLessThanOrEqual(c!.at);
        expect((await store.reads.getEvent(null, c!.id))!.receivedAt).toBe(seen.get(c!.id));
        harness.clock.advance(1000);
        later.push(await publish(store));
        const all = ids([a!, b!, c!, ...later]);
        expect(all).toEqual(all.toSorted());
      }
    });

    it("lists, counts, plans and reports by when they were received", async () => {
      const harness = await openFresh();
      const endpoint = await addEndpoint(harness.store);
      const { events } = await ahead(harness, by);
      const { store } = harness;
      for (const { fresh } of events)
        await store.deliveries.record([{ ...failed(fresh[0]!), startedAt: harness.clock.now() }]);
      // The period begins before the last three events.
      const since = events[4]!.at - 10;
      const [before, after] = [ids(events.slice(0, 4)), ids(events.slice(4))];
      expect(ids((await store.reads.listEvents({ ...EVERYTHING, since })).data)).toEqual(after);
      expect(ids((await store.reads.listEvents({ ...EVERYTHING, until: since })).data)).toEqual(before);
      const query = { ...EVERYTHING, order: "newest", since, count: 100 } as const;
      expect(ids((await store.reads.listEvents(query)).data)).toEqual(after.toReversed());
      const deliveries = await store.reads.listDeliveries({ ...EVERYTHING, since, status: "failed" });
      expect(deliveries.data.map(({ event }) => event)).toEqual(after);
      const attempts = await store.reads.listEndpointAttempts({ ...EVERYTHING, endpoint, until: since });
      expect(attempts!.data.map(({ event }) => event).toSorted()).toEqual(before);
      const job = { id: "job_00000000000000000000000001", tenant: null, ratePerSecond: 10, canary: false, reason: "r" };
      const filter = { since, test: false, missing: false };
      expect(await store.jobs.plan({ ...job, action: "replay", filter })).toMatchObject({
        endpoints: [{ endpoint, matched: after.length }],
      });
      const report = await store.statistics.failures({
        tenant: null,
        since,
        limit: 10,
        from: since,
        stepMs: HOUR,
        parts: 24,
      });
      expect(report!.groups[0]).toMatchObject({ failed: after.length });
    });

    it("forgets events and responses when they are old, and no sooner", async () => {
      const harness = await openFresh();
      await addEndpoint(harness.store);
      const { events } = await ahead(harness, by);
      const { store } = harness;
      const body = { outcome: { ...delivered(events[0]!.fresh[0]!).outcome, responseBody: Buffer.from("kept") } };
      for (const { fresh, at } of events.slice(2)) {
        await store.deliveries.record([ended(fresh[0]!, { status: "delivered" }, { ...body, startedAt: at + 10 })]);
      }
      const bodies = async () => {
        const all = await Promise.all(events.slice(2).map(({ id }) => store.reads.getEvent(null, id)));
        const last = all.flatMap((event) => event?.deliveries[0]?.lastAttempt ?? []);
        return last.filter(({ responseBody }) => responseBody.length > 0).length;
      };
      expect(await bodies()).toBe(5);
      const before = events[4]!.at - 10;
      while ((await store.upkeep.forgetResponses(before + HOUR)) > 0);
      expect(await bodies()).toBe(3);
      const rules = { delivered: before, failed: before, held: NEVER };
      for (let from: string | null = null; ;) {
        const { next }: { next: string | null } = await store.upkeep.pruneEvents(rules as never, from);
        if (next === null) break;
        from = next;
      }
      const left = ids((await store.reads.listEvents({ ...EVERYTHING })).data);
      expect(left.filter((id) => ids(events.slice(2)).includes(id))).toEqual(ids(events.slice(4)));
    });

    it("says by how much ids are ahead, until they are not", async () => {
      const harness = await openFresh();
      await addEndpoint(harness.store);
      const { clock, store } = harness;
      expect(store.events.idsAheadMs(clock.now())).toBeNull();
      await ahead(harness, by);
      const aheadMs = store.events.idsAheadMs(clock.now());
      if (by > 10 * HOUR) expect(aheadMs).toBeGreaterThan(by - 10 * HOUR);
      clock.advance(2 * by);
      await publishOne(store, {}, clock.now());
      expect(store.events.idsAheadMs(clock.now())).toBeNull();
      const [last] = (await store.reads.listEvents({ ...EVERYTHING, order: "newest" })).data;
      expect(last!.receivedAt).toBe(clock.now());
    });

    it("keeps to that where the first commit after it is undone", async () => {
      const harness = await openFresh();
      await addEndpoint(harness.store);
      const { clock } = harness;
      clock.step(by);
      await publishOne(harness.store, {}, clock.now());
      clock.step(-by);
      const broken = harness.store.events.publish([draft()], clock.now(), brokenCapacity("a bug"));
      await expect(broken).rejects.toThrow("a bug");
      clock.advance(HOUR);
      const { id } = await publishOne(harness.store, {}, clock.now());
      const at = clock.now();
      const store = await harness.reopen();
      expect(Math.abs((await receivedAt(store)).get(id)! - at)).toBeLessThanOrEqual(1);
    });

    it("dates the audit log by the clock", async () => {
      const harness = await openFresh();
      const { clock, store } = harness;
      const entry = {
        actor: "socket",
        uid: null,
        user: null,
        tenant: null,
        action: "daemon.pause",
        object: null,
      } as const;
      const add = () =>
        store.audit.add({ ...entry, requestId: "req_00000000000000000000000001", outcome: "ok" }, clock.now());
      clock.step(by);
      await add();
      clock.step(-by);
      clock.advance(HOUR);
      await add();
      const at = clock.now();
      const { data } = await store.audit.list({ ...EVERYTHING, since: at - 1000 });
      expect(data).toHaveLength(2);
      for (const one of data) expect(Math.abs(one.at - at)).toBeLessThanOrEqual(1);
      clock.advance(HOUR);
      expect((await store.audit.list({ ...EVERYTHING, since: at + 1000 })).data).toEqual([]);
      expect(await store.audit.prune(clock.now())).toBe(2);
    });
  });
}
