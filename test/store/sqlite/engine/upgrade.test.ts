import Database from "better-sqlite3";
import { join } from "node:path";
import { expect, it } from "vitest";
import { FIRST } from "../../../../src/store/sqlite/attempts/attempt-row.ts";
import { MIGRATIONS } from "../../../../src/store/sqlite/engine/schema.ts";
import { noResponse } from "../../../../src/domain/deliveries/attempt.ts";
import type { CensusStep, Store } from "../../../../src/store/store.ts";
import { ManualClock } from "../../../harness/clock.ts";
import {
  addEndpoint,
  again,
  BEGINNING,
  delivered,
  draft,
  dueNow,
  ended,
  EVERYTHING,
  failed,
  noRoom,
  room,
  START,
} from "../../fixtures.ts";
import { ask, open, temporaryDirectory } from "../../stores.ts";

/** Drops the columns of endpoints, keys, URLs and events that a later schema has added. */
function dropNewerFields(db: Database.Database, schema: number): void {
  const before = new Database(":memory:");
  // Some steps edit the schema as text.
  before.unsafeMode();
  for (const { sql } of MIGRATIONS.slice(0, schema)) before.exec(sql);
  for (const index of ["api_key_portal", "endpoint_deleted", "job_endpoint_endpoint", "url_left"])
    db.exec(`DROP INDEX IF EXISTS ${index}`);
  for (const table of ["endpoint", "api_key", "url", "event"]) {
    const columns = (of: Database.Database) => of.pragma(`table_info(${table})`) as { readonly name: string }[];
    const known = columns(before).map(({ name }) => name);
    for (const { name } of columns(db)) if (!known.includes(name)) db.exec(`ALTER TABLE ${table} DROP COLUMN ${name}`);
  }
  before.close();
}

/** The same store as schema 6 has it: nothing says causes, and events are indexed by tenant. */
function toSchema6(dir: string): void {
  const db = new Database(join(dir, "webhookd.db"));
  db.exec(`
    ${["counted", "changed"].map((name) => `DROP TRIGGER failure_${name};`).join("\n")}
    DROP TABLE failure_count;
    DROP INDEX delivery_cause;
    DROP INDEX delivery_failing;
    DROP TABLE event_label;
    DROP TABLE large_data;
    DROP TABLE large_batch;
    ${["cause", "failed_at", "failing_since"].map((column) => `ALTER TABLE delivery DROP COLUMN ${column};`).join("\n")}
    ${["tenant", "tenant_type", "tenant_unmatched", "tenant_test"].map((name) => `DROP INDEX event_${name};`).join("\n")}
    CREATE INDEX event_tenant ON event (tenant);
    DELETE FROM meta WHERE name IN ('typed_from', 'causes_noted');
    PRAGMA user_version = 6;`);
  dropNewerFields(db, 6);
  db.close();
}

const NEWER = ["url", "started_at", "duration_ms", "status_code", "secret_version", "truncated", "body", "way"];

/** The same store as schema 4 has it: each attempt has a row, and an index says what is fresh. */
function toSchema4(dir: string): void {
  toSchema6(dir);
  const db = new Database(join(dir, "webhookd.db"));
  db.exec(`
    INSERT INTO attempt (event, endpoint, number, url, trigger, round, retry, started_at, duration_ms, outcome,
      status_code, error, body_error, secret_version, truncated, body, details, way)
    SELECT ${FIRST} FROM delivery d WHERE d.started_at IS NOT NULL;
    ${NEWER.map((column) => `ALTER TABLE delivery DROP COLUMN ${column};`).join("\n")}
    DELETE FROM meta WHERE name IN ('fresh_from', 'first_responses_forgotten');
    DROP TABLE settled;
    CREATE INDEX delivery_fresh ON delivery (event) WHERE status = 0;
    PRAGMA user_version = 4;`);
  dropNewerFields(db, 4);
  db.close();
}

async function pending(store: Store): Promise<number> {
  let sum = 0;
  for (let from: string | null = null; ;) {
    const step: CensusStep = await store.statistics.census(from);
    sum += step.pending;
    if (step.next === null) return sum;
    from = step.next;
  }
}

