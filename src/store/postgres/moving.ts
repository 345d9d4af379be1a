/** A store in PostgreSQL, as one that is moved away, or that another is moved into. No daemon has it meanwhile. */
import type { Client } from "pg";
import { StoreRefused } from "../files/refused.ts";
import type { Facts, Page, Place, Row, Table, Value } from "../move/tables.ts";
import type { Box } from "../sqlite/engine/box.ts";
import { WAITING } from "../sqlite/numbers/codes.ts";
import { Counts } from "../sqlite/statistics/counters.ts";
import { slotOf } from "./endpoints/endpoint-rows.ts";
import { connectAlone, copyIn } from "./engine/copy.ts";
import { hostsOf, queriesOn, type Queries } from "./engine/database.ts";
import { getMeta, setMeta } from "./engine/engine.ts";
import { MOVED, MOVING_IN } from "./engine/moved.ts";
import { META, migrate, SCHEMA_VERSION, versionOf } from "./engine/schema.ts";

/** Minutes that were counted elsewhere, as if by one node. */
const LIFE = "00000000-0000-0000-0000-000000000000";
/** The fact that has what makes the indexes again. */
const INDEXES = "moving_indexes";
const LARGE = ["event", "event_label", "delivery", "attempt", "idempotency"];
const PAGE = 10_000;
const PAGE_BYTES = 8 * 1024 * 1024;

export class PostgresSide {
  readonly name: string;
  readonly #client: Client;
  readonly #queries: Queries;
  /** Of endpoints, by their numbers. */
  readonly #slots = new Map<number, number>();

  constructor(client: Client, url: string) {
    this.#client = client;
    this.#queries = queriesOn(client);
    this.name = `PostgreSQL at ${hostsOf(url)}`;
  }

  static async connect(url: string): Promise<PostgresSide> {
    const client = await connectAlone(url);
    // A table that was just filled has no statistics, by which a page could be sorted out of all rows.
    await client.query("SET enable_seqscan = off; SET enable_sort = off");
    return new PostgresSide(client, url);
  }

  async close(): Promise<void> {
    // What was begun and not committed is undone, and what was locked is free.
    await this.#client.end().catch(() => {});
  }

  // --- as the store that is moved away ---

