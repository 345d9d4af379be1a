/** A store in the file of a data directory, as the source or the target of a move. */
import { randomBytes } from "node:crypto";
import { existsSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Database } from "better-sqlite3";
import { makeDataDirectory, syncDirectory, writeDurably } from "../files/durable-file.ts";
import { readOrMakeSecretKey } from "../files/key-files.ts";
import { StoreRefused } from "../files/refused.ts";
import { SetAside } from "../files/spare-files.ts";
import { refuseDamagedLog } from "../opening/damaged-log.ts";
import { takeLock, type Lock } from "../opening/lock.ts";
import { finishRestore, MARKER_TEXT, movedAside, MOVED_SUFFIX } from "../opening/restore-files.ts";
import { Causes } from "../sqlite/attempts/causes.ts";
import { Meta } from "../sqlite/engine/meta.ts";
import { applySteps, openDatabase, requireDurable, type NativeBinding } from "../sqlite/engine/open-database.ts";
import { MIGRATIONS } from "../sqlite/engine/schema.ts";
import { FileLog } from "./file-log.ts";
import { FileRows } from "./file-rows.ts";
import { slowerOf } from "./tables.ts";
import type { Facts, Key, Page, Place, Row, States, Table } from "./tables.ts";
import { KEPT_FIRST } from "../sqlite/attempts/attempt-columns.ts";
import { Box } from "../rows/box.ts";

/** The name of a file that is not complete yet. */
const STAGED = "webhookd.db.moving";
const TRIAL = "webhookd.db.trying";
/** The name of a file that is complete except for its name. */
export const WHOLE = "whole";
const NUMERIC = new Set(["last_instant", "young", "quick_deaths"]);

export interface FilePlace {
  readonly dir: string;
  readonly secretKeyFile: string;
  readonly now: number;
  readonly nativeBinding?: NativeBinding | undefined;
}

export class FileSide {
  readonly name: string;
  readonly box: Box;
  readonly #place: FilePlace;
  #lock: Lock | null = null;
  #file = "";
  #db: Database | null = null;
  #rows: FileRows | null = null;
  #log: FileLog | null = null;
  /** Deliveries that were copied again, so that the cause of their failure may have changed. */
  #again: Key[] = [];

  /**
   * Takes the lock, unless a daemon may keep the store open. The key must already exist, because it opens what the
   * other side has.
   */
  constructor(place: FilePlace, beside: boolean) {
    const { dir, secretKeyFile: file } = place;
    makeDataDirectory({ dir, create: true });
    this.#place = place;
    this.name = dir;
    try {
      if (!beside) this.#takeLock();
      this.box = new Box(readOrMakeSecretKey({ file, mayCreate: false, random: randomBytes }), randomBytes);
    } catch (error) {
      this.#lock?.release();
      throw error;
    }
  }

  close(): void {
    this.#db?.close();
    this.#lock?.release();
  }

