import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { noResponse } from "../../../../src/domain/deliveries/attempt.ts";
import type { DeliveryView, FailureQuery, FailureReport, Store } from "../../../../src/store/store.ts";
import {
  addEndpoint,
  answered,
  delivered,
  draft,
  dueNow,
  ended,
  EVERYTHING,
  withoutCapacity,
  withCapacity,
  START,
} from "../../fixtures.ts";
import type { OpenFresh } from "../../stores.ts";

const MINUTE = 60_000;
const STEP = 20 * MINUTE;
const SINCE = START + 2 * STEP + 7123;
const query: FailureQuery = {
  tenant: null,
  since: SINCE,
  from: START + 35 * MINUTE,
  stepMs: 28 * MINUTE,
  parts: 5,
  limit: 100,
};
/** Steps of whole hours. */
const byHours: FailureQuery = { ...query, from: START + 5 * MINUTE, stepMs: 60 * MINUTE, parts: 3 };

const deeds = fc.array(
  fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({ deed: fc.constant("publish" as const), tenant: fc.boolean(), test: fc.nat(9) }),
    },
    {
      weight: 12,
      arbitrary: fc.record({
        deed: fc.constant("attempt" as const),
        which: fc.nat(),
        comes: fc.constantFrom("delivered", "failed", "again", "timeout", "interrupted"),
      }),
    },
    { weight: 2, arbitrary: fc.record({ deed: fc.constant("replay" as const), which: fc.nat(), force: fc.boolean() }) },
    {
      weight: 1,
      arbitrary: fc.record({ deed: fc.constantFrom("cancel" as const, "erase" as const), which: fc.nat() }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ deed: fc.constantFrom("disable" as const, "enable" as const, "delete" as const) }),
    },
    { weight: 1, arbitrary: fc.record({ deed: fc.constant("prune" as const) }) },
  ),
  { minLength: 10, maxLength: 40 },
);

type Deed = (typeof deeds extends fc.Arbitrary<infer T> ? T : never)[number];

export function failuresOfHistories(openFresh: OpenFresh, histories: number): void {
  it("failures are grouped as the lists of deliveries and attempts have them, whatever was done to them", async () => {
    let grouped = 0;
    await fc.assert(
      fc.asyncProperty(deeds, async (all) => {
        const { store } = await openFresh();
        const endpoints = [
          await addEndpoint(store),
          await addEndpoint(store),
          await addEndpoint(store, { tenant: "other" }),
        ];
        const events: string[] = [];
        for (const [at, deed] of all.entries()) await doIt(store, endpoints, events, deed, START + at * STEP * 0.3);
        const whose = [{}, { tenant: "default" }, { tenant: "other" }, { endpoint: endpoints[0]! }];
        const early = { ...byHours, since: START + 30_000 };
        for (const asked of whose.flatMap((more) => [query, byHours, early].map((one) => ({ ...one, ...more })))) {
          const report = await store.statistics.failures(asked);
          expect(sorted(report!)).toEqual(await modelled(store, asked));
          grouped += report!.total;
        }
      }),
      { numRuns: histories },
    );
    expect(grouped).toBeGreaterThan(0);
  });
}

