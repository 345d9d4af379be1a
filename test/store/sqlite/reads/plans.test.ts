import { join } from "node:path";
import { expect, it } from "vitest";
import { openFile } from "../../../../src/store/sqlite/engine/open-database.ts";
import { Cursors } from "../../../../src/store/sqlite/engine/page.ts";
import type { Reading } from "../../../../src/store/sqlite/engine/page.ts";
import { answersFrom, namesIn, rowsIn } from "../../../../src/store/sqlite/reads/answers.ts";
import type { DeliveryQuery, EventQuery, Page, Store } from "../../../../src/store/store.ts";
import { addEndpoint, again, delivered, draft, failed, noRoom, room, START } from "../../fixtures.ts";
import { open, temporaryDirectory } from "../../stores.ts";

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

/** Some of everything to two tenants; the one's lies under thousands of the other's. */
async function filled(): Promise<string> {
  const dir = temporaryDirectory();
  const store = await open({ dir });
  for (const tenant of ["small", "large"]) {
    for (let index = 0; index < 5; index++) await addEndpoint(store, { tenant, events: ["budget.exceeded"] });
    await addEndpoint(store, { tenant, events: ["budget.exceeded"], enabled: false });
  }
  for (const [tenant, count] of [
    ["small", OWN],
    ["large", OTHERS],
  ] as const) {
    await publish(store, tenant, count, [failed, (claim) => again(claim, START + 1000), delivered]);
    await store.events.publish(Array(count / 3).fill(draft({ tenant })), START, noRoom);
    const [withdrawn] = await store.events.publish([draft({ tenant })], START, noRoom);
    await store.events.cancel(tenant, withdrawn!.id, null);
  }
  await store.close();
  return dir;
}

async function publish(store: Store, tenant: string, count: number, ends: (typeof failed)[]): Promise<void> {
  for (let left = count; left > 0; left -= 300) {
    const drafts = Array(Math.min(left, 300)).fill(draft({ tenant }));
    const publications = await store.events.publish(drafts, START, room);
    const claims = publications.map(({ fresh }, at) => fresh.map((claim) => ends[at % ends.length]!(claim)));
    await store.deliveries.record(claims.flat());
  }
}

/** Of the file: its answers, and all that was prepared to find them. */
function answersOf(dir: string) {
  const db = openFile(join(dir, "webhookd.db"), { timeout: 50, readonly: true });
  const prepared = new Set<string>();
  const prepare = db.prepare.bind(db);
  db.prepare = ((sql: string) => {
    prepared.add(sql);
    return prepare(sql);
  }) as typeof db.prepare;
  const means = { cursors: new Cursors(() => Buffer.alloc(9)), monotonic: () => 0 };
  const answers = answersFrom(db, rowsIn(db, namesIn(db)), means);
  // What follows is prepared for a list.
  prepared.clear();
  const planOf = (sql: string) =>
    (prepare(`EXPLAIN QUERY PLAN ${sql}`).all(PARAMETERS) as { detail: string }[]).map(({ detail }) => detail);
  return { db, answers, prepared, planOf };
}

function ended<T>(reading: Reading<Page<T>, unknown>): { page: Page<T>; slices: number } {
  for (let slices = 1; ; slices++) {
    const step = reading.next();
    if (step.done === true) return { page: step.value, slices };
  }
}

it("a page of a small tenant's is found at once, whatever lies beside it", { timeout: 60_000 }, async () => {
  const { db, answers, prepared, planOf } = answersOf(await filled());
  for (const filter of FILTERS) {
    for (const order of ["newest", "oldest"] as const) {
      const query = { tenant: "small", limit: 20, order, ...filter };
      for (const [name, list] of Object.entries({ events: answers.listEvents, deliveries: answers.listDeliveries })) {
        const reading = list(query) as Reading<Page<{ tenant: string }>, unknown>;
        const { page, slices } = ended(reading);
        const label = `${name}, ${order}: ${JSON.stringify(filter)}`;
        // What is held lies among what is pending.
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
    // Few open deliveries are sorted; nothing else is.
    const sorted = sql.includes("UNION ALL") && !sql.startsWith("SELECT count");
    expect(plan.includes("TEMP B-TREE"), `${sql}\n${plan}`).toBe(sorted);
    expect(plan, sql).not.toMatch(/^SCAN (event|delivery|attempt|e|d|a)\b(?!.*USING)/m);
  }
  db.close();
});

it("a tenant's pages, one after the other, are what is its own among all", { timeout: 60_000 }, async () => {
  const { db, answers } = answersOf(await filled());
  for (const filter of FILTERS.slice(1)) {
    for (const order of ["newest", "oldest"] as const) {
      const all = ended(answers.listDeliveries({ tenant: null, limit: 100_000, order, ...filter })).page.data;
      const own = all.filter(({ tenant }) => tenant === "small").map(({ id }) => id);
      const seen: string[] = [];
      for (let cursor: string | undefined; ;) {
        const query = { tenant: "small", limit: 7, order, ...filter, ...(cursor !== undefined && { cursor }) };
        const { page } = ended(answers.listDeliveries(query));
        seen.push(...page.data.map(({ id }) => id));
        if (page.nextCursor === null) break;
        cursor = page.nextCursor;
      }
      expect(seen, `${order}: ${JSON.stringify(filter)}`).toEqual(own);
    }
  }
  db.close();
});
