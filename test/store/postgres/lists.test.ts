/** Counts the rows that PostgreSQL reads for a list, because times vary. */
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import type { DeliveryQuery, EventQuery, PageQuery } from "../../../src/store/store.ts";
import { ManualClock } from "../../harness/clock.ts";
import { LookedAt } from "../../harness/looked.ts";
import { startServer, withClient } from "../../harness/postgres.ts";
import { addEndpoint, START } from "../fixtures.ts";
import { createDatabase, openPostgresDatabase, temporaryDirectory } from "../stores.ts";
import { firstKeyAt } from "../../../src/store/rows/codes.ts";

const server = await startServer();
if (server === null) console.warn("SKIPPED: there is no PostgreSQL for this platform to list rows of");
afterAll(() => server?.stop());

const LIMIT = 20;
const HOUR_MS = 3_600_000;
/** The number of endpoints and of events, by tenant. */
const TENANTS = { one: [1, 4000], forty: [40, 8000], many: [2000, 8000], other: [40, 40_000] } as const;

type Filter = Pick<DeliveryQuery & EventQuery, "status" | "error" | "statusCode" | "type" | "since" | "test">;
const FILTERS: Readonly<Record<string, Filter>> = {
  failed: { status: "failed" },
  pending: { status: "pending" },
  held: { status: "held" },
  cancelled: { status: "cancelled" },
  unmatched: { status: "unmatched" } as Filter,
  timeout: { error: "timeout" },
  "5xx": { statusCode: { least: 500, most: 599 } },
  endpoint: {},
  type: { type: "goal.achieved" },
  test: { test: true },
  "last hour": { since: START - HOUR_MS },
};
/** The fraction of events with a failed attempt. */
const FAILED = 0.08;
const isStatus = (name: string) => "status" in FILTERS[name]!;

/**
 * The maximum number of rows that may be read. If an index matches, a row is read to find it and to show it. Otherwise
 * no more rows are read than the tenant's, or its failures.
 */
function mostRows(kind: readonly string[], shown: number, events: number): number {
  const isMatched = kind.every((name) => isStatus(name) || name === "endpoint" || name === "last hour");
  if (isMatched) return 2 * (shown + 2);
  return (
    5 * LIMIT +
    (kind.some((name) => isStatus(name) || "error" in FILTERS[name]! || "statusCode" in FILTERS[name]!) ? FAILED : 1) *
      events
  );
}

/** Each filter alone, and each pair of filters. */
const KINDS = Object.keys(FILTERS)
  .flatMap((name, at, all) => all.slice(at).map((other) => (name === other ? [name] : [name, other])))
  .filter((both) => both.length === 1 || !both.every(isStatus));

/**
 * In a hundred deliveries, two failed, one waits, one was cancelled, and two failed before they were delivered. Among
 * the newest thousand, one in a hundred is fresh. One endpoint in seven is disabled. One event in 500 has no endpoint,
 * and one in a thousand is a test.
 */
const EVENTS = `
  INSERT INTO event (key, random, tenant, type, created_at, test, unmatched, body_hash, body)
    SELECT $1::bigint + i * $2::bigint, 'abcdefghijk', $3, CASE i % 4 WHEN 0 THEN 'goal.achieved' ELSE 'budget.exceeded' END, 0,
      (i % 1000 = 999)::integer, (i % 500 = 77)::integer, '', '{}' FROM generate_series(0, $4 - 1) i`;
const DELIVERIES = `
  INSERT INTO delivery (event, endpoint, slot, status, attempts, round, retry, trigger, due_at)
    SELECT key, endpoint, 0, status, CASE WHEN status IN (0, 4) THEN 0 WHEN status = 2 AND kind > 5 THEN 1 ELSE 2 END,
      1, 0, 0, CASE WHEN status < 2 THEN $5::bigint END
    FROM (SELECT $1::bigint + i * $2::bigint AS key, $3 + i * 7919 % $4 AS endpoint, i * 31 % 100 AS kind,
        CASE WHEN i * 31 % 100 < 2 THEN 3 WHEN i * 31 % 100 = 2 THEN 1 WHEN i * 31 % 100 = 3 THEN 4
          WHEN i * 31 % 100 = 50 AND i > $6 - 1000 THEN 0 ELSE 2 END AS status
      FROM generate_series(0, $6 - 1) i WHERE i % 500 <> 77) d`;
