/**
 * An outbox in a SQLite file of the application. Reads take no lock that the application would wait for, and each write
 * is short. SQLite is synchronous, so nothing here waits for the application's locks: a busy file is tried again.
 */
import { statSync } from "node:fs";
import Database from "better-sqlite3";
import type { Clock } from "../clock.ts";
import { MAX_COUNTED, quoted, type OutboxRow, type OutboxSettings, type SetAsideRow } from "../domain/outbox/outbox.ts";
import {
  BATCH,
  OutboxFault,
  printedBy,
  requireColumns,
  type Counts,
  type OutboxTable,
  type PublishRows,
} from "./table.ts";
import { Wait } from "./wait.ts";

/** The interval at which the file is asked for changes by other processes, which takes microseconds. */
const POLL_MS = 10;
/** The longest time that the event loop waits for a lock of the application. */
const BUSY_MS = 5;
/** An application that keeps the file locked for longer is reported. */
const PATIENCE_MS = 3000;
const RETRY_MS = 20;
const ROWS = 200;

export interface SqliteTableParts {
  readonly clock: Clock;
  readonly maxEventBytes: number;
  readonly nativeBinding: string | undefined;
}

type Settings = OutboxSettings & { readonly database: { readonly kind: "sqlite" } };

interface Open {
  readonly db: Database.Database;
  /** The file's number on its disk, by which a file that replaced it is recognised. */
  readonly inode: number;
  readonly columns: ReadonlySet<string>;
}

interface TakenRow extends Omit<OutboxRow, "data"> {
  readonly data: Buffer | null;
}

export class SqliteTable implements OutboxTable {
  readonly #outbox: Settings;
  readonly #parts: SqliteTableParts;
  readonly #name: string;
  readonly #wait: Wait;
  #open: Open | null = null;
  #version: unknown = null;
  #isClosed = false;

  constructor(outbox: Settings, parts: SqliteTableParts) {
    this.#outbox = outbox;
    this.#parts = parts;
    this.#name = quoted(outbox.table);
    this.#wait = new Wait(parts.clock);
  }

