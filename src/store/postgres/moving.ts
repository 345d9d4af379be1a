/** A store in PostgreSQL, as the source or the target of a move. */
import type { Client } from "pg";
import { StoreRefused } from "../files/refused.ts";
import type { Facts, Key, Page, Place, Row, States, Table } from "../move/tables.ts";
import { ChangeLog } from "./engine/change-log.ts";
import { commit } from "./engine/commit.ts";
import { connectAlone } from "./engine/copy.ts";
import { queriesOn, type Queries } from "./engine/database.ts";
import { hostsOf } from "../../domain/network/postgres-address.ts";
import { getMeta, setMeta } from "./engine/engine.ts";
import { LOCK_OUT, MOVED, MOVING_IN } from "./engine/moved.ts";
import { migrate } from "./engine/migrate.ts";
import { META, SCHEMA_VERSION, versionOf } from "./engine/schema.ts";
import { Pending } from "./deliveries/pending.ts";
import { MovedRows } from "./moved-rows.ts";
import type { Box } from "../rows/box.ts";

/** The fact that contains the statements to create the indexes again. */
const INDEXES = "moving_indexes";
const LARGE = ["event", "event_label", "delivery", "attempt", "idempotency"];

export class PostgresSide {
  readonly name: string;
  readonly #client: Client;
  readonly #queries: Queries;
  readonly #rows: MovedRows;
  readonly log: ChangeLog;
  /** If true, all reads are from one moment, and no daemon can start until the connection is closed. */
  #isLocked = false;