  /** Returns true if no daemon has the store. From then on none can. */
  async tryLock(): Promise<boolean> {
    try {
      if (this.#lock === null) this.#takeLock();
      return true;
    } catch (error) {
      if (error instanceof StoreRefused && error.exitCode === 75) return false;
      throw error;
    }
  }

  #takeLock(): void {
    const { dir, now, nativeBinding } = this.#place;
    this.#lock = takeLock(dir, now, nativeBinding);
    finishRestore(dir);
    refuseDamagedLog({ dir, lock: this.#lock });
  }

  // --- as the source of the move ---

  /** Returns false if the store was moved away before. */
  beginSource(): boolean {
    const { dir, secretKeyFile } = this.#place;
    const database = join(dir, "webhookd.db");
    const moved = movedAside(dir);
    this.#file = existsSync(database) || moved === null ? database : join(dir, moved);
    if (!existsSync(this.#file))
      throw new StoreRefused(1, `there is no store in ${dir}`, "name another directory with --data-dir");
    const version = this.#open(this.#file, false);
    if (version < MIGRATIONS.length) {
      const what = `the store in ${dir} has schema ${version}, but this webhookd needs ${MIGRATIONS.length}`;
      throw new StoreRefused(1, what, `webhookd migrate --data-dir ${dir}`);
    }
    const meta = new Meta(this.#opened());
    meta.requireKey(this.box, secretKeyFile);
    if (meta.copiedAt !== null || new SetAside(dir).isThere) {
      const what = `the store in ${dir} was restored or damaged, and no daemon has been started on it since`;
      throw new StoreRefused(1, what, "start the daemon once, check what is due, and stop it");
    }
    return this.#file === database;
  }

  /** Everything that is read until `endSnapshot` is from one moment. */
  startSnapshot(seen: number): void {
    this.log.startSnapshot(seen);
    this.#opened().exec("BEGIN");
  }

  endSnapshot(): void {
    this.#opened().exec("COMMIT");
  }

  get log(): FileLog {
    return (this.#log ??= new FileLog(this.#opened()));
  }

  /** Renames the whole store to a name that contains the time. From here on no daemon starts on it. */
  retire(): void {
    const { dir, now } = this.#place;
    this.#opened().pragma("wal_checkpoint(TRUNCATE)");
    this.#closeFile();
    const at = new Date(now).toISOString().replaceAll(/[-:.]/g, "");
    const kept = join(dir, `webhookd.db${MOVED_SUFFIX}${at}`);
    renameSync(this.#file, kept);
    for (const end of ["-wal", "-shm"]) rmSync(this.#file + end, { force: true });
    syncDirectory(dir);
    this.#file = kept;
    this.#open(kept, false);
    this.#log = null;
    this.log.end();
    this.#closeFile();
  }

  #closeFile(): void {
    this.#db?.close();
    this.#db = null;
  }

  // --- as the target of the move ---

  /** Returns null if there is nothing yet, and "whole" if only the final name is missing. */
  beginTarget(dry: boolean): string | null {
    const { dir } = this.#place;
    if ((statSync(join(dir, "webhookd.db"), { throwIfNoEntry: false })?.size ?? 0) > 0) {
      throw new StoreRefused(1, `there is a store in ${dir} already`, "name an empty directory with --data-dir");
    }
    // A trial never touches the files of a real move.
    this.#file = join(dir, dry ? TRIAL : STAGED);
    if (dry) this.forget();
    const version = this.#open(this.#file, true);
    const db = this.#opened();
    // If a power cut undoes rows, it undoes the recorded place of the copy with them.
    db.pragma("synchronous = NORMAL");
    // Beside a daemon, a row may arrive before the row that it refers to. The end checks that no row is missing.
    db.pragma("foreign_keys = OFF");
    if (version === 0) applySteps(db, 0, { migrations: MIGRATIONS });
    const fact = db.prepare<[string], string>("SELECT value FROM meta WHERE name = ?").pluck();
    return fact.get("moving_in") ?? (fact.get("key_id") === undefined ? null : WHOLE);
  }

  startCopy(state: string): void {
    this.#opened().prepare("INSERT OR REPLACE INTO meta (name, value) VALUES ('moving_in', ?)").run(state);
  }

  async transaction({ before, after }: States, work: () => Promise<void>): Promise<void> {
    const db = this.#opened();
    db.exec("BEGIN IMMEDIATE");
    try {
      await work();
      const causes = this.#again.length > 0 ? new Causes(db) : null;
      for (const [event, endpoint] of this.#again.splice(0)) causes!.note(Number(event), Number(endpoint));
      const sql = "UPDATE meta SET value = ? WHERE name = 'moving_in' AND value = ?";
      const { changes } = db.prepare(sql).run(after(), before);
      if (changes !== 1) throw new StoreRefused(75, `another move is writing into ${this.name}`, "wait until it ends");
    } catch (error) {
      db.exec("ROLLBACK");
      throw error;
    }
    db.exec("COMMIT");
  }

  add(table: Table, rows: readonly Row[]): void {
    const write = this.#fileRows().writer(table);
    for (const row of rows) write(row);
  }

  remove(table: Table, keys: readonly Key[]): void {
    this.#fileRows().remove(table, keys);
    if (table.name === "delivery") this.#again.push(...keys);
  }

  /** Computes what depends on all rows, once they are complete. From then on each commit is flushed. */
  settle(): void {
    const db = this.#opened();
    const meta = new Meta(db);
    const causes = new Causes(db);
    meta.causesNoted = Number.MAX_SAFE_INTEGER;
    while (db.transaction(() => causes.noteSome(meta)).immediate());
    db.pragma("synchronous = FULL");
  }

  /** Gives the store its final name, which puts it into use. */
  finish(facts: Facts): void {
    const { dir } = this.#place;
    const db = this.#opened();
    if (Object.keys(facts).length > 0) this.#complete(facts);
    const broken = db.pragma("foreign_key_check") as readonly { readonly table: string }[];
    if (broken.length > 0)
      throw new StoreRefused(65, `${broken[0]!.table} refers to rows that do not exist`, "please report this");
    requireDurable(db);
    db.pragma("wal_checkpoint(TRUNCATE)");
    db.close();
    this.#db = null;
    renameSync(this.#file, join(dir, "webhookd.db"));
    syncDirectory(dir);
    writeDurably(join(dir, "STORE"), MARKER_TEXT);
  }

  /** Removes the file of a trial. */
  forget(): void {
    this.#closeFile();
    for (const end of ["", "-wal", "-shm"]) rmSync(this.#file + end, { force: true });
  }

  #complete(facts: Facts): void {
    const db = this.#opened();
    db.pragma("synchronous = FULL");
    const set = db.prepare("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)");
    const all = db.transaction(() => {
      for (const [name, value] of Object.entries(facts)) set.run(name, NUMERIC.has(name) ? Number(value) : value);
      set.run("fresh_from", this.lastEvent() + 1);
      const [event, endpoint] = (facts.responses_forgotten ?? "-1,-1,-1").split(",");
      set.run("first_responses_forgotten", `${event},${endpoint}`);
      // Once no endpoint uses a URL any more, it is removed with its last attempt.
      db.exec(`UPDATE url SET left_at = (SELECT coalesce(max(key), 0) FROM event)
          WHERE name NOT IN (SELECT url FROM endpoint WHERE deleted_at IS NULL);
        DELETE FROM meta WHERE name = 'moving_in'`);
    });
    all.immediate();
  }

  // --- for both sides ---

  facts(names: readonly string[]): Facts {
    const db = this.#opened();
    const rows = db.prepare<[], { name: string; value: string | number }>("SELECT name, value FROM meta").all();
    const all = new Map(rows.map(({ name, value }) => [name, String(value)]));
    if (all.get("pause") === "null") all.delete("pause");
    // Merge the two walks into one, which starts where the slower one was.
    all.set("responses_forgotten", slowerOf(all.get("responses_forgotten"), all.get("first_responses_forgotten")));
    return Object.fromEntries([...all].filter(([name]) => names.includes(name)));
  }

  lastEvent(): number {
    return this.#opened().prepare<[], number | null>("SELECT max(key) FROM event").pluck().get() ?? 0;
  }

  count({ name }: Table): number {
    const count = (from: string) => this.#opened().prepare<[], number>(`SELECT count(*) FROM ${from}`).pluck().get()!;
    return name === "attempt" ? count("attempt") + count(KEPT_FIRST) : count(name);
  }

  bytes(): number {
    return statSync(this.#file).size;
  }

  page(table: Table, after: Place | null): Page {
    return this.#fileRows().page(table, after);
  }

  rowsOf(table: Table, keys: readonly Key[]): readonly Row[] {
    return this.#fileRows().rowsOf(table, keys);
  }

  #open(file: string, mayCreate: boolean): number {
    const { nativeBinding } = this.#place;
    const { db, version } = openDatabase(file, { nativeBinding, mayCreate, wanted: MIGRATIONS.length });
    this.#db = db;
    return version;
  }

  #opened(): Database {
    if (this.#db === null) throw new Error("the file is closed");
    return this.#db;
  }

  #fileRows(): FileRows {
    return (this.#rows ??= new FileRows(this.#opened()));
  }
}