/** All that can be seen of events, deliveries and attempts. */
async function shown(store: Store, endpoint: string) {
  const events = (await store.reads.listEvents(EVERYTHING)).data;
  return {
    events: await Promise.all(events.map(({ id }) => store.reads.getEvent(null, id))),
    deliveries: (await store.reads.listDeliveries(EVERYTHING)).data,
    attempts: (await store.reads.listEndpointAttempts({ ...EVERYTHING, endpoint }))!.data,
    ofEvents: await Promise.all(
      events.map(async ({ id }) => (await store.reads.listAttempts({ ...EVERYTHING, event: id }))!.data),
    ),
    pending: await pending(store),
  };
}

it("a store of schema 4 is shown as it was, owes what it owed, and goes on", async () => {
  const dir = temporaryDirectory();
  const clock = new ManualClock();
  const store = await open({ dir, clock });
  const endpoint = await addEndpoint(store);
  const drafts = Array.from({ length: 12 }, () => draft());
  const fresh = (await store.events.publish(drafts, START, room)).map((each) => each.fresh[0]!);
  await store.events.publish(drafts.slice(0, 3), START, noRoom);
  await store.deliveries.record([
    ...fresh.slice(0, 4).map(delivered),
    ended(fresh[4]!, { status: "delivered" }, { startedAt: START + 5000 }),
    ...fresh.slice(5, 8).map(failed),
    ...fresh.slice(8, 10).map((claim) => again(claim, START + 60_000)),
  ]);
  const left = { url: "https://left.example/" };
  await store.deliveries.record([ended(fresh[10]!, { status: "delivered" }, left)]);
  const before = await shown(store, endpoint);
  await store.close();
  toSchema4(dir);

  const migrated = await open({ dir, clock });
  expect(await shown(migrated, endpoint)).toEqual(before);
  const due = await migrated.deliveries.due(endpoint, BEGINNING, START, 100);
  // Three that waited, and one that was fresh.
  expect(due.claims).toHaveLength(4);
  expect(ask(dir, "SELECT count(*) FROM url WHERE (left_at IS NULL) = (name <> 'https://left.example/')")).toBe(2);
  await migrated.deliveries.record(due.claims.map(delivered));
  expect(await pending(migrated)).toBe(2);
});

it("a success that is sent again keeps its first attempt, wherever that was kept", async () => {
  const store = await open({ dir: temporaryDirectory() });
  const endpoint = await addEndpoint(store);
  const [published] = await store.events.publish([draft()], START, room);
  const { id } = published!;
  await store.deliveries.record([delivered(published!.fresh[0]!)]);
  const attempts = async () => (await store.reads.listAttempts({ ...EVERYTHING, event: id }))!.data;
  const [first] = await attempts();
  expect(first).toMatchObject({ number: 1, outcome: "succeeded", trigger: "ladder", round: 1 });
  await store.events.replay(null, id, { force: true }, START + 10);
  expect(await attempts()).toEqual([first]);
  const [claim] = await dueNow(store, endpoint);
  expect(claim).toMatchObject({ number: 2, round: 2 });
  await store.deliveries.record([failed(claim!)]);
  // The same result once more, as after a crash of a sender: it is known.
  await store.deliveries.record([delivered(published!.fresh[0]!)]);
  const both = await attempts();
  expect(both[0]).toEqual(first);
  expect(both.map(({ number, outcome }) => [number, outcome])).toEqual([
    [1, "succeeded"],
    [2, "failed"],
  ]);
  expect(await store.reads.getAttempt(null, first!.id)).toEqual(first);
  expect((await store.reads.listEndpointAttempts({ ...EVERYTHING, endpoint }))!.data).toEqual(both);
});