export function failures(openFresh: OpenFresh): void {
  failuresOfHistories(openFresh, 4);

  describe("failures", () => {
    it("answers the largest groups, and how many there are", async () => {
      const { store } = await openFresh();
      for (let count = 0; count < 3; count++) await addEndpoint(store);
      const [one, two] = await store.events.publish([draft(), draft()], SINCE, withCapacity);
      await store.deliveries.record(
        [...one!.fresh, ...two!.fresh.slice(1, 2)].map((claim) => ended(claim, { status: "failed" })),
      );
      const report = await store.statistics.failures({ ...query, limit: 1 });
      expect(report).toMatchObject({
        total: 3,
        since: SINCE,
        groups: [{ endpoint: one!.fresh[1]!.endpoint, failed: 2 }],
      });
    });

    it("answers groups of one size and one instant in the order of their endpoints, with the newest event as the sample", async () => {
      const { store } = await openFresh();
      const endpoints = [await addEndpoint(store), await addEndpoint(store), await addEndpoint(store)];
      const published = await store.events.publish([draft(), draft()], SINCE, withCapacity);
      const startedAt = SINCE + MINUTE;
      for (const { fresh } of published.toReversed()) {
        const back = fresh.toReversed().map((claim) => ended(claim, { status: "failed" }, { startedAt }));
        await store.deliveries.record(back);
      }
      const { groups } = (await store.statistics.failures(query))!;
      expect(groups.map(({ endpoint }) => endpoint)).toEqual(endpoints.toSorted());
      const samples = groups.map(({ sampleAttempt }) => store.reads.getAttempt(null, sampleAttempt));
      const events = (await Promise.all(samples)).map((attempt) => attempt!.event);
      expect(new Set(events)).toEqual(new Set([published[1]!.id]));
    });

    it("counts from the replay on what fails as it did before it", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store);
      const [one] = await store.events.publish([draft()], SINCE, withCapacity);
      await store.deliveries.record([ended(one!.fresh[0]!, { status: "failed" }, { startedAt: SINCE })]);
      await store.events.replay(null, one!.id, {}, SINCE + STEP);
      expect(await store.statistics.failures(query)).toMatchObject({
        groups: [{ failed: 0, pending: 1, firstAt: SINCE }],
      });
      const [claim] = await dueNow(store, endpoint);
      await store.deliveries.record([ended(claim!, { status: "failed" }, { startedAt: SINCE + STEP })]);
      expect(await store.statistics.failures(query)).toMatchObject({
        groups: [{ failed: 1, pending: 0, firstAt: SINCE + STEP }],
      });
    });

    it("says when the first of those that are left began to fail", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store);
      const since = START + 70 * MINUTE;
      const published = await store.events.publish([draft(), draft(), draft()], since + STEP, withCapacity);
      const at = (place: number) => since + STEP + place * 7000;
      const attempts = published.map(({ fresh }, place) =>
        ended(fresh[0]!, { status: "failed" }, { startedAt: at(place) }),
      );
      await store.deliveries.record(attempts);
      for (const place of [0, 1, 2]) {
        for (const asked of [
          { ...query, since },
          { ...byHours, since: START },
        ]) {
          const report = await store.statistics.failures(asked);
          expect(report!.groups).toMatchObject([{ failed: 3 - place, firstAt: at(place), lastAt: at(2) }]);
        }
        await store.events.replay(null, published[place]!.id, {}, since + 2 * STEP);
        const [claim] = await dueNow(store, endpoint);
        await store.deliveries.record([delivered(claim!)]);
      }
      expect(await store.statistics.failures(query)).toMatchObject({ total: 0, groups: [] });
    });

    it("counts nothing that was pruned", async () => {
      const { store } = await openFresh();
      await addEndpoint(store);
      const old = await store.events.publish([draft(), draft()], SINCE, withCapacity);
      const young = await store.events.publish([draft()], SINCE + STEP, withCapacity);
      const claims = [...old, ...young].flatMap(({ fresh }) => fresh);
      await store.deliveries.record(claims.map((claim) => ended(claim, { status: "failed" })));
      await store.events.replay(null, old[0]!.id, {}, SINCE);
      const early = { ...query, since: START };
      expect(await store.statistics.failures(early)).toMatchObject({ groups: [{ failed: 2, pending: 1 }] });
      const before = SINCE + STEP / 2;
      await store.upkeep.pruneEvents({ delivered: before, failed: before }, null);
      expect(await store.statistics.failures(early)).toMatchObject({ groups: [{ failed: 1, pending: 1 }] });
    });

    it("knows no endpoint of another tenant", async () => {
      const { store } = await openFresh();
      const endpoint = await addEndpoint(store);
      expect(await store.statistics.failures({ ...query, tenant: "other", endpoint })).toBeNull();
    });
  });
}

