import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, it } from "vitest";
import { silentLog } from "../../../../src/log.ts";
import type { UpkeepStore } from "../../../../src/store/store.ts";
import { Retention } from "../../../../src/upkeep/retention.ts";
import { ManualClock } from "../../../harness/clock.ts";
import {
  addEndpoint,
  answered,
  delivered,
  draft,
  ended,
  withoutCapacity,
  publishOne,
  withCapacity,
  START,
} from "../../fixtures.ts";
import { ask, open, temporaryDirectory } from "../../stores.ts";

const DAY = 86_400_000;
const EVENTS = 3000;
const BATCH = 500;
const ROWS = 200;
const RULES = { delivered: 30 * DAY, failed: 90 * DAY, held: 0, responseBodies: 0, audit: 0, statistics: 0 };

it("prunes at most 200 rows between two commits of publishes, and uses the freed pages again", async () => {
  const dir = temporaryDirectory();
  const clock = new ManualClock();
  const store = await open({ dir, clock });
  await addEndpoint(store);
  for (let batch = 0; batch < EVENTS / BATCH; batch++) {
    const published = await store.events.publish(
      Array.from({ length: BATCH }, () => draft()),
      START,
      withCapacity,
    );
    await store.deliveries.record(published.map(({ fresh }) => delivered(fresh[0]!)));
  }
  const file = new Database(join(dir, "webhookd.db"), { readonly: true });
  const pages = () => file.pragma("page_count", { simple: true }) as number;
  const rowsFrom = file.prepare<[], number>(
    `SELECT (SELECT count(*) FROM event WHERE tenant = 1) + (SELECT count(*) FROM delivery WHERE round = 1)
       + (SELECT count(*) FROM attempt)`,
  );
  rowsFrom.pluck();
  const pagesBefore = pages();

  const log: ("ack" | number)[] = [];
  let removed = 0;
  const pruneEvents: UpkeepStore["pruneEvents"] = async (rules, from) => {
    const before = rowsFrom.get()!;
    const acked = log.filter((entry) => entry === "ack").length;
    const result = await store.upkeep.pruneEvents(rules, from);
    // Each event published meanwhile added two rows, an event and a delivery.
    const added = 2 * (log.filter((entry) => entry === "ack").length - acked);
    const rows = before + added - rowsFrom.get()!;
    log.push(rows);
    removed += result.pruned;
    return result;
  };
  const watched = { ...store, upkeep: { ...store.upkeep, pruneEvents } };
  clock.advance(31 * DAY);
  const { signal } = new AbortController();
  const retention = new Retention({ store: watched, clock, log: silentLog, rules: () => RULES, signal });
  const state = { done: false };
  const pass = retention.pruneEvents().finally(() => (state.done = true));
  while (!state.done) {
    await store.events.publish([draft()], clock.now(), withoutCapacity);
    log.push("ack");
  }
  await pass;

  expect(removed).toBe(EVENTS);
  const steps = log.filter((entry) => entry !== "ack");
  // Rows that a publish added in the same commit may be counted on either side.
  expect(Math.max(...steps)).toBeLessThanOrEqual(ROWS + 2);
  expect(steps.length).toBeGreaterThanOrEqual((EVENTS * 2) / ROWS);
  for (const [at, entry] of log.entries()) {
    if (entry !== "ack" && at > 0) expect(log[at - 1], `no publish before step ${at}`).toBe("ack");
  }

  for (let batch = 0; batch < EVENTS / BATCH; batch++) {
    const published = await store.events.publish(
      Array.from({ length: BATCH }, () => draft()),
      clock.now(),
      withCapacity,
    );
    await store.deliveries.record(published.map(({ fresh }) => delivered(fresh[0]!)));
  }
  expect(pages()).toBeLessThan(pagesBefore * 1.2);
  file.close();
});

it("leaves nothing of an event where bodies of answers are kept for ever, and so are never looked for", async () => {
  const dir = temporaryDirectory();
  const store = await open({ dir, clock: new ManualClock() });
  await addEndpoint(store);
  const [claim] = (await publishOne(store)).fresh;
  const outcome = { ...answered(503), responseBody: Buffer.from("busy") };
  await store.deliveries.record([ended(claim!, { status: "failed" }, { outcome, startedAt: START + DAY })]);
  const noted = () => ask(dir, "SELECT count(*) FROM late_response") + ask(dir, "SELECT count(*) FROM late_attempt");
  expect(noted()).toBe(2);
  const rules = { delivered: START + 90 * DAY, failed: START + 90 * DAY };
  expect(await store.upkeep.pruneEvents(rules, null)).toMatchObject({ pruned: 1 });
  expect(noted()).toBe(0);
});