const ATTEMPTS = `
  INSERT INTO attempt (event, endpoint, number, url, trigger, round, retry, started_at, duration_ms, outcome, status_code,
      error, truncated, details)
    SELECT event, endpoint, number, 'http://x', 0, 1, 0, $1, 5, outcome,
      CASE WHEN outcome = 0 THEN 200 WHEN hashint8(event) % 5 <> 0 THEN 503 END,
      CASE WHEN outcome = 0 THEN NULL WHEN hashint8(event) % 5 <> 0 THEN 'http_status' ELSE 'timeout' END, 0,
      CASE WHEN outcome = 1 THEN '{}' END
    FROM (SELECT event, endpoint, number, (status <> 2 OR number < attempts)::integer AS outcome
      FROM delivery, generate_series(1, attempts) number) a`;

async function aStore() {
  const url = server!.urlOf(await createDatabase(server!));
  const store = await openPostgresDatabase(url, { dir: temporaryDirectory(), clock: new ManualClock() });
  const first: Record<string, string> = {};
  for (const tenant of Object.keys(TENANTS)) first[tenant] = await addEndpoint(store, { tenant });
  const looked = await LookedAt.at(url);
  onTestFinished(() => looked.end());
  const fill = () =>
    withClient(url, async (client) => {
      let base = 1000;
      for (const [tenant, [endpoints, events]] of Object.entries(TENANTS)) {
        await client.query(`UPDATE endpoint SET number = $1 WHERE tenant = $2`, [base, tenant]);
        await client.query(
          `INSERT INTO endpoint SELECT (json_populate_record(e, json_build_object('number', $1 + i, 'id', e.id || i,
             'enabled', (i % 7 <> 3)::integer))).* FROM endpoint e, generate_series(1, $2 - 1) i WHERE e.tenant = $3`,
          [base, endpoints, tenant],
        );
        // The keys of all tenants are interleaved.
        const step = 4 * Math.floor(firstKeyAt(48 * HOUR_MS) / events / 4);
        const from = firstKeyAt(START - 48 * HOUR_MS) + (base - 1000) / 3000;
        await client.query(EVENTS, [from, step, tenant, events]);
        await client.query(DELIVERIES, [from, step, base, endpoints, START + HOUR_MS, events]);
        base += 3000;
      }
      await client.query(ATTEMPTS, [START]);
    });
  return { url, first, looked, fill };
}

type Store = Awaited<ReturnType<typeof aStore>>;

function ask(
  { looked, first }: Pick<Store, "looked" | "first">,
  list: string,
  kind: readonly string[],
  more: PageQuery,
) {
  const filters = Object.assign({}, ...kind.map((name) => FILTERS[name])) as Filter;
  const endpoint = kind.includes("endpoint") ? { endpoint: first[more.tenant!]! } : {};
  const query = { ...more, ...filters, ...endpoint };
  return looked.of((reads) =>
    list === "events" ? reads.listEvents(query as EventQuery) : reads.listDeliveries(query as DeliveryQuery),
  );
}

describe.skipIf(server === null)("a list in PostgreSQL", () => {
  it("looks at what it shows, whatever there is of others", async () => {
    const store = await aStore();
    // Plans that were made while the tables were empty must not be kept.
    for (let time = 0; time < 7; time++) {
      for (const kind of KINDS) await ask(store, "deliveries", kind, { tenant: "one", limit: LIMIT, order: "newest" });
    }
    await store.fill();
    const tooMany: unknown[] = [];
    for (const statistics of ["none", "new"]) {
      if (statistics === "new") await withClient(store.url, (client) => client.query("VACUUM ANALYZE"));
      for (const [tenant, [endpoints, events]] of Object.entries(TENANTS)) {
        for (const list of ["events", "deliveries"]) {
          for (const kind of KINDS) {
            if (list === "deliveries" && kind.includes("unmatched")) continue;
            for (const order of ["newest", "oldest"] as const) {
              const found = await ask(store, list, kind, { tenant, limit: LIMIT, order });
              const label = `${statistics} ${tenant} ${list} ${order} ${kind.join(" + ")}`;
              // This tenant's only endpoint is enabled, so nothing is held.
              if (kind.length === 1 && !(tenant === "one" && kind[0] === "held"))
                expect(found.shown, label).toBeGreaterThan(0);
              const most = mostRows(kind, found.shown, events);
              const entries = 2 * endpoints + (found.rows > most ? 0 : Math.max(5 * LIMIT, FAILED * events));
              if (found.rows > most || found.entries > entries)
                tooMany.push([label, found.shown, found.rows, most, found.entries, entries].join());
            }
          }
        }
      }
    }
    expect(tooMany).toEqual([]);
  });
});
