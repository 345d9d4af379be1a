import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Claim } from "../../../../src/domain/deliveries/delivery.ts";
import { newId } from "../../../../src/domain/id.ts";
import type { Store } from "../../../../src/store/store.ts";
import { ManualClock } from "../../../harness/clock.ts";
import { overwrite, pagesOf } from "../../../harness/pages.ts";
import { addEndpoint, BEGINNING, delivered, draft, withCapacity, START } from "../../fixtures.ts";
import { ask, copyOf, open, temporaryDirectory } from "../../stores.ts";

const STEP = 64;
const EVENTS = 400;

interface Site {
  readonly dir: string;
  readonly clock: ManualClock;
  readonly store: Store;
}

async function aStore(): Promise<Site> {
  const dir = temporaryDirectory();
  const clock = new ManualClock();
  return { dir, clock, store: await open({ dir, clock, freshStep: STEP }) };
}

async function publish(store: Store, events: number): Promise<Claim[]> {
  const drafts = Array.from({ length: events }, () => draft({ data: Buffer.from(`"${"x".repeat(300)}"`) }));
  return (await store.events.publish(drafts, START, withCapacity)).flatMap(({ fresh }) => fresh);
}

/** Opens a copy of the files that has lost all rows of deliveries, as a start after a kill does. */
async function withoutDeliveries({ dir, clock }: Site): Promise<Site> {
  const copy = copyOf(dir);
  const file = join(copy, "webhookd.db");
  for (const { tree, kind, page } of pagesOf(file)) {
    if (tree === "delivery" && kind === "leaf") overwrite(file, page);
  }
  writeFileSync(`${file}-wal`, "a kill leaves one");
  return { dir: copy, clock, store: await open({ dir: copy, clock, freshStep: STEP }) };
}

async function dueAt(store: Store, ...endpoints: string[]): Promise<string[]> {
  const until = Number.MAX_SAFE_INTEGER;
  const pages = await Promise.all(endpoints.map((id) => store.deliveries.due(id, BEGINNING, until, 10_000)));
  return pages.flatMap(({ claims }) => claims.map(({ delivery }) => delivery)).toSorted();
}

const names = (claims: readonly Claim[]) => claims.map(({ delivery }) => delivery).toSorted();

describe("above the mark, a lost page of deliveries", () => {
  it("has nothing sent of what was shadowed", async () => {
    const site = await aStore();
    const { store } = site;
    const endpoint = await addEndpoint(store);
    const shadow = await addEndpoint(store, { enabled: false, whenDisabled: "shadow" });
    const owed = await publish(store, 3);
    const { store: again } = await withoutDeliveries(site);
    await again.endpoints.update(null, shadow, (one) => ({ ...one, enabled: true }), START);
    expect(await dueAt(again, endpoint, shadow)).toEqual(names(owed));
  });

  it("has nothing sent again that was delivered, and everything sent that is owed", async () => {
    const site = await aStore();
    const { store } = site;
    const endpoints = [await addEndpoint(store), await addEndpoint(store), await addEndpoint(store)];
    const [first, ...rest] = await publish(store, EVENTS / 4);
    const owed = [first!, ...rest.filter((_, at) => at % 5 === 0)];
    const ends = rest.filter((_, at) => at % 5 !== 0);
    // Records the results singly and in groups, and out of order.
    for (let at = 0, size = 1; at < ends.length; at += size, size = (size * 7) % 17) {
      await store.deliveries.record(
        ends
          .slice(at, at + size)
          .map(delivered)
          .toReversed(),
      );
    }
    expect(ask(site.dir, "SELECT value FROM meta WHERE name = 'fresh_from'")).toBeLessThan(
      ask(site.dir, "SELECT max(key) FROM event"),
    );
    const mended = await withoutDeliveries(site);
    expect(await mended.store.operations.damage()).toMatchObject({ pages: [{ name: "delivery" }] });
    expect(await dueAt(mended.store, ...endpoints)).toEqual(names(owed));
  });

  it.each(["of an event", "of an endpoint", "by a job"])("has nothing sent that was cancelled %s", async (how) => {
    const site = await aStore();
    const { store } = site;
    const [endpoint, other] = [await addEndpoint(store), await addEndpoint(store)];
    const claims = await publish(store, 10);
    const owed = claims.filter((claim) => claim.endpoint === other);
    const cancelled = claims.filter((claim) => claim.endpoint === endpoint);
    if (how === "of an event") {
      for (const { event } of cancelled) await store.events.cancel(null, event, endpoint);
    } else if (how === "of an endpoint") {
      const set = (enabled: boolean) =>
        store.endpoints.update(null, endpoint, (settings) => ({ ...settings, enabled }), START, "cancel");
      await set(false);
      await set(true);
      // The deliveries are cancelled after the call has returned.
      await expect.poll(async () => (await store.deliveries.fresh(null, 500)).length).toBe(owed.length);
    } else {
      const id = newId("job", START, randomBytes(10));
      const filter = { endpoint, test: false, missing: false };
      const job = { id, tenant: "default", action: "cancel", ratePerSecond: 20, canary: false, reason: "" } as const;
      await store.jobs.add({ ...job, filter }, null, START);
      await store.jobs.step(id, [{ endpoint, limit: 500, check: false }], START);
    }
    expect(await dueAt((await withoutDeliveries(site)).store, endpoint, other)).toEqual(names(owed));
  });

  it("whatever is published, delivered and cancelled, and however often the mark moves", async () => {
    const action = fc.oneof(
      fc.record({ kind: fc.constant("publish" as const), events: fc.integer({ min: 1, max: STEP }) }),
      fc.record({ kind: fc.constant("deliver" as const), some: fc.nat({ max: 100 }) }),
      fc.record({ kind: fc.constant("cancel" as const), which: fc.nat() }),
      fc.record({ kind: fc.constant("pass" as const), ms: fc.nat({ max: 3000 }) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(action, { minLength: 5, maxLength: 30 }), async (actions) => {
        const site = await aStore();
        const { clock, store } = site;
        const endpoint = await addEndpoint(store);
        let owed: Claim[] = [];
        for (const each of actions) {
          if (each.kind === "publish") owed.push(...(await publish(store, each.events)));
          else if (each.kind === "pass") clock.advance(each.ms);
          else {
            const ends = owed.filter((_, at) =>
              each.kind === "deliver" ? (at * 37) % 100 < each.some : at === each.which % owed.length,
            );
            if (each.kind === "deliver") await store.deliveries.record(ends.map(delivered));
            else for (const { event } of ends) await store.events.cancel(null, event, null);
            owed = owed.filter((claim) => !ends.includes(claim));
          }
        }
        expect(await dueAt((await withoutDeliveries(site)).store, endpoint)).toEqual(names(owed));
      }),
      { numRuns: 20 },
    );
  });
});

it("what is settled is forgotten once the mark has passed it, and by a stop", async () => {
  const { dir, clock, store } = await aStore();
  await addEndpoint(store);
  const rows = () => ask(dir, "SELECT count(*) FROM settled");
  let most = 0;
  for (let batch = 0; batch < 20; batch++) {
    clock.advance(1500);
    for (const claim of await publish(store, 4)) await store.deliveries.record([delivered(claim)]);
    most = Math.max(most, rows());
  }
  expect(most).toBeGreaterThan(0);
  expect(most).toBeLessThanOrEqual(8);
  await store.close();
  expect(rows()).toBe(0);
});
