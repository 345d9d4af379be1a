import { describe, expect, it } from "vitest";
import type { NewJob } from "../../src/domain/deliveries/job.ts";
import type { NewApiKey } from "../../src/domain/caller.ts";
import { silentLog, type Log } from "../../src/log.ts";
import type { Store, UpkeepStore } from "../../src/store/store.ts";
import { Retention, type RetentionParts, type RetentionRules } from "../../src/upkeep/retention.ts";
import { ManualClock } from "../harness/clock.ts";
import {
  addEndpoint,
  delivered,
  draft,
  EVERYTHING,
  failed,
  publishOne,
  withCapacity,
  START,
} from "../store/fixtures.ts";
import { openSqlite } from "../store/stores.ts";

const DAY = 86_400_000;
const RULES: RetentionRules = {
  delivered: 30 * DAY,
  failed: 90 * DAY,
  held: 7 * DAY,
  responseBodies: 7 * DAY,
  audit: 365 * DAY,
  statistics: 8 * DAY,
};

type Verbs = RetentionParts["store"];

const KEY: NewApiKey = {
  id: "key_00000000000000000000000001",
  name: "portal",
  hash: Buffer.alloc(32, 7),
  scopes: ["read"],
  tenant: "acme",
  expiresAt: START,
};
const JOB: NewJob = {
  id: "job_00000000000000000000000001",
  tenant: "default",
  action: "replay",
  filter: { test: false, missing: false },
  ratePerSecond: 20,
  canary: false,
  reason: "",
};

/** Adds a key and a job that have ended. */
async function addEnded(store: Store): Promise<void> {
  await store.keys.add(KEY, START);
  await store.jobs.add(JOB, null, START);
  await store.jobs.close(JOB.id, START);
}

function retentionOf(
  store: Verbs,
  clock: ManualClock,
  { rules = RULES, log = silentLog }: { rules?: RetentionRules; log?: Log } = {},
) {
  const ending = new AbortController();
  return { ending, retention: new Retention({ store, clock, log, rules: () => rules, signal: ending.signal }) };
}

