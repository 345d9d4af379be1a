/**
 * A model of the disk, under the real SQLite: transactions that do not begin, commits that fail before or after they
 * take effect, rollbacks that run or do not, a process that dies during a commit, and a power cut that loses whatever
 * was not synced.
 */
import { copyFileSync, existsSync, linkSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Database, Statement } from "better-sqlite3";
import { onPrepare, sqliteError } from "../harness/prepared.ts";
import type { Random } from "./random.ts";

export interface DiskFaults {
  /** True if nothing can be written. */
  full: boolean;
  /** The chance that a commit goes wrong. */
  commits: number;
  /** True if some of these faults end the process. */
  fatal: boolean;
  /** The chance that the process dies during a commit. */
  deaths: number;
}

export interface SimDiskParts {
  readonly dir: string;
  readonly random: Random;
  readonly faults: DiskFaults;
  /** The disk reports syncs that it does not do. */
  readonly lies: boolean;
  /** The disk reports commits that it undoes. */
  readonly forgets: boolean;
  /** Called when the process dies during a commit. */
  readonly onDeath: () => void;
}

/** The files of a closed store. */
export const STORE_FILES = ["webhookd.db", "secret.key", "admin.key", "STORE"];
const FILES = ["webhookd.db", "webhookd.db-wal"];
const KEPT = ["secret.key", "admin.key", "STORE"];
/** These files are large and contain only zeros, so the next process gets links instead of copies. */
const RESERVE = ["webhookd.reserve-wal", "webhookd.reserve-shm"];
const FULL_SYNC = 2;

const PASSING = ["SQLITE_FULL", "SQLITE_FULL", "SQLITE_BUSY", "SQLITE_BUSY"];
const FATAL = ["SQLITE_IOERR_WRITE", "SQLITE_IOERR_FSYNC"];

/** The disk of one process. */
export class SimDisk {
  /** Nothing goes wrong before this is set, because other tests open stores on bad disks. */
  armed = false;
  readonly #parts: SimDiskParts;
  readonly #detach: () => void;
  /** The directory with the files as they were before the first commit that was not synced. Null if all were synced. */
  #synced: string | null = null;
  #syncMode: Statement<[], number> | undefined;

  constructor(parts: SimDiskParts) {
    this.#parts = parts;
    this.#detach = onPrepare(join(parts.dir, "webhookd.db"), (...statement) => this.#prepare(...statement));
  }

  /** Makes all faults stop. */
  detach(): void {
    this.armed = false;
    this.#detach();
  }

  /**
   * Puts into `to` the files that the next process finds. If the power was cut, they lack everything that was not
   * synced.
   */
  leave(to: string, power: boolean): void {
    const { dir } = this.#parts;
    copy(power && this.#synced !== null ? this.#synced : dir, to, FILES);
    copy(dir, to, KEPT);
    for (const name of RESERVE) if (existsSync(join(dir, name))) linkSync(join(dir, name), join(to, name));
  }

  #prepare(sql: string, make: () => Statement, db: Database): Statement {
    const made = make() as Statement<[]>;
    const run = () => void made.run();
    if (sql === "BEGIN IMMEDIATE") return { run: () => this.#begin(run) } as never;
    if (sql === "ROLLBACK") return { run: () => this.#rollback(run) } as never;
    if (sql === "COMMIT") {
      this.#syncMode = db.prepare<[], number>("PRAGMA synchronous").pluck();
      const rollback = () => void db.exec("ROLLBACK");
      return { run: () => this.#commit(run, rollback) } as never;
    }
    return make();
  }

  #begin(run: () => void): void {
    if (this.#troubled(0.1)) throw sqliteError("SQLITE_BUSY");
    run();
  }

  #commit(commit: () => void, rollback: () => void): void {
    const { faults, forgets, onDeath, random } = this.#parts;
    if (!this.armed) return commit();
    if (forgets && random.chance(0.05)) return rollback();
    if (faults.full) throw this.#undone("SQLITE_FULL", rollback);
    if (faults.deaths > 0 && random.chance(faults.deaths)) {
      // The process dies before or after the commit takes effect. No caller gets a response.
      const before = random.chance(0.5);
      if (before) onDeath();
      this.#take(commit);
      return before ? undefined : onDeath();
    }
    if (!this.#troubled(1)) return this.#take(commit);
    const code = random.pick(faults.fatal ? [...PASSING, ...FATAL] : PASSING);
    if (code !== "SQLITE_IOERR_FSYNC") throw this.#undone(code, rollback);
    // The commit is written, but may be lost later.
    this.#keepSynced();
    commit();
    throw sqliteError(code);
  }

  #rollback(rollback: () => void): void {
    if (this.#parts.faults.fatal && this.#troubled(1)) throw sqliteError("SQLITE_IOERR_WRITE");
    rollback();
  }

  /** By the time SQLite reports some errors, it has already rolled back. */
  #undone(code: string, rollback: () => void): Error {
    if (this.#parts.random.chance(0.5)) rollback();
    return sqliteError(code);
  }

  #take(commit: () => void): void {
    const isSynced = !this.#parts.lies && this.#syncMode!.get() === FULL_SYNC;
    if (!isSynced) this.#keepSynced();
    commit();
    if (isSynced) this.#synced = null;
  }

  #keepSynced(): void {
    if (this.#synced !== null) return;
    this.#synced = `${this.#parts.dir}-synced`;
    copy(this.#parts.dir, this.#synced, FILES);
  }

  #troubled(share: number): boolean {
    const { faults, random } = this.#parts;
    return this.armed && faults.commits > 0 && random.chance(faults.commits * share);
  }
}

function copy(from: string, to: string, names: readonly string[]): void {
  mkdirSync(to, { recursive: true });
  for (const name of names) if (existsSync(join(from, name))) copyFileSync(join(from, name), join(to, name));
}
