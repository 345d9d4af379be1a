/**
 * The changes to a file that is moved while its daemon runs. Triggers list the keys of changed rows in the transactions
 * that change them, so the daemon neither knows nor waits. Nothing is deleted from the list until the move is over. The
 * list has a maximum size, because a move may be abandoned: a full list grows no further, and is useless from then on.
 */
import { randomUUID } from "node:crypto";
import type { Database } from "better-sqlite3";
import { TENANT } from "./file-rows.ts";
import { TABLES, type Changes, type Key, type Table, type Value } from "./tables.ts";

const SOME = 2000;
const BUSY_MS = 5000;
const LOG = "moving_change";
/** The number of rows at which the list is full, about 700 MB. */
export const FULL = 20_000_000;
const LAST = `coalesce((SELECT max(n) FROM ${LOG}), 0)`;
/** The version of the row whose key is listed. */
const KINDS = { INSERT: "NEW", UPDATE: "NEW", DELETE: "OLD" } as const;

export class FileLog {
  readonly #db: Database;
  #seen = 0;

  constructor(db: Database) {
    this.#db = db;
  }

  /**
   * Returns the id of this list, which distinguishes it from others. Returns null if there is none, or if it is full.
   */
  id(): string | null {
    const id = this.#begun();
    if (id === null) return null;
    return this.#db.prepare<[], number>(`SELECT ${LAST}`).pluck().get()! < FULL ? id : null;
  }

  isFull(): boolean {
    return this.#begun() !== null && this.id() === null;
  }

  #begun(): string | null {
    return this.#db.prepare<[], string>("SELECT value FROM meta WHERE name = 'moving_out'").pluck().get() ?? null;
  }

  begin(): string {
    this.end();
    const now = this.#db.prepare<[], number>("SELECT CAST(unixepoch('subsec') * 1000 AS INTEGER)").pluck().get()!;
    // The id begins with the time at which the list was started.
    const id = `${now}-${randomUUID()}`;
    const columns = widest.map((_, at) => columnOf(at)).join();
    this.#change(() => {
      this.#db.exec(`CREATE TABLE ${LOG} (n INTEGER PRIMARY KEY, name TEXT NOT NULL, ${columns});
        ${TABLES.flatMap((table) => triggersOf(table)).join("\n")}`);
      this.#db.prepare("INSERT INTO meta (name, value) VALUES ('moving_out', ?)").run(id);
    });
    return id;
  }

  end(): void {
    if (this.#begun() === null) return;
    const names = this.#db
      .prepare<[], string>(
        "SELECT name FROM sqlite_schema WHERE type = 'trigger' AND name LIKE 'moving\\_%' ESCAPE '\\'",
      )
      .pluck()
      .all();
    this.#change(() => {
      for (const name of names) this.#db.exec(`DROP TRIGGER ${name}`);
      this.#db.exec(`DROP TABLE ${LOG}; DELETE FROM meta WHERE name = 'moving_out'`);
    });
  }

  /** Begins after that row of the list. */
  startSnapshot(seen: number): void {
    this.#seen = seen;
  }

  changes(): Changes {
    const rows = this.#db
      .prepare<[number], [number, string, ...Value[]]>(`SELECT * FROM ${LOG} WHERE n > ? ORDER BY n LIMIT ${SOME}`)
      .raw()
      .all(this.#seen);
    this.#seen = rows.at(-1)?.[0] ?? this.#seen;
    const keys = new Map<string, Map<string, Key>>();
    for (const [, name, ...values] of rows) {
      let some = keys.get(name);
      if (some === undefined) keys.set(name, (some = new Map()));
      const key = values.slice(0, WIDTHS.get(name));
      some.set(key.join("\t"), key);
    }
    return {
      seen: this.#seen,
      keys: new Map([...keys].map(([name, some]) => [name, [...some.values()]])),
      count: rows.length,
    };
  }

  /** Makes the daemon wait no longer than for its own commits, because this is not flushed. */
  #change(work: () => void): void {
    this.#db.pragma(`busy_timeout = ${BUSY_MS}`);
    this.#db.pragma("synchronous = NORMAL");
    this.#db.transaction(work).immediate();
  }
}

const WIDTHS = new Map(TABLES.map(({ group, groupKey }) => [group, groupKey.length]));
const widest = Array.from({ length: Math.max(...WIDTHS.values()) });
const columnOf = (at: number) => `key${at}`;

function triggersOf({ name, group, groupKey, names }: Table): string[] {
  const columns = groupKey.map((_, at) => columnOf(at)).join();
  return Object.entries(KINDS).map(([kind, row]) => {
    const values = groupKey.map((column) => {
      if (name === "counter" && column === "subject") return subjectOf(row);
      const of = names[column];
      return of === undefined ? `${row}."${column}"` : `(SELECT name FROM ${of} WHERE num = ${row}."${column}")`;
    });
    return `CREATE TRIGGER moving_${name}_${kind.toLowerCase()} AFTER ${kind} ON ${name} WHEN ${LAST} < ${FULL} BEGIN
      INSERT INTO ${LOG} (name, ${columns}) VALUES ('${group}', ${values.join()}); END;`;
  });
}

const subjectOf = (row: string) => `CASE WHEN ${row}.subject = 0 THEN ''
  WHEN ${row}.subject < 0 THEN '${TENANT}' || (SELECT name FROM tenant WHERE num = -${row}.subject)
  ELSE (SELECT id FROM endpoint WHERE number = ${row}.subject) END`;
