import { describe, expect, it } from "vitest";
import type { Stats, StatsQuery, Store } from "../../../../src/store/store.ts";
import {
  addEndpoint,
  again,
  answered,
  delivered,
  draft,
  ended,
  failed,
  fullAt,
  publishOne,
  withCapacity,
  START,
  timedOut,
} from "../../fixtures.ts";
import type { OpenFresh } from "../../stores.ts";

const MINUTE = 60_000;
const QUERY: StatsQuery = { tenant: null, since: START, until: START + 10 * MINUTE, stepMs: 5 * MINUTE };

async function stats(store: Store, more: Partial<StatsQuery> = {}): Promise<Stats> {
  return (await store.statistics.period({ ...QUERY, ...more }))!;
}

async function attemptsOf(store: Store, more: Partial<StatsQuery> = {}) {
  const { succeeded, interrupted, failed: failures } = (await stats(store, more)).attempts;
  return { succeeded, interrupted, failed: Object.fromEntries(failures) };
}

const NONE = { succeeded: 0, interrupted: 0, failed: {} };

export function statistics(openFresh: OpenFresh): void {
  describe("counters", () => {
    it("say what was published, what attempts came to and what became of deliveries", async () => {
      const { store } = await openFresh();
      await addEndpoint(store, { events: ["budget.exceeded", "goal.achieved"] });
      const [one, two, three] = await store.events.publish(
        [draft(), draft(), draft({ type: "goal.achieved" })],
        START,
        withCapacity,
      );
      await store.deliveries.record([
        delivered(one!.fresh[0]!),
        ended(two!.fresh[0]!, { status: "failed" }, { outcome: timedOut(), startedAt: START + 700 }),
        again(three!.fresh[0]!, START + 30_000),
      ]);
      const { attempts, published } = await stats(store);
      expect(Object.fromEntries(published)).toEqual({ "budget.exceeded": 2, "goal.achieved": 1 });
      expect([attempts.succeeded, attempts.delivered]).toEqual([1, 1]);
      expect(Object.fromEntries(attempts.failed)).toEqual({ timeout: 1, http_status: 1 });
      expect(Object.fromEntries(attempts.deliveriesFailed)).toEqual({ timeout: 1 });
      expect(attempts.durations.reduce((a, b) => a + b)).toBe(3);
      expect(attempts.delays.reduce((a, b) => a + b)).toBe(3);
      const { attempts: since } = await store.statistics.sinceStart();
      expect([since.durationMs, since.delayMs]).toEqual([10_024, 700]);
    });

    it("are of one endpoint, one tenant or all", async () => {
      const { store } = await openFresh();
      const acme = await addEndpoint(store, { tenant: "acme" });
      const globex = await addEndpoint(store, { tenant: "globex" });
      await store.deliveries.record([delivered((await publishOne(store, { tenant: "acme" })).fresh[0]!)]);
      await store.deliveries.record([failed((await publishOne(store, { tenant: "globex" })).fresh[0]!)]);
      const [ok, bad] = [
        { ...NONE, succeeded: 1 },
        { ...NONE, failed: { http_status: 1 } },
      ];
      expect(await attemptsOf(store)).toEqual({ ...ok, ...bad, succeeded: 1 });
      expect(await attemptsOf(store, { tenant: "acme" })).toEqual(ok);
      expect(await attemptsOf(store, { tenant: "globex", endpoint: globex })).toEqual(bad);
      expect(await attemptsOf(store, { tenant: "initech" })).toEqual(NONE);
      expect(await store.statistics.period({ ...QUERY, tenant: "globex", endpoint: acme })).toBeNull();
      await store.endpoints.delete(null, acme, START);
      expect(await attemptsOf(store, { endpoint: acme })).toEqual(ok);
    });

    it("are of several endpoints at once, as of each alone", async () => {
      const { store } = await openFresh();
      const [acme, globex, quiet] = [
        await addEndpoint(store, { tenant: "acme" }),
        await addEndpoint(store, { tenant: "globex" }),
        await addEndpoint(store, { tenant: "quiet" }),
      ];
      await store.deliveries.record([delivered((await publishOne(store, { tenant: "acme" })).fresh[0]!)]);
      await store.statistics.save();
      await store.deliveries.record([failed((await publishOne(store, { tenant: "globex" })).fresh[0]!)]);
      const { tenant: _, ...period } = QUERY;
      const unknown = `ep_${"0".repeat(26)}`;
      const all = await store.statistics.ofEndpoints({ ...period, endpoints: [globex, quiet, unknown, acme] });
      expect([...all.keys()].toSorted()).toEqual([acme, globex, quiet].toSorted());
      const numbers = ({ attempts, series }: Stats) => [attempts, ...series.map((part) => part.attempts)];
      for (const endpoint of [acme, globex, quiet]) {
        const pairs = numbers(all.get(endpoint)!).map((tally) => tally.toPairs());
        expect(pairs).toEqual(numbers(await stats(store, { endpoint })).map((tally) => tally.toPairs()));
      }
      expect([all.get(acme)!.attempts.succeeded, all.get(globex)!.attempts.succeeded]).toEqual([1, 0]);
    });

    it("leave out tests, duplicates and what was refused, and set apart what we interrupted", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store);
      const test = await publishOne(store, { testFor: endpoint });
      await store.deliveries.record([delivered(test.fresh[0]!)]);
      const idempotency = { key: "k", fingerprint: Buffer.alloc(32), expiresAt: START + MINUTE };
      const { fresh } = await publishOne(store, { idempotency });
      await publishOne(store, { idempotency });
      const outcome = answered(200, { outcome: "interrupted", error: "interrupted", statusCode: null });
      await store.deliveries.record([ended(fresh[0]!, { status: "pending", retry: 0, dueAt: START }, { outcome })]);
      const { attempts, published } = await stats(store);
      expect([...published]).toEqual([["budget.exceeded", 1]]);
      expect([attempts.succeeded, attempts.interrupted, attempts.delivered]).toEqual([0, 1, 0]);
    });

    it("count deliveries that were held for too long as failed", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store, { enabled: false });
      await publishOne(store);
      expect(await store.upkeep.expireHeld(START + MINUTE, START + MINUTE)).toBe(1);
      const { attempts } = await stats(store, { endpoint });
      expect(Object.fromEntries(attempts.deliveriesFailed)).toEqual({ held_expired: 1 });
    });

    it("stand in the minute in which they were counted", async () => {
      const { store, clock } = await openFresh();
      await publishOne(store);
      clock.advance(6 * MINUTE);
      await publishOne(store);
      await publishOne(store);
      const { series, published } = await stats(store);
      expect(series.map((part) => part.published.get("budget.exceeded"))).toEqual([1, 2]);
      expect(published.get("budget.exceeded")).toBe(3);
      expect((await stats(store, { since: START + 5 * MINUTE })).published.get("budget.exceeded")).toBe(2);
      expect((await stats(store, { until: START + 5 * MINUTE })).published.get("budget.exceeded")).toBe(1);
    });

    it("go on after a restart, in the same minute too", async () => {
      const harness = await openFresh();
      await addEndpoint(harness.store);
      await harness.store.deliveries.record([delivered((await publishOne(harness.store)).fresh[0]!)]);
      const store = await harness.reopen();
      await store.deliveries.record([delivered((await publishOne(store)).fresh[0]!)]);
      expect(await attemptsOf(store)).toEqual({ ...NONE, succeeded: 2 });
      await store.statistics.save();
      expect(await attemptsOf(await harness.reopen())).toEqual({ ...NONE, succeeded: 2 });
    });

    it("are written with the first commit of each second, so that a crash forgets one second's at most", async () => {
      const harness = await openFresh();
      const count = async (store: Store) => (await stats(store)).published.get("budget.exceeded") ?? 0;
      await publishOne(harness.store);
      harness.clock.advance(1000);
      await publishOne(harness.store);
      await publishOne(harness.store);
      const store = await harness.crash();
      expect(await count(store)).toBe(1);
      await publishOne(store);
      harness.clock.advance(1000);
      await store.statistics.save();
      expect(await count(await harness.crash())).toBe(2);
    });

    it("survive a clock that is set back", async () => {
      const { store, clock } = await openFresh();
      await publishOne(store);
      clock.advance(MINUTE);
      await publishOne(store);
      clock.step(-MINUTE);
      await publishOne(store);
      clock.advance(5 * MINUTE);
      await store.statistics.save();
      const { series } = await stats(store, { stepMs: MINUTE });
      expect(series.map((part) => part.published.get("budget.exceeded") ?? 0).slice(0, 3)).toEqual([2, 1, 0]);
    });

    it("stand beside a census of what there is, taken 500 rows at a time", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store);
      const disabled = await addEndpoint(store, { tenant: "held", enabled: false });
      await addEndpoint(store, { tenant: "gone" });
      const gone = await addEndpoint(store, { tenant: "gone" });
      await store.endpoints.delete(null, gone, START);
      const published = await store.events.publish(
        Array.from({ length: 1003 }, () => draft()),
        START,
        fullAt([disabled, gone]),
      );
      await store.deliveries.record([
        ...published.slice(0, 502).map(({ fresh }) => failed(fresh[0]!)),
        again(published[502]!.fresh[0]!, START + 1000),
        again(published[504]!.fresh[0]!, START + 10 * MINUTE),
        again(published[505]!.fresh[0]!, START + 10 * MINUTE),
        again(published[506]!.fresh[0]!, START + 2 * 60 * MINUTE),
        delivered(published[503]!.fresh[0]!),
      ]);
      await store.deliveries.record([failed((await publishOne(store, { testFor: endpoint })).fresh[0]!)]);
      await publishOne(store, { tenant: "held" });
      for (const testFor of [endpoint, disabled]) await publishOne(store, { testFor });
      const counts = { pending: 0, held: 0, failed: 0, enabled: 0, disabled: 0 };
      const due: [minute: number, count: number][] = [];
      let steps = 0;
      for (let from: string | null = null; ; steps++) {
        const step = await store.statistics.census(from);
        for (const name of ["pending", "held", "failed", "enabled", "disabled"] as const) {
          counts[name] += step[name];
          expect(step[name]).toBeLessThanOrEqual(500);
        }
        due.push(...step.due);
        if ((from = step.next) === null) break;
      }
      // Only retries due within this hour count.
      expect(due).toEqual([
        [START / MINUTE, 1],
        [START / MINUTE + 10, 2],
      ]);
      expect(counts).toEqual({ pending: 500, held: 1, failed: 502, enabled: 2, disabled: 1 });
      expect(steps).toBeLessThan(8);
    });

    it("name the endpoints that fail again and again, the worst first", async () => {
      const { store } = await openFresh();
      const fail = async (tenant: string, times: number, end = failed) => {
        const published = await store.events.publish(
          Array.from({ length: times }, () => draft({ tenant })),
          START,
          withCapacity,
        );
        await store.deliveries.record(published.map(({ fresh }) => end(fresh[0]!)));
      };
      const names = async (now: number, limit = 10, tenant: string | null = null) =>
        (await store.statistics.failing(tenant, now, limit)).map(({ endpoint }) => endpoint);
      const [few, many, more, well] = await Promise.all(
        ["few", "many", "more", "well"].map((tenant) => addEndpoint(store, { tenant })),
      );
      await fail("few", 1);
      await fail("many", 20);
      await fail("more", 21);
      await fail("well", 30);
      await fail("well", 1, delivered);
      expect(await names(START + MINUTE)).toEqual([more, many]);
      expect(await names(START + 6 * MINUTE)).toEqual([more, many, few]);
      expect(await names(START + MINUTE, 1)).toEqual([more]);
      expect(await names(START + MINUTE, 1, "many")).toEqual([many]);
      expect(await names(START + MINUTE, 1, "nobody")).toEqual([]);
      await store.endpoints.delete(null, more!, START);
      expect(await names(START + MINUTE)).toEqual([many]);
      expect(well).toBeDefined();
    });

    it("name after a restart who was failing, before another attempt is made", async () => {
      const harness = await openFresh();
      const { store } = harness;
      const [endpoint, deleted] = [await addEndpoint(store), await addEndpoint(store, { tenant: "gone" })];
      for (const tenant of ["default", "gone"]) {
        const drafts = Array.from({ length: 20 }, () => draft({ tenant }));
        const published = await store.events.publish(drafts, START, withCapacity);
        await store.deliveries.record(published.map(({ fresh }) => failed(fresh[0]!)));
      }
      await store.endpoints.delete(null, deleted, START);
      const again = await harness.reopen();
      expect(await again.statistics.failing(null, START, 9)).toEqual([
        { endpoint, enabled: true, consecutiveFailures: 20, failingSince: START + 12, lastFailureAt: START + 12 },
      ]);
    });

    it("are pruned by age, 500 rows at a time", async () => {
      const { store, clock } = await openFresh();
      for (let minute = 0; minute < 300; minute++) {
        await publishOne(store);
        clock.advance(MINUTE);
      }
      await store.statistics.save();
      expect(await store.statistics.prune(START)).toBe(0);
      expect(await store.statistics.prune(START + 299 * MINUTE)).toBe(500);
      expect(await store.statistics.prune(START + 299 * MINUTE)).toBe(98);
      const all = await stats(store, { until: START + 300 * MINUTE });
      expect(all.published.get("budget.exceeded")).toBe(1);
    });
  });
}