  async pass(publish: PublishRows, resting: readonly string[]): Promise<number> {
    const rows = await this.#patiently(({ db, columns }) => {
      // Read it first: a change that comes after this is seen by the next `wait`.
      this.#version = db.pragma("data_version", { simple: true });
      return this.#take(db, columns, resting);
    });
    if (rows.length === 0) return 0;
    const outcomes = await publish(rows);
    return this.#patiently(({ db }) =>
      immediately(db, () => {
        const remove = db.prepare(`DELETE FROM ${this.#name} WHERE id = ? AND problem IS NULL`);
        const mark = db.prepare(`UPDATE ${this.#name} SET problem = ? WHERE id = ?`);
        let done = 0;
        for (const [at, { id }] of rows.entries()) {
          const outcome = outcomes[at]!;
          if (outcome === "waits") continue;
          if (outcome === "published") remove.run(id);
          else mark.run(outcome.problem, id);
          done++;
        }
        return done;
      }),
    );
  }

  #take(db: Database.Database, columns: ReadonlySet<string>, resting: readonly string[]): OutboxRow[] {
    const { tenant } = this.#outbox;
    if ("name" in tenant && resting.length > 0) return [];
    const or = (name: string, sql: string) => (columns.has(name) ? sql : "NULL");
    const owner = "column" in tenant ? quoted(tenant.column) : "NULL";
    const size = "length(CAST(data AS BLOB))";
    const statement = db.prepare<[string], TakenRow>(
      `SELECT CAST(id AS TEXT) AS id, CAST(type AS TEXT) AS type,
         CASE WHEN ${size} <= ${this.#parts.maxEventBytes} THEN CAST(data AS BLOB) END AS data, ${size} AS dataBytes,
         ${or("created_at", CREATED)} AS createdAt, ${or("publisher_id", "CAST(publisher_id AS TEXT)")} AS publisherId,
         ${or("tags", "CAST(tags AS TEXT)")} AS tags,
         ${or("ordering_key", "CAST(ordering_key AS TEXT)")} AS orderingKey, CAST(${owner} AS TEXT) AS tenant
       FROM ${this.#name}
       WHERE problem IS NULL AND (${owner} IS NULL OR ${owner} NOT IN (SELECT value FROM json_each(?)))
       ORDER BY ${this.#name}.id LIMIT ${ROWS}`,
    );
    const rows: OutboxRow[] = [];
    let bytes = 0;
    for (const row of statement.iterate(JSON.stringify(resting))) {
      rows.push(row);
      bytes += row.data?.length ?? 0;
      if (bytes > BATCH.bytes) break;
    }
    return rows;
  }

  look(): Promise<Counts> {
    const open = this.#open;
    // A file that was replaced would be read for ever.
    if (open !== null && inodeOf(this.#outbox.database.file) !== open.inode) this.drop();
    return this.#patiently(({ db, columns }) => {
      const count = (where: string) =>
        db
          .prepare<[], number>(`SELECT count(*) FROM (SELECT 1 FROM ${this.#name} WHERE ${where} LIMIT ${MAX_COUNTED})`)
          .pluck()
          .get()!;
      const oldest = columns.has("created_at")
        ? db
            .prepare<[], string | null>(
              `SELECT ${CREATED} FROM ${this.#name} WHERE problem IS NULL ORDER BY ${this.#name}.id LIMIT 1`,
            )
            .pluck()
            .get()
        : null;
      const since = oldest === null || oldest === undefined ? Number.NaN : Date.parse(oldest);
      return {
        waiting: count("problem IS NULL"),
        oldestMs: Number.isNaN(since) ? null : Math.max(0, this.#parts.clock.now() - since),
        setAside: count("problem IS NOT NULL"),
      };
    });
  }

  async wait(ms: number): Promise<void> {
    const end = this.#parts.clock.monotonic() + ms;
    let isWoken = false;
    while (!isWoken && !this.#hasChanged()) {
      const left = end - this.#parts.clock.monotonic();
      if (left <= 0) return;
      isWoken = await this.#wait.for(Math.min(left, POLL_MS));
    }
  }

  #hasChanged(): boolean {
    try {
      return this.#open === null || this.#open.db.pragma("data_version", { simple: true }) !== this.#version;
    } catch {
      return true;
    }
  }

  wake(): void {
    this.#wait.end();
  }

  drop(): void {
    this.#open?.db.close();
    this.#open = null;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.drop();
  }

  setAside(limit: number): Promise<readonly SetAsideRow[]> {
    return this.#patiently(({ db }) =>
      db
        .prepare<[number], SetAsideRow>(
          `SELECT CAST(id AS TEXT) AS id, CAST(type AS TEXT) AS type, CAST(problem AS TEXT) AS problem
           FROM ${this.#name} WHERE problem IS NOT NULL ORDER BY ${this.#name}.id LIMIT ?`,
        )
        .all(limit),
    );
  }

  retry(ids: readonly string[] | null): Promise<number> {
    return this.#change(`UPDATE ${this.#name} SET problem = NULL`, ids);
  }

  remove(ids: readonly string[] | null): Promise<number> {
    return this.#change(`DELETE FROM ${this.#name}`, ids);
  }

  present(ids: readonly string[]): Promise<ReadonlySet<string>> {
    return this.#patiently(({ db }) => {
      const has = db.prepare(`SELECT 1 FROM ${this.#name} WHERE id = ?`);
      return new Set(ids.filter((id) => has.get(id) !== undefined));
    });
  }

  #change(change: string, ids: readonly string[] | null): Promise<number> {
    const where = "problem IS NOT NULL";
    return this.#patiently(({ db }) =>
      immediately(db, () => {
        if (ids === null) return db.prepare(`${change} WHERE ${where}`).run().changes;
        const one = db.prepare(`${change} WHERE id = ? AND ${where}`);
        return ids.reduce((sum, id) => sum + one.run(id).changes, 0);
      }),
    );
  }

  /** Tries again while the application has the file locked, and lets other work have its turn in between. */
  async #patiently<T>(work: (open: Open) => T): Promise<T> {
    const { clock } = this.#parts;
    const end = clock.monotonic() + PATIENCE_MS;
    for (;;) {
      try {
        return work(this.#opened());
      } catch (error) {
        if (!isBusy(error) || clock.monotonic() >= end || this.#isClosed) throw this.#faultOf(error);
        await new Promise<void>((resolve) => void clock.after(RETRY_MS, resolve));
      }
    }
  }

  #opened(): Open {
    if (this.#open !== null) return this.#open;
    if (this.#isClosed) throw new OutboxFault({ what: "it was closed", todo: "start webhookd again" });
    const { file } = this.#outbox.database;
    const { nativeBinding } = this.#parts;
    const inode = inodeOf(file);
    if (inode === null)
      throw new OutboxFault({ what: `there is no file ${file}`, todo: "create it, or correct [[outbox]] sqlite" });
    const db = new Database(file, { fileMustExist: true, timeout: BUSY_MS, ...(nativeBinding && { nativeBinding }) });
    try {
      // A row whose deletion was lost in a power cut would come again, when its key may be gone.
      db.pragma("synchronous = FULL");
      const columns = this.#columnsOf(db);
      return (this.#open = { db, inode, columns });
    } catch (error) {
      db.close();
      throw error;
    }
  }

  #columnsOf(db: Database.Database): ReadonlySet<string> {
    const [name, schema = "main"] = this.#outbox.table.split(".").toReversed();
    const columns = new Set(
      db.prepare<[string, string], string>("SELECT name FROM pragma_table_info(?, ?)").pluck().all(name!, schema),
    );
    requireColumns(this.#outbox, columns);
    return columns;
  }

  #faultOf(error: unknown): unknown {
    if (!(error instanceof Error) || error instanceof OutboxFault || !("code" in error)) return error;
    const { file } = this.#outbox.database;
    const code = String(error.code);
    // The next call sees what has become of the file.
    if (!isBusy(error)) this.drop();
    if (isBusy(error))
      return new OutboxFault(
        {
          what: `${file} has been locked for ${PATIENCE_MS / 1000} s`,
          todo: "see which process keeps a transaction open",
        },
        error,
      );
    if (
      code.startsWith("SQLITE_READONLY") ||
      code.startsWith("SQLITE_CANTOPEN") ||
      code === "EACCES" ||
      code === "SQLITE_PERM"
    )
      return new OutboxFault(
        {
          what: `${file} cannot be written: ${error.message}`,
          todo: "let the user of webhookd write the file and its folder",
        },
        error,
      );
    if (code.startsWith("SQLITE_FULL"))
      return new OutboxFault({ what: `the disk of ${file} is full`, todo: "free space on it" }, error);
    if (code === "SQLITE_ERROR")
      return new OutboxFault(
        { what: error.message, todo: `compare the table with the output of ${printedBy(this.#outbox)}` },
        error,
      );
    return new OutboxFault({ what: `${file} cannot be used: ${error.message}`, todo: "see the message" }, error);
  }
}

/** SQLite's own functions write instants with a space, or in ISO 8601. An instant of another form is shown as it is. */
const CREATED = "CAST(coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', created_at), created_at) AS TEXT)";

/** Takes the lock of writers at once, so that the work does not fail in the middle. */
function immediately<T>(db: Database.Database, work: () => T): T {
  return db.transaction(work).immediate();
}

function inodeOf(file: string): number | null {
  return statSync(file, { throwIfNoEntry: false })?.ino ?? null;
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && "code" in error && /^SQLITE_(BUSY|LOCKED)/.test(String(error.code));
}
