import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { noResponse } from "../../../../src/domain/deliveries/attempt.ts";
import type { Claim } from "../../../../src/domain/deliveries/delivery.ts";
import { CauseList } from "../../../../src/store/sqlite/attempts/causes.ts";
import { openFile } from "../../../../src/store/sqlite/engine/open-database.ts";
import type { Reading } from "../../../../src/store/sqlite/engine/page.ts";
import { answersFrom, namesIn, rowsIn } from "../../../../src/store/sqlite/reads/answers.ts";
import type { DeliveryQuery, EventQuery, Page, Store } from "../../../../src/store/store.ts";
import {
  addEndpoint,
  again,
  delivered,
  draft,
  ended,
  failed,
  withoutCapacity,
  withCapacity,
  START,
} from "../../fixtures.ts";
import { open, temporaryDirectory } from "../../stores.ts";
import { Cursors } from "../../../../src/store/lists/cursors.ts";

const PARAMETERS = {
  key: 0,
  minor: 0,
  last: 0,
  end: 0,
  limit: 0,
  tenant: 0,
  endpoint: 0,
  event: 0,
  num: 0,
  type: 0,
  cause: 0,
  low: 0,
  high: 0,
  after: 0,
};
const OTHERS = 3000;
const OWN = 12;

type Filter = Pick<DeliveryQuery & EventQuery, "status" | "error" | "statusCode" | "type" | "since">;

const FILTERS: Filter[] = [
  {},
  { status: "failed" },
  { status: "pending" },
  { status: "held" },
  { status: ["failed", "pending", "held"] },
  { error: "http_status" },
  { statusCode: { least: 500, most: 599 } },
  { status: "failed", error: "http_status" },
  { status: "pending", error: "http_status" },
  { status: "failed", type: "budget.exceeded" },
  { status: "failed", since: START },
  { status: "cancelled" },
  { status: "cancelled", type: "budget.exceeded" },
  { type: "budget.exceeded" },
  { type: "budget.exceeded", error: "http_status" },
];

/** Makes a store with rows of every kind for two tenants. The rows of one lie below thousands of the other's. */
async function filled(others = OTHERS): Promise<string> {
  const dir = temporaryDirectory();
  const store = await open({ dir });
  for (const tenant of ["small", "large"]) {
    for (let index = 0; index < 5; index++) await addEndpoint(store, { tenant, events: ["budget.exceeded"] });
    await addEndpoint(store, { tenant, events: ["budget.exceeded"], enabled: false });
  }
  for (const [tenant, count] of [
    ["small", OWN],
    ["large", others],
  ] as const) {
    await publish(store, tenant, count, [failed, (claim) => again(claim, START + 1000), delivered]);
    await store.events.publish(Array(count / 3).fill(draft({ tenant })), START, withoutCapacity);
    const [withdrawn] = await store.events.publish([draft({ tenant })], START, withoutCapacity);
    await store.events.cancel(tenant, withdrawn!.id, null);
  }
  await store.close();
  return dir;
}

async function publish(store: Store, tenant: string, count: number, ends: (typeof failed)[]): Promise<void> {
  for (let left = count; left > 0; left -= 300) {
    const drafts = Array(Math.min(left, 300)).fill(draft({ tenant }));
    const publications = await store.events.publish(drafts, START, withCapacity);
    const claims = publications.map(({ fresh }, at) => fresh.map((claim) => ends[at % ends.length]!(claim)));
    await store.deliveries.record(claims.flat());
  }
}

/** Opens the file for reading, and records every statement that lists prepare. */
function answersOf(dir: string) {
  const db = openFile(join(dir, "webhookd.db"), { timeout: 50, readonly: true });
  const prepared = new Set<string>();
  let looked = 0;
  // Counts the queries for the causes of an endpoint's failures.
  let asked = 0;
  const prepare = db.prepare.bind(db);
  db.prepare = ((sql: string) => {
    prepared.add(sql);
    const statement = prepare(sql);
    if (sql.startsWith("WITH RECURSIVE found (number)")) {
      const all = statement.all.bind(statement);
      statement.all = (...bound: unknown[]) => {
        asked++;
        return all(...bound);
      };
    }
    // Lists read each row that they look at with such a statement.
    if (!/^SELECT (d\.endpoint|e\.key), .* WHERE (d\.event|e\.key) = \?/s.test(sql)) return statement;
    const get = statement.get.bind(statement);
    statement.get = (...keys: unknown[]) => {
      looked++;
      return get(...keys);
    };
    return statement;
  }) as typeof db.prepare;
  const means = { cursors: new Cursors(() => Buffer.alloc(9)), monotonic: () => 0 };
  const answers = answersFrom(db, rowsIn(db, namesIn(db)), means);
  // Later statements are prepared for a list.
  prepared.clear();
  const planOf = (sql: string) =>
    (prepare(`EXPLAIN QUERY PLAN ${sql}`).all(PARAMETERS) as { detail: string }[]).map(({ detail }) => detail);
  return { db, answers, prepared, planOf, lookedAt: () => looked, asked: () => asked };
}