/** What lists and the report find by causes. */
async function found(store: Store) {
  const filters = [
    { status: "failed" },
    { status: "cancelled" },
    { error: "timeout" },
    { error: "http_status", status: "failed" },
    { type: "goal.achieved" },
    { status: "unmatched" },
    { test: true },
  ] as const;
  const ids = async (list: "listEvents" | "listDeliveries", more: object) =>
    (await store.reads[list]({ ...EVERYTHING, limit: 1000, tenant: "default", ...more })).data.map(({ id }) => id);
  return {
    events: await Promise.all(filters.map((filter) => ids("listEvents", filter))),
    deliveries: await Promise.all(
      filters
        .filter((filter) => !("status" in filter && filter.status === "unmatched"))
        .map((filter) => ids("listDeliveries", filter)),
    ),
    failures: await store.statistics.failures({
      tenant: null,
      since: START - 1,
      from: START - 60_000,
      stepMs: 60_000,
      parts: 5,
      limit: 10,
    }),
  };
}

it("a store of schema 6 is listed and reported as it was, while its causes are noted and afterwards", async () => {
  const dir = temporaryDirectory();
  const clock = new ManualClock();
  const store = await open({ dir, clock });
  const endpoint = await addEndpoint(store);
  await addEndpoint(store, { events: ["goal.achieved"] });
  const drafts = Array.from({ length: 3000 }, (_, at) => draft(at % 30 === 0 ? { type: "goal.achieved" } : {}));
  const all = await store.events.publish(drafts, START, room);
  await store.events.publish([draft({ type: "nobody.wants" }), draft({ testFor: endpoint })], START, room);
  const claims = all.flatMap(({ fresh }) => fresh);
  await store.deliveries.record(
    claims.map((claim, at) => {
      if (at % 50 === 1) return failed(claim);
      if (at % 50 === 2) return again(claim, START + 60_000);
      if (at % 50 === 3) return ended(claim, { status: "failed" }, { outcome: noResponse("timeout", "", 10) });
      return delivered(claim);
    }),
  );
  await store.events.replay(null, claims[51]!.event, {}, START + 10);
  await store.events.cancel(null, claims[52]!.event, null);
  const before = await found(store);
  expect(before.failures!.groups).toHaveLength(2);
  for (const ids of [...before.events, ...before.deliveries]) expect(ids.length).toBeGreaterThan(0);
  await store.close();
  toSchema6(dir);

  const migrated = await open({ dir, clock });
  const early = await found(migrated);
  expect({ ...early, failures: null }).toEqual({ ...before, failures: null });
  // Newest first: it says from where on it is counted.
  expect(early.failures!.since).toBeGreaterThanOrEqual(before.failures!.since);
  for (let step = 0; step < 10; step++) {
    clock.advance(50);
    await migrated.upkeep.condition();
  }
  await migrated.close();
  const db = new Database(join(dir, "webhookd.db"));
  expect(db.pragma("integrity_check", { simple: true })).toBe("ok");
  expect(db.prepare("SELECT count(*) FROM meta WHERE name = 'causes_noted'").pluck().get()).toBe(0);
  db.close();
  const reopened = await open({ dir, clock });
  expect(await found(reopened)).toEqual(before);
  // What comes now is listed with what was there.
  const [later] = await reopened.events.publish([draft({ type: "goal.achieved" })], START + 1000, room);
  const goals = await reopened.reads.listEvents({
    ...EVERYTHING,
    limit: 1000,
    tenant: "default",
    type: "goal.achieved",
  });
  expect(goals.data.map(({ id }) => id)).toEqual([...before.events[4]!, later!.id]);
});

it("the step to schema 7 reads no table from end to end", async () => {
  const dir = temporaryDirectory();
  const store = await open({ dir });
  await addEndpoint(store);
  await store.events.publish([draft(), draft()], START, room);
  await store.close();
  toSchema6(dir);
  const db = new Database(join(dir, "webhookd.db"));
  const statements = MIGRATIONS[6]!.sql.replaceAll(/--.*/g, "").split(/;\s*\n/);
  const asked = statements.map((sql) => sql.trim()).filter((sql) => /^INSERT[^]*SELECT/.test(sql));
  expect(asked).toHaveLength(2);
  for (const sql of asked) {
    const plan = db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all() as { readonly detail: string }[];
    expect(plan.map(({ detail }) => detail).join(), sql).not.toMatch(/SCAN/);
  }
  db.close();
});
