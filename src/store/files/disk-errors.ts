/** What errors of the disk mean. Whether there is no room is asked of the system: SQLite says the same of a full disk, a quota, a limit for files and a broken disk. */
import { closeSync, fsyncSync, openSync, rmSync, writeSync } from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";

/** Of these nothing is on the disk; a failed fsync is another matter. */
const WRITES = /^SQLITE_(IOERR_(WRITE|TRUNCATE|SHMSIZE|SHMOPEN)|CANTOPEN)/;
const NO_ROOM = /^(ENOSPC|EDQUOT|EFBIG|SQLITE_FULL)$/;

/** Asks the system anew where the error leaves it open. */
export function isFull(error: unknown, dir: string, probe = refusedToWrite): boolean {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  return NO_ROOM.test(WRITES.test(code) ? (probe(dir) ?? "") : code);
}

const PROBE = Buffer.alloc(64 * 1024);

/** The system's code where a new file of some pages cannot be written; null where it can. */
export function refusedToWrite(dir: string): string | null {
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
    rmSync(path, { force: true });
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
