/** Copies of a database, and the directory in which they are kept. */
import { createHash } from "node:crypto";
import { closeSync, fsyncSync, openSync, readSync, statSync, readdirSync, renameSync, rmSync } from "node:fs";
import type { Database } from "better-sqlite3";
import { systemClock } from "../../clock.ts";
import { Meta } from "../sqlite/engine/meta.ts";
import { openFile, type NativeBinding } from "../sqlite/engine/open-database.ts";
import { join } from "node:path";
import { makeDirectory, syncDirectory } from "../files/durable-file.ts";
import { StoreRefused } from "../files/refused.ts";
import { isDamage, type StatFs } from "../sqlite/engine/condition.ts";

export interface Copying {
  readonly database: string;
  /** The path at which the copy is made. No file may exist there. */
  readonly target: string;
  readonly mark: CopyMark;
  readonly nativeBinding: NativeBinding | undefined;
}

/** Marks that distinguish the copy from the store. */
export interface CopyMark {
  readonly at: number;
  readonly sealedKey: string | null;
}

export interface BackupFacts {
  readonly bytes: number;
  readonly schema: number;
  readonly endpoints: number;
  readonly events: number;
  readonly sha256: string;
}

type Contents = Omit<BackupFacts, "bytes" | "sha256">;

const STEP_PAGES = 1024;
const MIN_REST_MS = 1;
const BUSY_MS = 5000;
const CHUNK_BYTES = 1024 * 1024;

/**
 * Copies from one snapshot, and checks the copy. Rejects with the system's error or SQLite's; the caller removes what
 * is unfinished. The copy is flushed every few megabytes, with a pause as long as the flush took. This delays publishes
 * less than any other method that was measured. Steps on the writer's own connection, `VACUUM INTO`, and a copy that is
 * flushed at its end each made commits wait several times as long for the disk. During the copy, the WAL grows by what
 * is committed.
 */
export async function copyDatabase({ database, target, mark, nativeBinding }: Copying): Promise<BackupFacts> {
  const file = openSync(target, "wx", 0o600);
  try {
    const source = openFile(database, { timeout: BUSY_MS, nativeBinding, readonly: true });
    let wanted: Contents;
    try {
      // Hold a snapshot. Without it, each commit of the writer would restart the copy.
      source.exec("BEGIN");
      try {
        wanted = contentsOf(source);
      } catch (error) {
        if (!isDamage(error)) throw error;
        throw new Error(`the database is damaged: ${(error as Error).message}`, { cause: error });
      }
      await source.backup(target, { progress: paced(file) });
    } finally {
      source.close();
    }
    const options = { timeout: BUSY_MS, nativeBinding };
    const written = openFile(target, options);
    // Keep the copy in one file, so that nothing beside it could be forgotten or mixed up.
    written.pragma("journal_mode = DELETE");
    new Meta(written).markCopy(mark.at, mark.sealedKey);
    written.close();
    fsyncSync(file);
    const checked = openFile(target, { ...options, readonly: true });
    try {
      check(checked, wanted);
    } finally {
      checked.close();
    }
    return { ...wanted, bytes: statSync(target).size, sha256: hashOf(target) };
  } finally {
    closeSync(file);
  }
}

function paced(file: number): () => number {
  const never = new Int32Array(new SharedArrayBuffer(4));
  let begun = systemClock.monotonic();
  return () => {
    fsyncSync(file);
    Atomics.wait(never, 0, 0, Math.max(MIN_REST_MS, systemClock.monotonic() - begun));
    begun = systemClock.monotonic();
    return STEP_PAGES;
  };
}

function contentsOf(db: Database): Contents {
  const number = (sql: string) => db.prepare<[], number>(sql).pluck().get()!;
  return {
    schema: number("PRAGMA user_version"),
    endpoints: number("SELECT count(*) FROM endpoint WHERE deleted_at IS NULL"),
    events: number("SELECT count(*) FROM event"),
  };
}

function check(db: Database, wanted: Contents): void {
  const found = db.pragma("quick_check(1)", { simple: true });
  if (found !== "ok") throw new Error(`the copy is damaged: ${String(found)}`);
  const there = contentsOf(db);
  if (JSON.stringify(there) === JSON.stringify(wanted)) return;
  throw new Error(`the copy contains ${JSON.stringify(there)} instead of ${JSON.stringify(wanted)}`);
}

function hashOf(path: string): string {
  const hash = createHash("sha256");
  const chunk = Buffer.alloc(CHUNK_BYTES);
  const file = openSync(path, "r");
  try {
    for (let read = readSync(file, chunk); read > 0; read = readSync(file, chunk)) hash.update(chunk.subarray(0, read));
  } finally {
    closeSync(file);
  }
  return hash.digest("hex");
}

