/**
 * Reads the lists of `lists.ts` on PostgreSQL. For each filter and pair of filters, measures how many rows the server
 * reads, and how long that takes. P21.
 */
import { join } from "node:path";
import type { PostgresReads } from "../../src/store/postgres/reads/reads.ts";
import type { Page, PageQuery } from "../../src/store/store.ts";
import { LookedAt } from "../../test/harness/looked.ts";
import { startServer, withClient } from "../../test/harness/postgres.ts";
import { atMost, Measures, percentile, type Measure } from "./measure.ts";
import { moveOnce } from "./move.ts";
import type { BenchOptions } from "./options.ts";
import { remove, scratch } from "./scratch.ts";
import { copyStore } from "./seed.ts";

const HOUR_MS = 3_600_000;
const SLOW_MS = 50;
const TENANTS = 5;
const LIMIT = 20;
const STATUSES = ["delivered", "failed", "pending", "held", "cancelled", "unmatched"];
const SAME = [STATUSES, ["type", "rare type"], ["last hour", "a day"], ["succeeded", "failures"]];

const shared = (now: number) => ({
  timeout: { error: "timeout" },
  "5xx": { statusCode: { least: 500, most: 599 } },
  "last hour": { since: now - HOUR_MS },
  "a day": { since: now - 72 * HOUR_MS, until: now - 48 * HOUR_MS },
  test: { test: true },
});
const ofEvents = (now: number, endpoint: string) => ({
  ...Object.fromEntries(STATUSES.map((status) => [status, { status }])),
  type: { type: "goal.achieved" },
  "rare type": { type: "rare.happened" },
  endpoint: { endpoint },
  ...shared(now),
});
const ofAttempts = (now: number) => ({
  succeeded: { outcome: "succeeded" },
  failures: { outcome: "failed" },
  ...shared(now),
});

type Ask = (reads: PostgresReads, query: PageQuery) => Promise<Page<unknown> | null>;

/** `kept` is the directory of a store in a file. The store is moved to a server that ends with the run. */
export async function listsOnPostgres(kept: string, { note }: BenchOptions): Promise<Measure[]> {
  const server = await startServer();
  if (server === null) {
    note("skipped: there is no PostgreSQL for this platform to list rows of");
    return [];
  }
  const dir = scratch();
  copyStore(kept, dir);
  const name = `lists_${process.pid}`;
  const url = server.urlOf(name);
  await server.ask(`CREATE DATABASE ${name}`);
  note("moving the store to PostgreSQL");
  await moveOnce(join(dir, "data"), url, "to_postgres");
  const endpoints = await withClient(url, async (client) => {
    // Some deliveries must be held.
    await client.query("UPDATE endpoint SET enabled = 0, disabled_reason = 'operator' WHERE number % 7 = 3");
    await client.query("ANALYZE");
    const sql = "SELECT tenant, min(id) AS id FROM endpoint WHERE enabled = 1 GROUP BY 1 ORDER BY 1 LIMIT $1";
    return (await client.query<{ tenant: string; id: string }>(sql, [TENANTS])).rows;
  });
  const looked = await LookedAt.at(url);
  const measures = new Measures("lists on PostgreSQL");
  const now = Date.now();
  const lists: [string, Ask, (endpoint: string) => Record<string, object>][] = [
    ["events", (reads, query) => reads.listEvents(query), (endpoint) => ofEvents(now, endpoint)],
    ["deliveries", (reads, query) => reads.listDeliveries(query), (endpoint) => ofEvents(now, endpoint)],
    [
      "attempts",
      (reads, query) => reads.listEndpointAttempts(query as PageQuery & { endpoint: string }),
      () => ofAttempts(now),
    ],
  ];
  for (const [list, ask, filtersOf] of lists) {
    const slowest: number[] = [];
    const statuses: number[] = [];
    for (const kind of kindsOf(Object.keys(filtersOf("")))) {
      if (list === "deliveries" && kind.includes("unmatched")) continue;
      const sum = { shown: 0, rows: 0, entries: 0 };
      const times: number[] = [];
      for (const { tenant, id } of endpoints) {
        const filters = filtersOf(id);
        const query = { tenant, limit: LIMIT, order: "newest" as const, ...(list === "attempts" && { endpoint: id }) };
        const all = Object.assign(query, ...kind.map((one) => filters[one]!)) as PageQuery;
        const found = await looked.of((reads) => ask(reads, all));
        for (const key of ["shown", "rows", "entries"] as const) sum[key] += found[key];
        times.push(found.ms);
      }
      const { shown, rows, entries } = sum;
      slowest.push(Math.max(...times));
      if (kind.length === 1 && STATUSES.slice(1).includes(kind[0]!) && shown > 0) statuses.push(rows / shown);
      const median = percentile(times, 0.5).toFixed(0);
      note(
        `${list} ${kind.join(" + ")}: ${shown} shown, ${rows} rows and ${entries} entries looked at, ${median} ms, ` +
          `at most ${slowest.at(-1)!.toFixed(0)} ms`,
      );
    }
    measures.add(`${slowest.length} kinds of ${list}: slowest`, "ms", [Math.max(...slowest)], atMost("P21", SLOW_MS));
    measures.add(`kinds of ${list} over ${SLOW_MS} ms`, "", [slowest.filter((ms) => ms > SLOW_MS).length]);
    if (statuses.length > 0) measures.add(`${list} by status: rows ÷ shown, at most`, "×", [Math.max(...statuses)]);
  }
  await looked.end();
  await server.ask(`DROP DATABASE ${name} WITH (FORCE)`);
  await server.stop();
  remove(dir);
  return measures.all;
}

function kindsOf(names: readonly string[]): string[][] {
  const pairs = names.flatMap((one, at) => names.slice(at + 1).map((other) => [one, other]));
  return [
    [],
    ...names.map((name) => [name]),
    ...pairs.filter((pair) => !SAME.some((same) => pair.every((one) => same.includes(one)))),
  ];
}
