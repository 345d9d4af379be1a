/** Why a store is refused, and what errors of the disk mean. */
import { closeSync, fsyncSync, openSync, readFileSync, rmSync, statSync, writeSync } from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";
import { softLimitOf } from "../../domain/files.ts";

/** A page of the open database is not what was written there. The next opening takes over what can be read. */
export class StoreDamaged extends Error {
  override readonly name = "StoreDamaged";
  /** Of a process that cannot open it again by itself: the one that is started next can. */
  readonly exitCode = 74;
  readonly hint =
    "Start it again: what can be read is copied into a new database. Or restore a backup with: webhookd restore <file>";

  constructor(file: string, cause: Error) {
    super(`${file} is damaged: ${cause.message}`, { cause });
  }
}

/** A store that cannot be opened, as the daemon's last words: what is wrong, and what to do about it. */
export class StoreRefused extends Error {
  override readonly name = "StoreRefused";
  /** 1 refused, 65 the data is not what it should be, 74 the storage fails, 75 another daemon holds it. */
  readonly exitCode: 1 | 65 | 74 | 75;
  readonly hint: string;

  constructor(exitCode: 1 | 65 | 74 | 75, message: string, hint: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.exitCode = exitCode;
    this.hint = hint;
  }
}

/** A new store takes half of it, and what a start writes as much again. */
const START_BYTES = "4 MiB";

export function refusedFull(dir: string, cause: unknown): StoreRefused {
  const limited = reachedLimit(dir);
  if (limited !== null) return new StoreRefused(74, limited, RAISE_LIMIT, cause);
  const todo = `free at least ${START_BYTES} and a few files there (see df -h and df -i), then start it again`;
  return new StoreRefused(74, `the disk of ${dir} is full, and webhookd cannot start`, todo, cause);
}

/*
 * Whether there is no room is asked of the system: SQLite says the same of a full disk, a quota, a limit for files and a
 * broken disk.
 */

/** Of these nothing is on the disk; a failed fsync is another matter. */
const WRITES = /^SQLITE_(IOERR_(WRITE|TRUNCATE|SHMSIZE|SHMOPEN)|CANTOPEN)/;
const NO_ROOM = /^(ENOSPC|EDQUOT|EFBIG|SQLITE_FULL)$/;

/** Asks the system anew where the error leaves it open. */
export function isFull(error: unknown, dir: string, probe = refusedToWrite): boolean {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  return NO_ROOM.test(WRITES.test(code) ? (probe(dir) ?? "") : code);
}

const PROBE = Buffer.alloc(64 * 1024);
const GROWING = ["webhookd.db", "webhookd.db-wal"];

/** How large this process may make a file (RLIMIT_FSIZE); infinite where nothing says so. */
export function fileSizeLimit(): number {
  try {
    return softLimitOf(readFileSync("/proc/self/limits", "latin1"), "file size") ?? Infinity;
  } catch {
    return Infinity;
  }
}

/** What stands against a larger database, in a sentence; null where it is not the limit for files. */
export function reachedLimit(dir: string): string | null {
  const limit = fileSizeLimit();
  const sizeOf = (name: string) => statSync(join(dir, name), { throwIfNoEntry: false })?.size ?? 0;
  const file = limit === Infinity ? undefined : GROWING.find((name) => sizeOf(name) + PROBE.length > limit);
  return file === undefined ? null : `${file} has reached the limit of ${limit} bytes for a file of this process`;
}

export const RAISE_LIMIT = "raise it: LimitFSIZE=infinity in the unit, or ulimit -f unlimited in the shell";

/** The system's code where a new file of some pages cannot be written; null where it can. */
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
      // In a directory that this user may not look into, or on a broken disk: the answer stands.
    }
  }
}

/** Those that libuv has no name for: Node calls each of them UNKNOWN. */
const UNNAMED = new Map([[constants.errno.EDQUOT, "EDQUOT"]]);

/** The code of an error of the system or of SQLite; empty where it has none. */
export function systemCode(error: unknown): string {
  if (!(error instanceof Error) || !("code" in error)) return "";
  const { code, errno } = error as NodeJS.ErrnoException;
  return (code === "UNKNOWN" && UNNAMED.get(Math.abs(errno ?? 0))) || String(code);
}
