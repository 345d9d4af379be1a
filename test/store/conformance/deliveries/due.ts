import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { DuePage } from "../../../../src/store/store.ts";
import type { Position } from "../../../../src/domain/deliveries/delivery.ts";
import {
  addEndpoint,
  again,
  BEGINNING,
  draft,
  dueNow,
  withoutCapacity,
  publishOne,
  withCapacity,
  START,
} from "../../fixtures.ts";
import type { OpenFresh } from "../../stores.ts";

export function reading(openFresh: OpenFresh): void {
  describe("reading what is due", () => {
    it("reads in order of due time and event, and says when the next one falls due", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store);
      const published = await store.events.publish(Array(3).fill(draft()), START, withCapacity);
      const [a, b, c] = published.flatMap((publication) => publication.fresh);
      await store.deliveries.record([again(a!, START + 500), again(b!, START + 100), again(c!, START + 100)]);
      const page = await store.deliveries.due(endpoint, BEGINNING, START + 100, 10);
      expect(page.claims.map((claim) => claim.event)).toEqual([b!.event, c!.event]);
      expect(page.nextDueAt).toBe(START + 500);
      const short = await store.deliveries.due(endpoint, BEGINNING, START + 100, 1);
      expect(short.nextDueAt).toBe(START + 100);
      const { claims } = await store.deliveries.due(
        endpoint,
        { dueAt: START + 100, event: b!.event },
        START + 1000,
        10,
      );
      expect(claims.map((claim) => claim.event)).toEqual([c!.event, a!.event]);
    });

    it("reads first attempts alone, past any number of others, and says how far it came", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store);
      const tried = 1500;
      for (let at = 0; at < tried; at += 500) {
        const published = await store.events.publish(Array(500).fill(draft()), START, withCapacity);
        await store.deliveries.record(published.flatMap(({ fresh }) => fresh).map((claim) => again(claim, START)));
      }
      const first = await store.events.publish(Array(5).fill(draft()), START, withoutCapacity);
      await store.events.publish([draft()], START + 1, withoutCapacity);
      const seen: string[] = [];
      let after: Position | null = BEGINNING;
      for (let reads = 0; after !== null && reads < 20; reads++) {
        const page: DuePage = await store.deliveries.dueFirst(endpoint, after, START, 2);
        expect(page.claims.every(({ fresh, number }) => fresh && number === 1)).toBe(true);
        seen.push(...page.claims.map(({ event }) => event));
        after = page.reached ?? null;
      }
      expect(seen).toEqual(first.map(({ id }) => id));
    });

    it("takes positions before and after all events of an instant", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store);
      await store.events.publish([draft()], START, withoutCapacity);
      const read = async (after: Position) => (await store.deliveries.due(endpoint, after, Infinity, 10)).claims.length;
      expect(await read({ dueAt: START, event: "" })).toBe(1);
      expect(await read({ dueAt: START, event: "~" })).toBe(0);
      expect(await read({ dueAt: START - 1, event: "~" })).toBe(1);
    });

    it("reads each waiting delivery once, whatever the size of the pages", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store);
      await addEndpoint(store);
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: 12 }),
          fc.integer({ min: 1, max: 5 }),
          async (delays, limit) => {
            for (const delay of delays) await store.events.publish([draft()], START + delay, withoutCapacity);
            const all = await dueNow(store, endpoint);
            const seen: string[] = [];
            let after: Position = BEGINNING;
            for (;;) {
              const { claims } = await store.deliveries.due(endpoint, after, START + 3, limit);
              seen.push(...claims.map((claim) => claim.event));
              if (claims.length < limit) break;
              after = claims.at(-1)!;
            }
            expect(seen).toEqual(all.map((claim) => claim.event));
          },
        ),
        { numRuns: 15 },
      );
    });

    it("knows the earliest due time of each endpoint that is owed something", async () => {
      const { store } = await openFresh();
      const first = await addEndpoint(store);
      const second = await addEndpoint(store, { events: ["goal.achieved"] });
      await addEndpoint(store, { events: ["carbon.threshold"] });
      await publishOne(store, { type: "carbon.threshold" });
      for (const now of [START + 20, START + 10]) await store.events.publish([draft()], now, withoutCapacity);
      await store.events.publish([draft({ type: "goal.achieved" })], START + 30, withoutCapacity);
      const all = await store.deliveries.earliestDue(null, 9);
      expect([...all].sort()).toEqual(
        [
          [first, START + 10],
          [second, START + 30],
        ].sort(),
      );
      const [one, other] = [...all.keys()];
      expect([...(await store.deliveries.earliestDue(null, 1)).keys()]).toEqual([one]);
      expect([...(await store.deliveries.earliestDue(one!, 1)).keys()]).toEqual([other]);
      expect([...(await store.deliveries.earliestDue(other!, 1)).keys()]).toEqual([]);
    });

    it("lists what waits after a position, due or not, in pages of at most 500", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store);
      await addEndpoint(store, { events: ["goal.achieved"] });
      await store.events.publish([draft({ type: "goal.achieved" })], START, withoutCapacity);
      const published = await store.events.publish(Array(501).fill(draft()), START, withoutCapacity);
      const page = await store.deliveries.waiting(endpoint, BEGINNING, 1000);
      expect(page.map(({ event }) => event)).toEqual(published.slice(0, 500).map(({ id }) => id));
      const [claim] = await dueNow(store, endpoint);
      expect(page[0]).toEqual({ endpoint, event: claim!.event, delivery: claim!.delivery, dueAt: START });
      expect((await store.deliveries.waiting(endpoint, page.at(-1)!, 1000)).map(({ event }) => event)).toEqual([
        published[500]!.id,
      ]);
      expect(await store.deliveries.waiting(endpoint, { dueAt: START, event: "~" }, 10)).toEqual([]);
    });

    it("lists what was handed over and not recorded, and nothing else, page by page", async () => {
      const { store } = await openFresh();
      const [first, second] = [await addEndpoint(store), await addEndpoint(store)];
      await store.events.publish([draft()], START, withoutCapacity);
      const a = (await publishOne(store)).fresh;
      const b = (await publishOne(store)).fresh;
      await store.deliveries.record([again(a[0]!, START)]);
      const expected = [...a.slice(1), ...b].map(({ endpoint, event, delivery, dueAt }) => ({
        endpoint,
        event,
        delivery,
        dueAt,
      }));
      expect(new Set(expected.map(({ endpoint }) => endpoint))).toEqual(new Set([first, second]));
      expect(await store.deliveries.fresh(null, 9)).toEqual(expected);
      expect(await store.deliveries.fresh(expected[0]!, 1)).toEqual([expected[1]]);
      expect(await store.deliveries.fresh(expected[2]!, 9)).toEqual([]);
    });

    it("reads several endpoints in one turn, each as if it were alone", async () => {
      const { store } = await openFresh();
      const types = ["transaction.enriched", "goal.achieved", "carbon.threshold"];
      const ids = await Promise.all(types.map((type) => addEndpoint(store, { events: [type] })));
      for (const [at, type] of types.slice(0, 2).entries()) {
        await store.events.publish(Array(3).fill(draft({ type })), START + at, withoutCapacity);
      }
      const asked = [...ids, "ep_00000000000000000000000000", ids[0]!].map(
        (id, at) => [id, BEGINNING, START + (at % 2), at + 1] as const,
      );
      const alone = [];
      for (const one of asked) alone.push(await store.deliveries.due(...one));
      expect(await Promise.all(asked.map((one) => store.deliveries.due(...one)))).toEqual(alone);
      expect(alone.map(({ claims, nextDueAt }) => [claims.length, nextDueAt])).toEqual([
        [1, START],
        [2, START + 1],
        [0, null],
        [0, null],
        [3, null],
      ]);
    });

    it("has nothing for an endpoint it does not know", async () => {
      const { store } = await openFresh();
      expect(await store.deliveries.due("ep_00000000000000000000000000", BEGINNING, START, 10)).toEqual({
        claims: [],
        nextDueAt: null,
      });
    });
  });
}
