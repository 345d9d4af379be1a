/** The errors with which a store is refused, and the meaning of the disk's errors. */
import { closeSync, fsyncSync, openSync, readFileSync, rmSync, statSync, writeSync } from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";
import { softLimitOf } from "../../domain/files.ts";

/** A page of the open database does not contain what was written there. The next start saves what can be read. */
export class StoreDamaged extends Error {
  override readonly name = "StoreDamaged";
  /** The exit code of a process that cannot reopen the store itself, although the next process can. */
  readonly exitCode = 74;
  readonly hint =
    "Start it again: what can be read is copied into a new database. Or restore a backup with: webhookd restore <file>";

  constructor(file: string, cause: Error) {
    super(`${file} is damaged: ${cause.message}`, { cause });
  }
}

/** The store cannot be opened. The daemon's last words say what is wrong, and what to do about it. */
export class StoreRefused extends Error {
  override readonly name = "StoreRefused";
  /** 1: refused, 65: the data is wrong, 74: the storage failed, 75: another daemon holds the store. */
  readonly exitCode: 1 | 65 | 74 | 75;
  readonly hint: string;

  constructor(exitCode: 1 | 65 | 74 | 75, message: string, hint: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.exitCode = exitCode;
    this.hint = hint;
  }
}

/** A new store takes half of this, and a start writes the same amount again. */
const START_BYTES = "4 MiB";

export function refusedFull(dir: string, cause: unknown): StoreRefused {
  const limited = reachedLimit(dir);
  if (limited !== null) return new StoreRefused(74, limited, RAISE_LIMIT, cause);
  const todo = `free at least ${START_BYTES} and a few files there (see df -h and df -i), then start it again`;
  return new StoreRefused(74, `the disk of ${dir} is full, and webhookd cannot start`, todo, cause);
}

/*
 * We ask the system whether the disk is full, because SQLite reports a full disk, a quota, a file size limit and a
 * broken disk in the same way.
 */

/** After these errors nothing has reached the disk. After a failed fsync that is not certain. */
const WRITES = /^SQLITE_(IOERR_(WRITE|TRUNCATE|SHMSIZE|SHMOPEN)|CANTOPEN)/;
const NO_SPACE = /^(ENOSPC|EDQUOT|EFBIG|SQLITE_FULL)$/;

/** Returns true if the error means that there is no space. Tries a write if the error's code leaves that open. */
export function isFull(error: unknown, dir: string, probe = refusedToWrite): boolean {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  return NO_SPACE.test(WRITES.test(code) ? (probe(dir) ?? "") : code);
}

const PROBE = Buffer.alloc(64 * 1024);
const GROWING = ["webhookd.db", "webhookd.db-wal"];

/** Returns the maximum size of a file for this process (RLIMIT_FSIZE), or Infinity if it is unknown. */
export function fileSizeLimit(): number {
  try {
    return softLimitOf(readFileSync("/proc/self/limits", "latin1"), "file size") ?? Infinity;
  } catch {
    return Infinity;
  }
}

/** Returns a sentence if the file size limit keeps the database from growing, otherwise null. */
export function reachedLimit(dir: string): string | null {
  const limit = fileSizeLimit();
  const sizeOf = (name: string) => statSync(join(dir, name), { throwIfNoEntry: false })?.size ?? 0;
  const file = limit === Infinity ? undefined : GROWING.find((name) => sizeOf(name) + PROBE.length > limit);
  return file === undefined ? null : `${file} has reached the limit of ${limit} bytes for a file of this process`;
}

export const RAISE_LIMIT = "raise it: LimitFSIZE=infinity in the unit, or ulimit -f unlimited in the shell";

/** Returns the system's error code if a new file of some pages cannot be written, otherwise null. */
export function refusedToWrite(dir: string): string | null {
  if (reachedLimit(dir) !== null) return "EFBIG";
  const path = join(dir, "webhookd.probe");
  try {
    const file = openSync(path, "w", 0o600);
    try {
      for (let written = 0; written < PROBE.length;) written += writeSync(file, PROBE, written);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    return null;
  } catch (error) {
    return systemCode(error) || "EIO";
  } finally {
    try {
      rmSync(path, { force: true });
    } catch {
      // This user cannot look into the directory, or the disk is broken. Either way, the result stands.
    }
  }
}

/** Error codes for which libuv has no name, so that Node calls each of them UNKNOWN. */
const UNNAMED = new Map([[constants.errno.EDQUOT, "EDQUOT"]]);

/** Returns the code of an error of the system or of SQLite, or "" if it has none. */
export function systemCode(error: unknown): string {
  if (!(error instanceof Error) || !("code" in error)) return "";
  const { code, errno } = error as NodeJS.ErrnoException;
  return (code === "UNKNOWN" && UNNAMED.get(Math.abs(errno ?? 0))) || String(code);
}
