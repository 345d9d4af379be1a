import { describe, expect, it } from "vitest";
import { parseDataFilter } from "../../../../src/domain/events/data-filter.ts";
import type { EventDraft } from "../../../../src/domain/events/event.ts";
import type { Publication, Store } from "../../../../src/store/store.ts";
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

const EVENTS = 60;
const DAY_MS = 86_400_000;
const RULES = { delivered: START + 60 * DAY_MS, failed: START + 60 * DAY_MS };

/** About 30 KB for each event. */
const textOf = (at: number) => `{ "at": ${at}, "text": "${String.fromCharCode(97 + (at % 26)).repeat(30_000)}" }`;
const large = (more: (at: number) => Partial<EventDraft> = () => ({})) =>
  Array.from({ length: EVENTS }, (_, at) => draft({ data: Buffer.from(textOf(at)), ...more(at) }));
const keyed = (at: number) => ({
  idempotency: { key: `key-${at}`, fingerprint: Buffer.alloc(32, at), expiresAt: START + DAY_MS },
});

const bodies = (published: readonly Publication[]) =>
  published.map(
    ({ id }, at) =>
      `{"id":"${id}","type":"budget.exceeded","created_at":"2026-11-20T09:55:00.000Z","data":${textOf(at)}}`,
  );
const asText = (claims: readonly { readonly body: Uint8Array }[]) =>
  claims.map(({ body }) => Buffer.from(body).toString());
const saidBy = async (store: Store, id: string) => {
  const data = (await store.reads.getEvent(null, id))!.data;
  return data === null ? null : Buffer.from(data).toString();
};

export function largeBatches(openFresh: OpenFresh): void {
  describe("a large batch", () => {
    it("is sent and shown byte for byte, also after a crash", async () => {
      const harness = await openFresh();
      const endpoint = await addEndpoint(harness.store);
      const published = await harness.store.events.publish(large(), START, withCapacity);
      expect(asText(published.map(({ fresh }) => fresh[0]!))).toEqual(bodies(published));
      const claims = await dueNow(await harness.crash(), endpoint);
      expect(claims.map(({ event, corrupt }) => [event, corrupt ?? false])).toEqual(
        published.map(({ id }) => [id, false]),
      );
      expect(asText(claims)).toEqual(bodies(published));
      for (const at of [0, 17, EVENTS - 1]) {
        expect(await saidBy(harness.store, published[at]!.id)).toBe(textOf(at));
      }
      const [first] = published;
      await harness.store.deliveries.requestAttempt(null, claims[0]!.delivery, START);
      const asked = await harness.store.deliveries.requestedAttempt(claims[0]!.delivery);
      expect(asText([asked!])).toEqual(bodies([first!]));
    });

    it("comes all at once, while other events are published beside it", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store);
      const state = { done: false };
      const publishing = store.events.publish(large(), START, withoutCapacity).finally(() => (state.done = true));
      const between: string[] = [];
      const seen = new Set<number>();
      while (!state.done) {
        between.push((await publishOne(store, { tenant: "other" })).id);
        seen.add((await store.reads.listEvents({ ...EVERYTHING, tenant: "default" })).data.length);
      }
      const published = await publishing;
      seen.delete(0);
      expect([...seen].filter((count) => count !== EVENTS)).toEqual([]);
      const all: string[] = [];
      for (let cursor: string | undefined; ;) {
        const page = await store.reads.listEvents({ ...EVERYTHING, ...(cursor && { cursor }) });
        all.push(...page.data.map(({ id }) => id));
        if (page.nextCursor === null) break;
        cursor = page.nextCursor;
      }
      expect(new Set(all)).toEqual(new Set([...between, ...published.map(({ id }) => id)]));
      expect((await dueNow(store, endpoint)).map(({ event }) => event)).toEqual(published.map(({ id }) => id));
    });

    it("stores nothing twice of what it repeats, and nothing of what is refused", async () => {
      const { store } = await openFresh({ maxPendingPerTenant: EVENTS + 20 });
      await addEndpoint(store);
      const before = await store.events.publish(large(keyed).slice(10, 30), START, withCapacity);
      const published = await store.events.publish(large(keyed), START, withCapacity);
      expect(published.slice(10, 30).map(({ id }) => id)).toEqual(before.map(({ id }) => id));
      const repeated = await store.events.publish(large(keyed), START, withCapacity);
      expect(repeated.map(({ id, duplicate }) => [id, duplicate])).toEqual(published.map(({ id }) => [id, true]));
      const misused = { ...keyed(7).idempotency, fingerprint: Buffer.alloc(32, 99) };
      const other = large((at) => (at === 40 ? { idempotency: misused } : {}));
      await expect(store.events.publish(other, START, withCapacity)).rejects.toMatchObject({
        code: "idempotency_mismatch",
      });
      await expect(store.events.publish(large(), START, withCapacity)).rejects.toMatchObject({ code: "overloaded" });
      expect((await store.reads.listEvents(EVERYTHING)).data).toHaveLength(EVENTS);
      for (const at of [0, 20, 59]) expect(await saidBy(store, published[at]!.id)).toBe(textOf(at));
    });

    it("is found by what it says, and is no more once it was erased or pruned", async () => {
      const { store } = await openFresh();
      const published = await store.events.publish(large(), START, withCapacity);
      const found = async (filter: string) => {
        const data = parseDataFilter(filter)!;
        return (await store.reads.listEvents({ ...EVERYTHING, data })).data.map(({ id }) => id);
      };
      expect(await found("at:41")).toEqual([published[41]!.id]);
      expect(await found("text:no")).toEqual([]);
      await store.events.erase(null, published[41]!.id, START);
      expect(await found("at:41")).toEqual([]);
      expect(await saidBy(store, published[41]!.id)).toBe(null);
      let pruned = 0;
      for (let from: string | null = null; ;) {
        const some = await store.upkeep.pruneEvents(RULES, from);
        pruned += some.pruned;
        if (some.next === null) break;
        from = some.next;
      }
      expect(pruned).toBe(EVENTS);
      expect((await store.reads.listEvents(EVERYTHING)).data).toEqual([]);
    });

    it("is settled like any other", async () => {
      const harness = await openFresh();
      const endpoint = await addEndpoint(harness.store);
      const published = await harness.store.events.publish(large(), START, withCapacity);
      await harness.store.deliveries.record(published.slice(1).map(({ fresh }) => delivered(fresh[0]!)));
      const store = await harness.reopen();
      expect((await dueNow(store, endpoint)).map(({ event }) => event)).toEqual([published[0]!.id]);
    });
  });
}