  /** All that is read is of one moment, and no daemon can begin until it is closed. False where it was moved before. */
  async beginSource(box: Box): Promise<boolean> {
    const { found, isNew } = await versionOf(this.#queries);
    if (isNew) throw new StoreRefused(1, `there is no store in ${this.name}`, "look at the address");
    if (found !== SCHEMA_VERSION) {
      const what = `the store in ${this.name} has schema ${found}, and this webhookd has ${SCHEMA_VERSION}`;
      throw new StoreRefused(1, what, "start the daemon of this version on it once");
    }
    await this.#client.query("BEGIN ISOLATION LEVEL REPEATABLE READ; LOCK TABLE node IN EXCLUSIVE MODE");
    const live = await this.#queries.rows("SELECT 1 FROM node WHERE lease_until > now() LIMIT 1");
    if (live.length > 0) {
      const what = `a daemon is using ${this.name}`;
      throw new StoreRefused(75, what, "stop all that use it; one that was killed has it for five more seconds");
    }
    if (!box.opensCheck((await getMeta(this.#queries, "key_check")) ?? "")) {
      const what = `secret.key is not the one that ${this.name} was sealed with`;
      throw new StoreRefused(1, what, "copy the file of a host that used it, or name it with [data] secret_key_file");
    }
    if ((await getMeta(this.#queries, MOVING_IN)) !== null) {
      throw new StoreRefused(1, `what is in ${this.name} is not whole`, "finish that move first, with --resume");
    }
    return (await getMeta(this.#queries, MOVED)) === null;
  }

  /** From the commit on no daemon starts on it. */
  async retire(to: string, now: number): Promise<void> {
    await setMeta(this.#queries, MOVED, JSON.stringify({ to, at: now }));
    await this.#client.query("COMMIT");
  }

  // --- as the store that is moved into ---

  /** Null where there is nothing at all. With `dry` nothing of what follows is committed. */
  async beginTarget(dry: boolean): Promise<string | null> {
    if (dry) await this.#client.query("BEGIN");
    await this.#client.query(META);
    await this.#once(dry, () => migrate(this.#queries));
    const left = await getMeta(this.#queries, MOVING_IN);
    if (left === null && (await getMeta(this.#queries, "key_id")) !== null) {
      throw new StoreRefused(1, `there is a store in ${this.name} already`, "name an empty database");
    }
    // A power cut may undo what was copied last, and where the copy was with it.
    await this.#client.query("SET synchronous_commit = off");
    for (const { number, slot } of await this.#queries.rows<{ number: number; slot: number }>(
      "SELECT number, slot FROM endpoint",
    )) {
      this.#slots.set(number, slot);
    }
    return left;
  }

  /** Before the first rows, and once all are compared. */
  async startCopy(state: string, dry: boolean): Promise<void> {
    await this.#once(dry, async () => {
      if ((await getMeta(this.#queries, MOVING_IN)) === null) await this.#dropIndexes();
      await setMeta(this.#queries, MOVING_IN, state);
    });
  }

  /** With where the copy is then. `before` is what it was: of two who copy, one fails. */
  async write(table: Table, rows: readonly Row[], lines: readonly string[], states: States): Promise<void> {
    const { before, after, dry } = states;
    const extra = this.#derivedOf(table);
    const text = lines.map((line, at) => `${line}${extra(rows[at]!)}\n`).join("");
    await this.#once(dry, async () => {
      await copyIn(this.#client, table.name, [...table.columns, ...table.onlyPostgres], text);
      const sql = "UPDATE meta SET value = $2 WHERE name = $1 AND value = $3";
      const moved = await this.#queries.change(sql, [MOVING_IN, after, before]);
      if (moved !== 1) throw new StoreRefused(75, `another move is writing into ${this.name}`, "let it end");
    });
  }

  /** A store from here on. */
  async finish(facts: Facts): Promise<void> {
    await this.#client.query("SET synchronous_commit = on; ANALYZE");
    await this.#once(false, async () => {
      for (const [name, value] of Object.entries(facts)) await setMeta(this.#queries, name, value);
      const indexes = JSON.parse((await getMeta(this.#queries, INDEXES))!) as string[];
      for (const sql of indexes) await this.#client.query(sql);
      await this.#queries.change("DELETE FROM meta WHERE name IN ($1, $2)", [MOVING_IN, INDEXES]);
    });
  }

  // --- what either is asked ---

  async facts(names: readonly string[]): Promise<Facts> {
    const rows = await this.#queries.rows<{ name: string; value: string }>(
      "SELECT name, value FROM meta WHERE name = ANY($1::text[])",
      [names],
    );
    return Object.fromEntries(rows.map(({ name, value }) => [name, value]));
  }

  async lastEvent(): Promise<number> {
    const [row] = await this.#queries.rows<{ key: number | null }>("SELECT max(key) AS key FROM event");
    return row!.key ?? 0;
  }

  async count(table: Table): Promise<number> {
    const some = table.name === "counter" ? "(SELECT DISTINCT subject, minute FROM counter) c" : table.name;
    const [row] = await this.#queries.rows<{ count: number }>(`SELECT count(*) AS count FROM ${some}`);
    return row!.count;
  }

  async bytes(): Promise<number> {
    const [row] = await this.#queries.rows<{ bytes: number }>("SELECT pg_database_size(current_database()) AS bytes");
    return row!.bytes;
  }

  async page(table: Table, after: Place | null): Promise<Page> {
    const { rows } = await this.#client.query<Value[]>({
      text: selectOf(table, after !== null),
      values: [...(after ?? [])],
      rowMode: "array",
    });
    const width = table.columns.length;
    const last = rows.at(-1);
    const isAll = last === undefined || (rows.length < PAGE && !table.hasBodies);
    return {
      rows: rows.map((row) => (table.name === "counter" ? summed(row) : row.slice(0, width))),
      next: isAll ? null : last.slice(width),
    };
  }

  async #once(dry: boolean, work: () => Promise<void>): Promise<void> {
    if (dry) return work();
    await this.#client.query("BEGIN");
    try {
      await work();
    } catch (error) {
      await this.#client.query("ROLLBACK").catch(() => {});
      throw error;
    }
    await this.#client.query("COMMIT");
  }

  /** Full tables are indexed several times as fast as those that fill. */
  async #dropIndexes(): Promise<void> {
    const rows = await this.#queries.rows<{ name: string; sql: string }>(
      `SELECT indexrelid::regclass::text AS name, pg_get_indexdef(indexrelid) AS sql FROM pg_index
       WHERE indrelid::regclass::text = ANY($1::text[])
         AND NOT EXISTS (SELECT 1 FROM pg_constraint WHERE conindid = indexrelid)`,
      [LARGE],
    );
    for (const { name } of rows) await this.#client.query(`DROP INDEX ${name}`);
    await setMeta(this.#queries, INDEXES, JSON.stringify(rows.map(({ sql }) => sql)));
  }

  /** The end of a row's line: the columns that only PostgreSQL has. */
  #derivedOf({ name, columns }: Table): (row: Row) => string {
    const [number, id] = [columns.indexOf("number"), columns.indexOf("id")];
    const [endpoint, portal] = [columns.indexOf("endpoint"), columns.indexOf("portal")];
    switch (name) {
      case "endpoint":
        return (row) => {
          const slot = slotOf(String(row[id]));
          this.#slots.set(Number(row[number]), slot);
          return `\t${slot}`;
        };
      case "delivery":
        return (row) => `\t${this.#slots.get(Number(row[endpoint]))!}`;
      case "api_key":
        return (row) => `\t${row[portal] === null ? "\\N" : madeBy(String(row[portal]))}`;
      case "counter":
        return () => `\t${LIFE}`;
      default:
        return () => "";
    }
  }
}

export interface States {
  readonly before: string;
  readonly after: string;
  readonly dry: boolean;
}

const madeBy = (portal: string) => (JSON.parse(portal) as { madeBy: string | null }).madeBy ?? "\\N";

/** What is fresh waits from now on, as after any other stop. */
function selectOf({ name, columns, key, hasBodies }: Table, isFurther: boolean): string {
  const keys = key.map((column) => `"${column}"`).join();
  const all = columns.map((column) =>
    name === "delivery" && column === "status" ? `greatest(status, ${WAITING})` : `"${column}"`,
  );
  const where = isFurther ? `WHERE (${keys}) > (${key.map((_, at) => `$${at + 1}`).join()})` : "";
  const some = `FROM ${name} ${where}`;
  const order = `ORDER BY ${keys} LIMIT ${PAGE}`;
  if (name === "counter") {
    return `SELECT subject, minute, array_agg(attempts ORDER BY life), array_agg(published ORDER BY life), ${keys}
      ${some} GROUP BY ${keys} ${order}`;
  }
  if (!hasBodies) return `SELECT ${all.join()}, ${keys} ${some} ${order}`;
  return `SELECT ${all.join()}, ${keys} FROM (
      SELECT *, sum(octet_length(body)) OVER (ORDER BY ${keys} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS above
      FROM (SELECT * ${some} ${order}) s) t
    WHERE coalesce(above, 0) < ${PAGE_BYTES} ORDER BY ${keys}`;
}

/** What the lives of nodes counted in a minute, as one row. */
function summed([subject, minute, attempts, published]: readonly Value[]): Row {
  const counts = new Counts();
  const types = published as unknown as (string | null)[];
  for (const [at, text] of (attempts as unknown as string[]).entries()) {
    counts.addRow({ attempts: text, published: types[at]! });
  }
  const row = counts.toRow();
  return [subject!, minute!, row.attempts, row.published];
}