async function doIt(store: Store, endpoints: readonly string[], events: string[], deed: Deed, now: number) {
  const [first] = endpoints;
  const event = "which" in deed ? events[deed.which % Math.max(events.length, 1)] : undefined;
  if (deed.deed === "publish") {
    const tenant = deed.tenant ? "default" : "other";
    const one = draft({ tenant, ...(deed.test === 0 && { testFor: deed.tenant ? first! : endpoints[2]! }) });
    const published = await store.events.publish(deed.test > 6 ? [one, one, one] : [one], now, withoutCapacity);
    for (const { id, fresh } of published) {
      // Tests are handed over even if memory is full.
      for (const claim of fresh)
        await store.deliveries.record([ended(claim, { status: "failed" }, { startedAt: now })]);
      events.push(id);
    }
  } else if (deed.deed === "attempt") {
    const claims = (await Promise.all(endpoints.map((endpoint) => dueNow(store, endpoint)))).flat();
    const claim = claims[deed.which % Math.max(claims.length, 1)];
    if (claim === undefined) return;
    const later = { status: "pending", retry: claim.retry + 1, dueAt: now + STEP } as const;
    const end = {
      delivered: () => delivered(claim),
      failed: () => ended(claim, { status: "failed" }),
      again: () => ended(claim, later),
      timeout: () => ended(claim, later, { outcome: noResponse("timeout", "", 10) }),
      interrupted: () => ended(claim, { ...later, retry: claim.retry }, { outcome: noResponse("interrupted", "", 1) }),
    }[deed.comes as "failed"]();
    const outcome = deed.which % 3 === 0 && deed.comes === "again" ? answered(500) : end.outcome;
    await store.deliveries.record([{ ...end, outcome, startedAt: now + (deed.which % 97_000) }]);
  } else if (deed.deed === "replay" && event) await store.events.replay(null, event, { force: deed.force }, now);
  else if (deed.deed === "cancel" && event) await store.events.cancel(null, event, null);
  else if (deed.deed === "erase" && event) await store.events.erase(null, event, START);
  else if (deed.deed === "delete") await store.endpoints.delete(null, endpoints[1]!, now);
  else if (deed.deed === "prune")
    await store.upkeep.pruneEvents({ delivered: now - 2 * STEP, failed: now - 4 * STEP }, null);
  else if (deed.deed === "disable" || deed.deed === "enable") {
    const enabled = deed.deed === "enable";
    await store.endpoints.update(null, first!, (settings) => ({ ...settings, enabled }), now);
  }
}

/** Groups the failures that the lists show. */
async function modelled(store: Store, { tenant, endpoint, since, from, stepMs, parts }: FailureQuery) {
  const groups = new Map<string, any>();
  for (const delivery of await everyDelivery(store, tenant)) {
    const { status, test, receivedAt } = delivery;
    if (test || receivedAt < since || (endpoint !== undefined && delivery.endpoint !== endpoint)) continue;
    if (status !== "failed" && status !== "pending" && status !== "held") continue;
    const attempts = (await store.reads.listAttempts({ ...EVERYTHING, delivery: delivery.id }))!.data;
    const last = attempts.findLast(({ outcome }) => outcome !== "interrupted");
    if (last?.outcome !== "failed") continue;
    const { error, statusCode, round, startedAt } = last;
    const first = attempts.find(
      (each) =>
        each.round === round && each.outcome === "failed" && each.error === error && each.statusCode === statusCode,
    )!;
    const key = `${delivery.endpoint} ${error} ${statusCode}`;
    const group = groups.get(key) ?? { failed: 0, pending: 0, held: 0, series: Array(parts).fill(0), all: [] };
    group[status]++;
    group.series[Math.min(Math.max(Math.floor((startedAt - from) / stepMs), 0), parts - 1)]++;
    group.all.push({ first: first.startedAt, last: startedAt, id: last.id });
    groups.set(key, { ...group, endpoint: delivery.endpoint, error, statusCode });
  }
  return [...groups.values()]
    .map(({ all, ...group }) => {
      const lastAt = Math.max(...all.map((one: any) => one.last));
      const latest = all.filter((one: any) => one.last === lastAt).map((one: any) => one.id);
      return [
        `${group.endpoint} ${group.error} ${group.statusCode}`,
        {
          ...group,
          firstAt: Math.min(...all.map((one: any) => one.first)),
          lastAt,
          sampleAttempt: latest.length === 1 ? latest[0] : expect.toBeOneOf(latest),
        },
      ];
    })
    .sort(byKey);
}

function sorted({ groups }: FailureReport) {
  return groups.map((group) => [`${group.endpoint} ${group.error} ${group.statusCode}`, group]).sort(byKey);
}

function byKey(a: readonly unknown[], b: readonly unknown[]): number {
  return String(a[0]) < String(b[0]) ? -1 : 1;
}

async function everyDelivery(store: Store, tenant: string | null): Promise<DeliveryView[]> {
  const found: DeliveryView[] = [];
  for (let cursor: string | undefined; ;) {
    const page = await store.reads.listDeliveries({ ...EVERYTHING, tenant, ...(cursor !== undefined && { cursor }) });
    found.push(...page.data);
    if (page.nextCursor === null) return found;
    cursor = page.nextCursor;
  }
}
