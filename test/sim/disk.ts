/**
 * The disk as a model under the real SQLite: transactions that do not begin, commits that fail before or after they took
 * effect, rollbacks that run or do not, a process that dies in the middle of a commit, power that goes with what was not
 * synced.
 */
import { copyFileSync, existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Database, Statement } from "better-sqlite3";
import { onPrepare, sqliteError } from "../harness/prepared.ts";
import type { Random } from "./random.ts";
import { SimStatement } from "./statement.ts";

export interface DiskFaults {
  /** Nothing can be written. */
  full: boolean;
  /** Chance, for each commit, that something happens to it. */
  commits: number;
  /** Whether some of it ends the process. */
  fatal: boolean;
  /** Chance, for each commit, that the process dies in it. */
  deaths: number;
}

export interface SimDiskParts {
  readonly dir: string;
  readonly random: Random;
  readonly faults: DiskFaults;
  /** Says that it synced, and does not. */
  readonly lies: boolean;
  /** Says that it committed, and undoes. */
  readonly forgets: boolean;
  /** kill -9, in the middle of a commit. */
  readonly onDeath: () => void;
}

/** What a store that was closed leaves. */
export const STORE_FILES = ["webhookd.db", "secret.key", "admin.key", "STORE"];
const FILES = ["webhookd.db", "webhookd.db-wal"];
const KEPT = ["secret.key", "admin.key", "STORE"];
const FULL_SYNC = 2;

const PASSING = ["SQLITE_FULL", "SQLITE_FULL", "SQLITE_BUSY", "SQLITE_BUSY"];
const FATAL = ["SQLITE_IOERR_WRITE", "SQLITE_IOERR_FSYNC"];

/** The disk of one life of the process. */
export class SimDisk {
  /** Nothing goes wrong before it is armed: how a store opens on a bad disk is tested elsewhere. */
  armed = false;
  readonly #parts: SimDiskParts;
  readonly #detach: () => void;
  /** Where the files are as they were before the first commit that was not synced; null when all of them were. */
  #synced: string | null = null;
  #syncMode: Statement<[], number> | undefined;

  constructor(parts: SimDiskParts) {
    this.#parts = parts;
    this.#detach = onPrepare(join(parts.dir, "webhookd.db"), (...statement) => this.#prepare(...statement));
  }

  /** Nothing of it happens any more. */
  detach(): void {
    this.armed = false;
    this.#detach();
  }

  /** Leaves in `to` what the next process finds: with the power everything goes that was not synced. */
  leave(to: string, power: boolean): void {
    const { dir } = this.#parts;
    copy(power && this.#synced !== null ? this.#synced : dir, to, FILES);
    copy(dir, to, KEPT);
  }

  #prepare(sql: string, make: () => Statement, db: Database): Statement {
    let made: Statement<[]> | undefined;
    const run = () => void (made ??= make() as Statement<[]>).run();
    if (sql === "BEGIN IMMEDIATE") return { run: () => this.#begin(run) } as never;
    if (sql === "ROLLBACK") return { run: () => this.#rollback(run) } as never;
    if (sql === "COMMIT") {
      this.#syncMode = db.prepare<[], number>("PRAGMA synchronous").pluck();
      const rollback = () => void db.exec("ROLLBACK");
      return { run: () => this.#commit(run, rollback) } as never;
    }
    return new SimStatement(make) as never;
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
      // Before it took effect or after; whoever was to be answered never is.
      const before = random.chance(0.5);
      if (before) onDeath();
      this.#take(commit);
      return before ? undefined : onDeath();
    }
    if (!this.#troubled(1)) return this.#take(commit);
    const code = random.pick(faults.fatal ? [...PASSING, ...FATAL] : PASSING);
    if (code !== "SQLITE_IOERR_FSYNC") throw this.#undone(code, rollback);
    // It was written, and nobody knows whether it will be there.
    this.#keepSynced();
    commit();
    throw sqliteError(code);
  }

  #rollback(rollback: () => void): void {
    if (this.#parts.faults.fatal && this.#troubled(1)) throw sqliteError("SQLITE_IOERR_WRITE");
    rollback();
  }

  /** Of some errors SQLite has rolled back by the time that it tells. */
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