  constructor(client: Client, url: string, tables: readonly Table[]) {
    this.#client = client;
    this.#queries = queriesOn(client);
    this.#rows = new MovedRows(client);
    this.log = new ChangeLog(this.#queries, tables);
    this.name = `PostgreSQL at ${hostsOf(url)}`;
  }

  static async connect(url: string, tables: readonly Table[]): Promise<PostgresSide> {
    const client = await connectAlone(url);
    // A table that was just filled has no statistics. Without these settings, the server might sort all rows to get a
    // page, or read a whole table for each of a few keys.
    await client.query("SET enable_seqscan = off; SET enable_sort = off; SET enable_hashjoin = off");
    await client.query("SET enable_mergejoin = off; SET plan_cache_mode = force_custom_plan");
    return new PostgresSide(client, url, tables);
  }

  async close(): Promise<void> {
    // The server rolls back an open transaction and releases its locks.
    await this.#client.end().catch(() => {});
  }

  // --- as the source of the move ---

  /**
   * Returns false if the store was moved away before. Unless nodes may keep running `beside`, no daemon can start until
   * this is closed.
   */
  async beginSource(box: Box, beside: boolean): Promise<boolean> {
    const { found, isNew } = await versionOf(this.#queries);
    if (isNew) throw new StoreRefused(1, `there is no store in ${this.name}`, "check the address");
    if (found !== SCHEMA_VERSION) {
      const what = `the store in ${this.name} has schema ${found}, but this webhookd needs ${SCHEMA_VERSION}`;
      throw new StoreRefused(1, what, "start the daemon of this version on it once");
    }
    if (!beside && !(await this.tryLock())) {
      const what = `a daemon is using ${this.name}`;
      const todo =
        "stop all daemons that use it (one that was killed keeps it for five more seconds), or move it while they run: --online";
      throw new StoreRefused(75, what, todo);
    }
    if (!box.opensCheck((await getMeta(this.#queries, "key_check")) ?? "")) {
      const what = `${this.name} was sealed with a different secret.key`;
      throw new StoreRefused(1, what, "copy the file from a host that used it, or name it with [data] secret_key_file");
    }
    if ((await getMeta(this.#queries, MOVING_IN)) !== null) {
      throw new StoreRefused(1, `a move into ${this.name} is not finished`, "finish it first, with --resume");
    }
    return (await getMeta(this.#queries, MOVED)) === null;
  }

  /** Returns true if no daemon has the store. From then on none can. */
  async tryLock(): Promise<boolean> {
    if (this.#isLocked) return true;
    if (await this.#isLive()) return false;
    this.log.startSnapshot();
    await this.#client.query(`BEGIN ISOLATION LEVEL REPEATABLE READ; ${LOCK_OUT}`);
    this.#isLocked = !(await this.#isLive());
    if (!this.#isLocked) await this.#client.query("ROLLBACK");
    return this.#isLocked;
  }

  async #isLive(): Promise<boolean> {
    const live = await this.#queries.rows("SELECT 1 FROM node WHERE lease_until > now() LIMIT 1");
    return live.length > 0;
  }

  /** Everything read until `endSnapshot` is from one moment. */
  async startSnapshot(): Promise<void> {
    if (this.#isLocked) return;
    this.log.startSnapshot();
    await this.#client.query("BEGIN ISOLATION LEVEL REPEATABLE READ");
  }

  async endSnapshot(): Promise<void> {
    if (!this.#isLocked) await commit(this.#client);
  }

  /**
   * From the commit on, no daemon starts on this store. A daemon that was suspended until its lease ran out, and
   * resumes only now, no longer has a row and commits nothing.
   */
  async retire(to: string, now: number): Promise<void> {
    if ((await this.log.id()) !== null) await this.log.end();
    await this.#queries.change("DELETE FROM node");
    await setMeta(this.#queries, MOVED, JSON.stringify({ to, at: now }));
    await commit(this.#client);
  }

  // --- as the target of the move ---

  /** Returns null if there is nothing yet. With `dry`, nothing that follows is committed. */
  async beginTarget(dry: boolean): Promise<string | null> {
    if (dry) await this.#client.query("BEGIN");
    await this.#client.query(META);
    await this.#once(dry, () => migrate(this.#queries));
    const left = await getMeta(this.#queries, MOVING_IN);
    if (left === null && (await getMeta(this.#queries, "key_id")) !== null) {
      throw new StoreRefused(1, `there is a store in ${this.name} already`, "name an empty database");
    }
    // If a power cut undoes rows, it undoes the recorded place of the copy with them.
    await this.#client.query("SET synchronous_commit = off");
    await this.#rows.loadSlots();
    return left;
  }

  /** Called before the first rows, and once all have been compared. */
  async startCopy(state: string, dry: boolean): Promise<void> {
    await this.#once(dry, async () => {
      if ((await getMeta(this.#queries, MOVING_IN)) === null) await this.#dropIndexes();
      await setMeta(this.#queries, MOVING_IN, state);
    });
  }

  /** Also records the new place of the copy. */
  async transaction({ before, after, dry }: States, work: () => Promise<void>): Promise<void> {
    await this.#once(dry, async () => {
      await work();
      const sql = "UPDATE meta SET value = $2 WHERE name = $1 AND value = $3";
      const moved = await this.#queries.change(sql, [MOVING_IN, after(), before]);
      if (moved !== 1) throw new StoreRefused(75, `another move is writing into ${this.name}`, "wait until it ends");
    });
  }

  add(table: Table, rows: readonly Row[], lines: readonly string[]): Promise<void> {
    return this.#rows.add(table, rows, lines);
  }

  remove(table: Table, keys: readonly Key[]): Promise<void> {
    return this.#rows.remove(table, keys);
  }

  /** Creates what depends on all rows, once they are complete. From then on each commit is flushed. */
  async settle(): Promise<void> {
    await this.#once(false, async () => {
      const indexes = JSON.parse((await getMeta(this.#queries, INDEXES)) ?? "[]") as string[];
      for (const sql of indexes) await this.#client.query(sql);
      await this.#queries.change("DELETE FROM meta WHERE name = $1", [INDEXES]);
    });
    await this.#client.query("SET synchronous_commit = on; ANALYZE");
  }

  /** Puts the store into use. */
  async finish(facts: Facts): Promise<void> {
    await this.#client.query("SET synchronous_commit = on");
    await this.#once(false, async () => {
      for (const [name, value] of Object.entries(facts)) await setMeta(this.#queries, name, value);
      await new Pending(0).mend(this.#queries);
      await this.#queries.change("DELETE FROM meta WHERE name = $1", [MOVING_IN]);
    });
  }

  // --- for both sides ---

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

  page(table: Table, after: Place | null): Promise<Page> {
    return this.#rows.page(table, after);
  }

  rowsOf(table: Table, keys: readonly Key[]): Promise<readonly Row[]> {
    return this.#rows.rowsOf(table, keys);
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
    await commit(this.#client);
  }

  /** Indexing full tables is several times as fast as filling indexed ones. */
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
}
