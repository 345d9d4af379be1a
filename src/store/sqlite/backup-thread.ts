/**
 * Copies the database on a thread of its own, from a snapshot that is held all the while, and checks the copy.
 *
 * The copy is written out every few megabytes, with a rest as long as the writing took: of all ways measured this one
 * makes publishes wait least. Steps on the writer's own connection, `VACUUM INTO`, and a copy that is flushed at its end
 * each had commits wait several times as long for the disk. Meanwhile the WAL grows by what is committed.
 */
import { closeSync, fsyncSync, openSync, statSync } from "node:fs";
import { parentPort, workerData } from "node:worker_threads";
import type { Database } from "better-sqlite3";
import { systemClock } from "../../clock.ts";
import { openFile, type NativeBinding } from "./open-file.ts";

export interface BackupThreadData {
  readonly database: string;
  /** Made here; must not be there yet. */
  readonly target: string;
  readonly nativeBinding: NativeBinding | undefined;
}

export interface BackupFacts {
  readonly bytes: number;
  readonly schema: number;
  readonly endpoints: number;
  readonly events: number;
}

export type FromBackup =
  | { readonly done: BackupFacts }
  | { readonly failed: { readonly code: string; readonly message: string } };

const STEP_PAGES = 1024;
const MIN_REST_MS = 1;
const BUSY_MS = 5000;

copy(workerData as BackupThreadData).then(
  (done) => parentPort!.postMessage({ done } satisfies FromBackup),
  (error: unknown) => {
    const { code = "", message } = error as { code?: unknown; message?: unknown };
    parentPort!.postMessage({ failed: { code: String(code), message: String(message) } } satisfies FromBackup);
  },
);

async function copy({ database, target, nativeBinding }: BackupThreadData): Promise<BackupFacts> {
  const file = openSync(target, "wx", 0o600);
  try {
    const source = openFile(database, { timeout: BUSY_MS, nativeBinding, readonly: true });
    let wanted: Omit<BackupFacts, "bytes">;
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
    written.close();
    fsyncSync(file);
    const checked = openFile(target, { ...options, readonly: true });
    try {
      check(checked, wanted);
    } finally {
      checked.close();
    }
    return { ...wanted, bytes: statSync(target).size };
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

function contentsOf(db: Database): Omit<BackupFacts, "bytes"> {
  const number = (sql: string) => db.prepare<[], number>(sql).pluck().get()!;
  return {
    schema: number("PRAGMA user_version"),
    endpoints: number("SELECT count(*) FROM endpoint WHERE deleted_at IS NULL"),
    events: number("SELECT count(*) FROM event"),
  };
}

function check(db: Database, wanted: Omit<BackupFacts, "bytes">): void {
  const found = db.pragma("quick_check(1)", { simple: true });
  if (found !== "ok") throw new Error(`the copy is damaged: ${String(found)}`);
  const there = contentsOf(db);
  if (JSON.stringify(there) === JSON.stringify(wanted)) return;
  throw new Error(`the copy holds ${JSON.stringify(there)} in place of ${JSON.stringify(wanted)}`);
}
