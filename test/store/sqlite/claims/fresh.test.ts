import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Claim } from "../../../../src/domain/deliveries/delivery.ts";
import type { Store } from "../../../../src/store/store.ts";
import { ManualClock } from "../../../harness/clock.ts";
import { addEndpoint, BEGINNING, delivered, draft, withoutCapacity, withCapacity, START } from "../../fixtures.ts";
import { ask, copyOf, open, temporaryDirectory } from "../../stores.ts";

const STEP = 4;
const DAY = 86_400_000;

async function aStore(freshStep = STEP) {
  const dir = temporaryDirectory();
  const clock = new ManualClock();
  const store = await open({ dir, clock, freshStep });
  const endpoint = await addEndpoint(store);
  return { dir, clock, store, endpoint };
}

async function publish(store: Store, events: number, now: number, capacity = withCapacity): Promise<Claim[]> {
  const drafts = Array.from({ length: events }, () => draft());
  return (await store.events.publish(drafts, now, capacity)).flatMap(({ fresh }) => fresh);
}

/** Opens a copy of the files, as a start after a kill does. */
function crashed(dir: string, clock: ManualClock): Promise<Store> {
  return open({ dir: copyOf(dir), clock, freshStep: STEP });
}

async function dueOf(store: Store, endpoint: string, until = Number.MAX_SAFE_INTEGER): Promise<string[]> {
  return (await store.deliveries.due(endpoint, BEGINNING, until, 10_000)).claims.map(({ delivery }) => delivery);
}