function readWhole<T>(reading: Reading<Page<T>, unknown>): { page: Page<T>; slices: number } {
  for (let slices = 1; ; slices++) {
    const step = reading.next();
    if (step.done === true) return { page: step.value, slices };
  }
}

it("a page of a small tenant's is found at once, whatever lies beside it", async () => {
  const { db, answers, prepared, planOf } = answersOf(await filled());
  for (const filter of FILTERS) {
    for (const order of ["newest", "oldest"] as const) {
      const query = { tenant: "small", limit: 20, order, ...filter };
      for (const [name, list] of Object.entries({ events: answers.listEvents, deliveries: answers.listDeliveries })) {
        const reading = list(query) as Reading<Page<{ tenant: string }>, unknown>;
        const { page, slices } = readWhole(reading);
        const label = `${name}, ${order}: ${JSON.stringify(filter)}`;
        // Held deliveries lie among the pending ones.
        expect(slices, label).toBeLessThanOrEqual(filter.status === "pending" || filter.status === "held" ? 2 : 1);
        expect(page.data.length, label).toBeGreaterThan(0);
        expect(
          page.data.every(({ tenant }) => tenant === "small"),
          label,
        ).toBe(true);
      }
    }
  }
  const walks = [...prepared].filter((sql) => /LIMIT \+?@limit/.test(sql));
  expect(walks.length).toBeGreaterThan(10);
  for (const sql of walks) {
    const plan = planOf(sql).join("\n");
    // Only the few open deliveries are sorted.
    const sorted = sql.includes("UNION ALL") && !sql.startsWith("SELECT count");
    expect(plan.includes("TEMP B-TREE"), `${sql}\n${plan}`).toBe(sorted);
    expect(plan, sql).not.toMatch(/^SCAN (event|delivery|attempt|e|d|a)\b(?!.*USING)/m);
  }
  db.close();
});

it("a tenant's pages, one after the other, are what is its own among all", async () => {
  const { db, answers } = answersOf(await filled(300));
  for (const filter of FILTERS.slice(1)) {
    for (const order of ["newest", "oldest"] as const) {
      const all = readWhole(answers.listDeliveries({ tenant: null, limit: 100_000, order, ...filter })).page.data;
      const own = all.filter(({ tenant }) => tenant === "small").map(({ id }) => id);
      const seen: string[] = [];
      for (let cursor: string | undefined; ;) {
        const query = { tenant: "small", limit: 7, order, ...filter, ...(cursor !== undefined && { cursor }) };
        const { page } = readWhole(answers.listDeliveries(query));
        seen.push(...page.data.map(({ id }) => id));
        if (page.nextCursor === null) break;
        cursor = page.nextCursor;
      }
      expect(seen, `${order}: ${JSON.stringify(filter)}`).toEqual(own);
    }
  }
  db.close();
});

it("which causes there are is told without a walk over the rows that have them", async () => {
  const { db, planOf } = answersOf(await filled(30));
  const prepare = vi.spyOn(db, "prepare");
  const causes = new CauseList(db);
  expect(causes.groups(null).length).toBeGreaterThan(causes.groups(1).length);
  const all = prepare.mock.calls.map(([sql]) => sql).find((sql) => sql.includes("@after"))!;
  const seeks = planOf(all).filter((step) => step.includes("delivery_cause"));
  const places = seeks.map((step) => step.replace(/.*delivery_cause /, ""));
  expect(places.toSorted()).toEqual(["(endpoint=? AND cause>?)", "(endpoint>?)"]);
  db.close();
});