const NAME = /^webhookd-\d{8}T\d{9}Z\.db$/;
const PARTIAL = /^webhookd-(schema-\d+-to-\d+-)?\d{8}T\d{9}Z\.db\.partial(-journal|-wal|-shm)?$/;

/** The directory of backups. Each backup is a file named by its instant. Other files there are left alone. */
export class BackupDirectory {
  readonly #dir: string;
  readonly #kind: string;

  /**
   * `kind` begins the names of copies that are made before a migration. Throws the system's error if the directory
   * cannot be used. Removes unfinished backups that a crash left behind.
   */
  constructor(dir: string, mayMake: boolean, kind = "") {
    this.#dir = dir;
    this.#kind = kind;
    // A configured directory that is gone may be on a disk that is not mounted, so do not create it.
    if (mayMake) makeDirectory(dir);
    if (!statSync(dir).isDirectory()) throw Object.assign(new Error("not a directory"), { code: "ENOTDIR" });
    this.#removeAll((name) => PARTIAL.test(name));
  }

  /** Returns the name of the file while it is incomplete. */
  partial(instant: number): string {
    return `${this.#file(instant)}.partial`;
  }

  /** Gives the file its final name. Returns its path, once the name is durable. */
  keep(instant: number): string {
    const file = this.#file(instant);
    renameSync(this.partial(instant), file);
    syncDirectory(this.#dir);
    return file;
  }

  /**
   * Removes all but the latest backups. Always keeps the one of `instant`, even if earlier ones have later times
   * because the clock was ahead.
   */
  prune(instant: number, keep: number): void {
    const others = this.#names((name) => NAME.test(name) && name !== nameOf(instant));
    const old = new Set(
      others
        .toSorted()
        .toReversed()
        .slice(keep - 1),
    );
    if (keep > 0) this.#removeAll((name) => old.has(name));
  }

  /** Removes all other copies of this kind. */
  keepOnly(instant: number): void {
    const kept = nameOf(instant, this.#kind);
    this.#removeAll(
      (name) => name.startsWith(`webhookd-${this.#kind}`) && name !== kept && name.length === kept.length,
    );
  }

  abandon(instant: number): void {
    rmSync(this.partial(instant), { force: true });
  }

  #file(instant: number): string {
    return join(this.#dir, nameOf(instant, this.#kind));
  }

  #names(wanted: (name: string) => boolean): string[] {
    return readdirSync(this.#dir).filter(wanted);
  }

  #removeAll(wanted: (name: string) => boolean): void {
    for (const name of this.#names(wanted)) rmSync(join(this.#dir, name), { force: true });
  }
}

/** Avoids colons, which some file systems refuse. */
function nameOf(instant: number, kind = ""): string {
  return `webhookd-${kind}${new Date(instant).toISOString().replaceAll(/[-:.]/g, "")}.db`;
}

/** The copy that is made before a migration. If the upgrade was a mistake, `webhookd restore` goes back to it. */
export interface CopyingBefore {
  readonly database: string;
  /** The directory in which backups are kept. */
  readonly dir: string;
  readonly mayMake: boolean;
  readonly from: number;
  readonly to: number;
  readonly now: number;
  readonly statfs: StatFs;
  readonly nativeBinding: NativeBinding | undefined;
}

/**
 * Returns the path of the copy. Keeps only the latest copy of the same step, so that repeated migrations do not fill
 * the disk.
 */
export async function copyBefore(options: CopyingBefore): Promise<string> {
  const { database, dir, mayMake, from, to, now, statfs, nativeBinding } = options;
  try {
    const directory = new BackupDirectory(dir, mayMake, `schema-${from}-to-${to}-`);
    const needed = sizeOf(database) + sizeOf(`${database}-wal`);
    const { bavail, bsize } = await statfs(dir);
    if (bavail * bsize < needed) throw Object.assign(new Error(`it needs ${needed} bytes`), { code: "ENOSPC" });
    try {
      await copyDatabase({
        database,
        target: directory.partial(now),
        mark: { at: now, sealedKey: null },
        nativeBinding,
      });
    } catch (error) {
      directory.abandon(now);
      throw error;
    }
    const file = directory.keep(now);
    directory.keepOnly(now);
    return file;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new StoreRefused(
      74,
      `the store cannot be copied into ${dir} before its migration from schema ${from} to ${to}: ${reason}`,
      "free some space there, or name another [backup] dir; nothing was changed",
      error,
    );
  }
}

/** Stats by name, which does not open the file. */
function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}