describe("the mark below what is fresh", () => {
  it("leaves out nothing of an event that has deliveries on both sides of a step of the start", async () => {
    const { dir, clock, store, endpoint } = await aStore();
    const endpoints = [endpoint, await addEndpoint(store), await addEndpoint(store)];
    // There are three deliveries for each of 200 events. A step takes 500 deliveries, so it ends inside an event.
    const fresh = await publish(store, 200, clock.now());
    const after = await crashed(dir, clock);
    const due = (await Promise.all(endpoints.map((each) => dueOf(after, each)))).flat();
    expect(due.toSorted()).toEqual(fresh.map(({ delivery }) => delivery).toSorted());
  });

  it("moves with what is published, and a start after a kill looks no further back", async () => {
    const { dir, clock, store, endpoint } = await aStore();
    const all: Claim[] = [];
    for (let batch = 0; batch < 20; batch++) {
      clock.advance(1500);
      const claims = await publish(store, 10, clock.now());
      all.push(...claims);
      await store.deliveries.record(claims.slice(batch === 19 ? 8 : 0).map(delivered));
    }
    const owed = all.slice(-10, -2).map(({ delivery }) => delivery);
    const from = ask(dir, "SELECT value FROM meta WHERE name = 'fresh_from'");
    expect(ask(dir, `SELECT count(*) FROM delivery WHERE event >= ${from}`)).toBeLessThan(30);
    expect((await store.deliveries.fresh(null, 500)).map(({ delivery }) => delivery)).toEqual(owed);
    const next = await crashed(dir, clock);
    expect(await dueOf(next, endpoint)).toEqual(owed);
    expect(await next.deliveries.fresh(null, 500)).toEqual([]);
  });

  it("is not held back by one that stays fresh: that waits on disk, and its attempt counts all the same", async () => {
    const { dir, clock, store, endpoint } = await aStore();
    const [slow] = await publish(store, 1, clock.now());
    for (let batch = 0; batch < 20; batch++) {
      clock.advance(1500);
      await store.deliveries.record((await publish(store, 10, clock.now())).map(delivered));
    }
    expect(await store.deliveries.fresh(null, 500)).toEqual([]);
    expect(await dueOf(store, endpoint)).toEqual([slow!.delivery]);
    expect(await dueOf(await crashed(dir, clock), endpoint)).toEqual([slow!.delivery]);
    expect(await store.deliveries.record([delivered(slow!)])).toEqual([{ result: "applied", waiting: null }]);
    expect(await dueOf(store, endpoint)).toEqual([]);
  });

  it("stays below all of many that stay fresh, until each of them waits on disk", async () => {
    const { dir, clock, store, endpoint } = await aStore(300);
    const stuck = (await publish(store, 1200, clock.now())).map(({ delivery }) => delivery);
    for (let batch = 0; batch < 12; batch++) {
      clock.advance(1500);
      await store.deliveries.record((await publish(store, 310, clock.now())).map(delivered));
      if (batch === 5) expect(await dueOf(await crashed(dir, clock), endpoint)).toEqual(stuck);
    }
    expect(await store.deliveries.fresh(null, 500)).toEqual([]);
    expect(await dueOf(store, endpoint)).toEqual(stuck);
  });

  it("has what stays fresh due at once by a clock that was set back, whether it is parked or the process dies", async () => {
    const { dir, clock, store, endpoint } = await aStore();
    const [parked, stuck] = await publish(store, 2, clock.now());
    clock.step("-1h");
    for (let batch = 0; batch < 20; batch++) {
      clock.advance(1500);
      await store.deliveries.record((await publish(store, 10, clock.now())).map(delivered));
    }
    expect(await store.deliveries.fresh(null, 500)).toEqual([]);
    const [waiting] = await store.deliveries.park([parked!], clock.now());
    expect(waiting!.dueAt).toBeLessThanOrEqual(clock.now());
    const both = [parked!.delivery, stuck!.delivery];
    expect(await dueOf(await crashed(dir, clock), endpoint, clock.now())).toEqual(both);
  });

  it("has what is parked at once, or found fresh after a kill, due at once by a clock that was set back", async () => {
    const { dir, clock, store, endpoint } = await aStore();
    const claims = await publish(store, 2, clock.now());
    clock.step("-1h");
    const [waiting] = await store.deliveries.park([claims[0]!], clock.now());
    expect(waiting!.dueAt).toBeLessThanOrEqual(clock.now());
    const due = await dueOf(await crashed(dir, clock), endpoint, clock.now());
    expect(due).toEqual(claims.map(({ delivery }) => delivery));
  });

  it("lies below what is published by a clock that was set back, although all events before were pruned", async () => {
    const { dir, clock, store } = await aStore();
    const before = await publish(store, 3, clock.now());
    await store.deliveries.record(before.map(delivered));
    await store.close();
    const emptied = await open({ dir, clock });
    clock.advance(10 * DAY);
    const old = clock.now() - DAY;
    expect((await emptied.upkeep.pruneEvents({ delivered: old, failed: old }, null)).pruned).toBe(3);
    await emptied.close();
    clock.step(-20 * DAY);
    const next = await open({ dir, clock });
    const [fresh] = await publish(next, 1, clock.now());
    expect((await next.deliveries.fresh(null, 500)).map(({ delivery }) => delivery)).toEqual([fresh!.delivery]);
    expect(await dueOf(await crashed(dir, clock), fresh!.endpoint)).toEqual([fresh!.delivery]);
  });

  it("never passes what is owed, whatever is published, attempted, parked and undone, and whenever the process dies", async () => {
    const action = fc.oneof(
      fc.record({ kind: fc.constant("publish" as const), events: fc.integer({ min: 1, max: 9 }), fits: fc.boolean() }),
      fc.record({ kind: fc.constant("record" as const), some: fc.nat({ max: 100 }) }),
      fc.record({ kind: fc.constant("park" as const), some: fc.nat({ max: 100 }) }),
      fc.record({ kind: fc.constant("pass" as const), ms: fc.nat({ max: 3000 }) }),
      fc.record({ kind: fc.constant("die" as const) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(action, { minLength: 5, maxLength: 40 }), async (actions) => {
        const { dir, clock, endpoint, store: first } = await aStore();
        let store = first;
        let place = dir;
        const owed = new Set<string>();
        let loaded: Claim[] = [];
        for (const each of actions) {
          if (each.kind === "publish") {
            const drafts = Array.from({ length: each.events }, () => draft());
            const published = await store.events.publish(
              drafts,
              clock.now(),
              each.fits ? withCapacity : withoutCapacity,
            );
            loaded.push(...published.flatMap(({ fresh }) => fresh));
            for (const { id } of published) owed.add((await store.reads.getEvent(null, id))!.deliveries[0]!.id);
          } else if (each.kind === "record") {
            const ends = loaded.filter((_, at) => (at * 37) % 100 < each.some);
            await store.deliveries.record(ends.map(delivered));
            for (const { delivery } of ends) owed.delete(delivery);
            loaded = loaded.filter((claim) => !ends.includes(claim));
          } else if (each.kind === "park") {
            const back = loaded.filter((_, at) => (at * 53) % 100 < each.some);
            const waiting = await store.deliveries.park(
              back.map(({ endpoint, event, dueAt }) => ({ endpoint, event, dueAt })),
              clock.now(),
            );
            expect(waiting).toHaveLength(back.length);
            loaded = loaded.filter((claim) => !back.includes(claim));
          } else if (each.kind === "pass") clock.advance(each.ms);
          else {
            place = copyOf(place);
            store = await open({ dir: place, clock, freshStep: STEP });
            loaded = [];
            expect(new Set(await dueOf(store, endpoint))).toEqual(owed);
          }
          const fresh = (await store.deliveries.fresh(null, 500)).map(({ delivery }) => delivery);
          expect(new Set([...fresh, ...(await dueOf(store, endpoint))])).toEqual(owed);
        }
      }),
      { numRuns: 25 },
    );
  });
});

it("a store that was closed looks at nothing", async () => {
  const { dir, clock, store } = await aStore();
  await store.deliveries.record((await publish(store, 3, START)).map(delivered));
  await store.close();
  expect(ask(dir, "SELECT value > (SELECT max(key) FROM event) FROM meta WHERE name = 'fresh_from'")).toBe(1);
  await (await open({ dir, clock })).close();
});