/** Filters that each match some hundreds of rows of every tenant. */
const RESULTS = {
  delivered: { status: "delivered" },
  failed: { status: "failed" },
  pending: { status: "pending" },
  held: { status: "held" },
  cancelled: { status: "cancelled" },
  timeout: { error: "timeout" },
  "5xx": { statusCode: { least: 500, most: 599 } },
  type: { type: "budget.exceeded" },
  "rare type": { type: "goal.achieved" },
  endpoint: {},
  "last hour": { since: START - 1 },
} as const;
type Kind = keyof typeof RESULTS;
const LIMIT = 20;
/** The number of deliveries of the rare type. */
const RARE = 300;
/** The number of endpoints of each tenant. */
const ENDPOINTS = 4;

/** Fills a store with the same rows for two tenants, and returns each tenant's endpoint with the most deliveries. */
async function even(dir: string): Promise<Record<string, string>> {
  const store = await open({ dir });
  const first: Record<string, string> = {};
  const timeout = (claim: Claim) => ended(claim, { status: "failed" }, { outcome: noResponse("timeout", "", 10) });
  const retried = (claim: Claim) => again(claim, START + 1000);
  for (const tenant of ["one", "other"]) {
    for (const events of [["budget.exceeded", "goal.achieved"], ["budget.exceeded"], ["goal.achieved"]] as const) {
      const id = await addEndpoint(store, { tenant, events: [...events] });
      first[tenant] ??= id;
    }
    await addEndpoint(store, { tenant, events: ["account.linked"], enabled: false });
  }
  for (let round = 0; round < 10; round++) {
    for (const tenant of ["one", "other"]) {
      await publish(store, tenant, 300, [...Array<typeof delivered>(20).fill(delivered), failed, timeout, retried]);
      await store.events.publish(Array(30).fill(draft({ tenant, type: "account.linked" })), START, withoutCapacity);
      const rare = await store.events.publish(
        Array(10).fill(draft({ tenant, type: "goal.achieved" })),
        START,
        withCapacity,
      );
      await store.deliveries.record(rare.slice(3).flatMap(({ fresh }) => fresh.map(delivered)));
      for (const { id } of rare.slice(0, 3)) await store.events.cancel(tenant, id, null);
    }
  }
  await store.close();
  return first;
}

it("a list looks at the rows that it shows, and at one more, where an index matches", async () => {
  const dir = temporaryDirectory();
  const first = await even(dir);
  const { db, answers, lookedAt, asked } = answersOf(dir);
  const names = Object.keys(RESULTS) as Kind[];
  const [isStatus, isType] = [(name: Kind) => "status" in RESULTS[name], (name: Kind) => "type" in RESULTS[name]];
  const kinds = names
    .flatMap((name, at) => names.slice(at).map((other) => [name, other] as const))
    .filter((both) => both[0] === both[1] || !(both.every(isStatus) || both.every(isType)));
  for (const [name, other] of kinds) {
    const both = [name, other];
    // No index covers delivered rows, a type together with a result, or two results of one event.
    const isPlain = name === other || other === "last hour";
    const isMatched = (list: string) =>
      !both.includes("delivered") &&
      (isPlain || (!both.some(isType) && (list === "deliveries" || both.includes("endpoint"))));
    const endpoint = both.includes("endpoint") ? { endpoint: first["one"]! } : {};
    for (const [list, ask] of Object.entries({ events: answers.listEvents, deliveries: answers.listDeliveries })) {
      for (const order of ["newest", "oldest"] as const) {
        const query = { tenant: "one", limit: LIMIT, order, ...RESULTS[name], ...RESULTS[other], ...endpoint };
        const before = { looked: lookedAt(), asked: asked() };
        const { page } = readWhole(ask(query) as Reading<Page<object>, unknown>);
        const label = `${list}, ${order}: ${name} + ${other}`;
        const shown = page.data.length;
        const most = isMatched(list) ? Math.min(shown, LIMIT) + 1 : shown === LIMIT ? 4 * LIMIT : 2 * RARE;
        expect(lookedAt() - before.looked, label).toBeLessThanOrEqual(shown === 0 && isMatched(list) ? 0 : most);
        expect(asked() - before.asked, label).toBeLessThanOrEqual(ENDPOINTS);
        expect(shown === LIMIT || page.nextCursor === null, label).toBe(true);
      }
    }
  }
  const foreign = { tenant: "one", endpoint: first["other"]!, limit: LIMIT, order: "newest" } as const;
  const before = lookedAt();
  for (const list of [answers.listEvents, answers.listDeliveries]) {
    expect(readWhole(list(foreign) as Reading<Page<object>, unknown>).page.data).toEqual([]);
  }
  expect(lookedAt() - before).toBe(0);
  db.close();
});
