/**
 * Copies a database from a snapshot that is held all the while, and checks the copy.
 *
 * The copy is written out every few megabytes, with a rest as long as the writing took: of all ways measured this one
 * makes publishes wait least. Steps on the writer's own connection, `VACUUM INTO`, and a copy that is flushed at its end
 * each had commits wait several times as long for the disk. Meanwhile the WAL grows by what is committed.
 */
import { createHash } from "node:crypto";
import { closeSync, fsyncSync, openSync, readSync, statSync } from "node:fs";
import type { Database } from "better-sqlite3";
import { systemClock } from "../../clock.ts";
import { Meta } from "../sqlite/engine/meta.ts";
import { openFile, type NativeBinding } from "../sqlite/engine/open-file.ts";

export interface Copying {
  readonly database: string;
  /** Made here; must not be there yet. */
  readonly target: string;
  readonly mark: CopyMark;
  readonly nativeBinding: NativeBinding | undefined;
}

/** What tells the copy from the store. */
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

/** Rejects with the system's error or SQLite's; what is half done stays for the caller to remove. */
export async function copyDatabase({ database, target, mark, nativeBinding }: Copying): Promise<BackupFacts> {
  const file = openSync(target, "wx", 0o600);
  try {
    const source = openFile(database, { timeout: BUSY_MS, nativeBinding, readonly: true });
    let wanted: Contents;
    try {
      // The snapshot: without it each commit of the writer would begin the copy anew.
      source.exec("BEGIN");
      wanted = contentsOf(source);
      await source.backup(target, { progress: paced(file) });
    } finally {
      source.close();
    }
    const options = { timeout: BUSY_MS, nativeBinding };
    const written = openFile(target, options);
    // One file, with nothing beside it that could be forgotten or mixed up.
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
  throw new Error(`the copy holds ${JSON.stringify(there)} in place of ${JSON.stringify(wanted)}`);
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