describe("a pass of retention", () => {
  it("removes events by what became of them, and says how many", async () => {
    const harness = await openSqlite();
    const { store, clock } = harness;
    await addEndpoint(store);
    const published = await store.events.publish(
      Array.from({ length: 700 }, () => draft()),
      START,
      withCapacity,
    );
    await store.deliveries.record(
      published.map(({ fresh }, index) => (index % 100 === 0 ? failed : delivered)(fresh[0]!)),
    );
    const lines: object[] = [];
    const log: Log = { ...silentLog, info: (fields) => void lines.push(fields) };
    const { retention } = retentionOf(store, clock, { log });
    const left = async () =>
      (await Promise.all(published.map(({ id }) => store.reads.getEvent(null, id)))).filter(Boolean).length;

    await retention.pruneEvents();
    expect(await left()).toBe(700);
    clock.advance(31 * DAY);
    await retention.pruneEvents();
    expect(await left()).toBe(7);
    clock.advance(60 * DAY);
    await retention.pruneEvents();
    expect(await left()).toBe(0);
    expect(lines).toEqual([{ events: 693 }, { events: 7 }]);
  });

  it("keeps for ever what has the period 0", async () => {
    const { store, clock } = await openSqlite();
    const never = { delivered: 0, failed: 0, held: 0, responseBodies: 0, audit: 0, statistics: 0 };
    const { retention } = retentionOf(store, clock, { rules: never });
    await addEndpoint(store);
    const done = await publishOne(store);
    await store.deliveries.record([delivered(done.fresh[0]!)]);
    await addEndpoint(store, { tenant: "held", enabled: false });
    const held = await publishOne(store, { tenant: "held" });
    await addEnded(store);
    const deleted = await addEndpoint(store);
    await store.endpoints.delete(null, deleted, START);
    clock.advance(10_000 * DAY);
    await retention.pruneEvents();
    await retention.expireHeld();
    await retention.forgetResponses();
    await retention.pruneAudit();
    await retention.pruneKeys();
    await retention.pruneJobs();
    await retention.pruneEndpoints();
    expect(await store.endpoints.tenantOf(deleted)).toBe("default");
    expect(await store.keys.get(KEY.id)).not.toBeNull();
    expect(await store.jobs.get(null, JOB.id)).not.toBeNull();
    const attempt = (await store.reads.getEvent(null, done.id))!.deliveries[0]!.lastAttempt!;
    expect(Buffer.from(attempt.responseBody).toString()).toBe("answer");
    expect((await store.reads.getEvent(null, held.id))!.status).toBe("held");
  });

  it("removes keys that stopped working as the audit log does, and jobs that are over as failures", async () => {
    const { store, clock } = await openSqlite();
    const { retention } = retentionOf(store, clock);
    await addEnded(store);
    const left = async () => {
      await retention.pruneKeys();
      await retention.pruneJobs();
      return [await store.keys.get(KEY.id), await store.jobs.get(null, JOB.id)].map((found) => found !== null);
    };
    clock.advance(90 * DAY);
    expect(await left()).toEqual([true, true]);
    clock.advance(1);
    expect(await left()).toEqual([true, false]);
    clock.advance(275 * DAY);
    expect(await left()).toEqual([false, false]);
    expect((await store.keys.list(EVERYTHING)).data.map(({ name }) => name)).toEqual(["admin"]);
  });

  it("removes deleted endpoints once their counters are gone too", async () => {
    const { store, clock } = await openSqlite();
    const { retention } = retentionOf(store, clock);
    const id = await addEndpoint(store);
    await store.endpoints.delete(null, id, START);
    clock.advance(8 * DAY);
    await retention.pruneEndpoints();
    expect(await store.endpoints.tenantOf(id)).toBe("default");
    clock.advance(1);
    await retention.pruneEndpoints();
    expect(await store.endpoints.tenantOf(id)).toBeNull();
  });

  it("lets what was held for too long fail, and warns of it once", async () => {
    const { store, clock } = await openSqlite();
    const warnings: object[] = [];
    const { retention } = retentionOf(store, clock, {
      log: { ...silentLog, warn: (fields) => void warnings.push(fields) },
    });
    await addEndpoint(store, { enabled: false });
    const { id } = await publishOne(store);
    clock.advance(7 * DAY);
    await retention.expireHeld();
    expect((await store.reads.getEvent(null, id))!.status).toBe("held");
    clock.advance(1);
    await retention.expireHeld();
    await retention.expireHeld();
    expect((await store.reads.getEvent(null, id))!.status).toBe("failed");
    expect(warnings).toEqual([{ deliveries: 1 }]);
  });
});

describe("the steps of a pass", () => {
  /**
   * Returns a store on which every step takes five milliseconds, and each of the first `steps` - 1 leaves work for
   * another.
   */
  function slowStore(clock: ManualClock, steps: number) {
    const calls: (string | null)[] = [];
    const pruneEvents: UpkeepStore["pruneEvents"] = async (_rules, from) => {
      calls.push(from);
      clock.advance(5);
      return { pruned: 1, next: calls.length < steps ? String(calls.length) : null };
    };
    return { calls, store: { upkeep: { pruneEvents } } as object as Verbs };
  }

  const turn = () => new Promise((resolve) => setImmediate(resolve));

  it("rest eight times as long as they work, and go on where they were", async () => {
    const clock = new ManualClock();
    const { calls, store } = slowStore(clock, 3);
    const pass = retentionOf(store, clock).retention.pruneEvents();
    for (const step of [1, 2]) {
      await turn();
      clock.advance(39);
      await turn();
      expect(calls).toHaveLength(step);
      clock.advance(1);
      await turn();
    }
    await pass;
    expect(calls).toEqual([null, "1", "2"]);
  });

  it("begin where the last pass ended, and once a day at the oldest event", async () => {
    const clock = new ManualClock();
    const { calls, store } = slowStore(clock, 2);
    const { retention } = retentionOf(store, clock);
    const first = retention.pruneEvents();
    await turn();
    clock.advance(40);
    await first;
    clock.advance("1h");
    await retention.pruneEvents();
    clock.advance(DAY);
    await retention.pruneEvents();
    expect(calls).toEqual([null, "1", "1", null]);
  });

  it("end when the daemon stops", async () => {
    const clock = new ManualClock();
    const { calls, store } = slowStore(clock, 9);
    const { ending, retention } = retentionOf(store, clock);
    const pass = retention.pruneEvents();
    await turn();
    ending.abort();
    clock.advance(40);
    await pass;
    expect(calls).toHaveLength(1);
  });
});
