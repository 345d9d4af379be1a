/** Runs lists of a store in PostgreSQL and counts the rows that the server reads for each. */
import type { Client } from "pg";
import { systemClock } from "../../src/clock.ts";
import { Database, type Queries } from "../../src/store/postgres/engine/database.ts";
import { configsOf, connect } from "../../src/store/postgres/engine/session.ts";
import { NodeKeys, type Engine } from "../../src/store/postgres/engine/engine.ts";
import { LIST_PLANS } from "../../src/store/postgres/engine/prepared.ts";
import { PostgresReads } from "../../src/store/postgres/reads/reads.ts";
import type { Page } from "../../src/store/store.ts";
import { Cursors } from "../../src/store/lists/cursors.ts";
import { partly } from "./partly.ts";

export interface Looked {
  readonly shown: number;
  /** Rows read from the table with the most rows read. Index-only scans do not count. */
  readonly rows: number;
  /** Index entries that index-only scans read. */
  readonly entries: number;
  readonly ms: number;
  readonly plans: readonly string[];
}

interface Node {
  readonly "Node Type": string;
  readonly "Relation Name"?: string;
  readonly "Index Name"?: string;
  readonly "Actual Rows": number;
  readonly "Actual Loops": number;
  readonly "Rows Removed by Filter"?: number;
  readonly "Rows Removed by Index Recheck"?: number;
  readonly Plans?: readonly Node[];
}

const TABLES = ["event", "delivery", "attempt"];

export class LookedAt {
  readonly #database: Database;
  readonly #client: Client;
  readonly #reads: PostgresReads;
  #asked: { readonly sql: string; readonly values: readonly unknown[] }[] = [];

  private constructor(url: string, client: Client) {
    this.#client = client;
    this.#database = new Database(url);
    const noting = (queries: Queries): Queries => ({
      ...queries,
      rows: (sql, values = []) => {
        this.#asked.push({ sql, values });
        return queries.rows(sql, values);
      },
    });
    const { lists } = this.#database;
    const short: Queries = { rows: (sql, values) => this.#database.rows(sql, values) } as Queries;
    const database = { ...noting(short), lists: noting(lists) };
    const cursors = new Cursors(() => Buffer.alloc(9));
    this.#reads = new PostgresReads(
      partly<Engine>({
        database,
        cursors,
        clock: systemClock,
        keys: new NodeKeys(0, 0),
      }),
    );
  }

  static async at(url: string): Promise<LookedAt> {
    return new LookedAt(url, await connect(configsOf(url), LIST_PLANS, () => {}));
  }

  async of(ask: (reads: PostgresReads) => Promise<Page<unknown> | null>): Promise<Looked> {
    this.#asked = [];
    const begun = performance.now();
    const page = await ask(this.#reads);
    const ms = performance.now() - begun;
    const rows = new Map<string, number>();
    const plans: string[] = [];
    let entries = 0;
    for (const { sql, values } of this.#asked) {
      const text = `EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) ${sql}`;
      const { rows: found } = await this.#client.query<{ "QUERY PLAN": [{ Plan: Node }] }>(text, [...values]);
      const visit = (node: Node) => {
        const table = node["Relation Name"];
        const removed = (node["Rows Removed by Filter"] ?? 0) + (node["Rows Removed by Index Recheck"] ?? 0);
        const looked = Math.round((node["Actual Rows"] + removed) * node["Actual Loops"]);
        if (node["Node Type"] === "Index Only Scan") entries += looked;
        else if (table !== undefined && TABLES.includes(table)) rows.set(table, (rows.get(table) ?? 0) + looked);
        plans.push(`${node["Node Type"]} ${node["Index Name"] ?? table ?? ""}: ${looked}`);
        node.Plans?.forEach(visit);
      };
      visit(found[0]!["QUERY PLAN"][0].Plan);
    }
    return { shown: page?.data.length ?? 0, rows: Math.max(0, ...rows.values()), entries, ms, plans };
  }

  async end(): Promise<void> {
    await Promise.all([this.#client.end(), this.#database.close()]);
  }
}
