/**
 * Writes the database anew without its free pages, for a store that no daemon has open. The new file is made whole and
 * checked beside the old one, and takes its place by the renames of a restore: a crash leaves the one or the other.
 */
import { closeSync, existsSync, openSync, rmSync, statSync } from "node:fs";
import { statfs as systemStatfs } from "node:fs/promises";
import { join } from "node:path";
import type { Database } from "better-sqlite3";
import type { Clock } from "../../clock.ts";
import { syncDirectory, syncFile } from "../files/durable-file.ts";
import { StoreRefused } from "../files/refused.ts";
import type { StatFs } from "../sqlite/engine/condition.ts";
import {
  openDatabase,
  openFile,
  openingRefusal,
  shapePages,
  type NativeBinding,
} from "../sqlite/engine/open-database.ts";
import { MIGRATIONS } from "../sqlite/engine/schema.ts";
import { takeLock } from "./lock.ts";
import { commitReplacement, finishRestore, isBegun, removeStaged, stagedFile } from "./restore-files.ts";

export interface CompactOptions {
  readonly dir: string;
  readonly clock: Clock;
  readonly nativeBinding?: NativeBinding | undefined;
  readonly statfs?: StatFs;
}

/** The size of the database. */
export interface Compacted {
  readonly bytesBefore: number;
  readonly bytesAfter: number;
}

/** Throws `StoreRefused` when it cannot be done; then the store is as it was. */
export async function compactStore(options: CompactOptions): Promise<Compacted> {
  const { dir, clock, nativeBinding } = options;
  const database = join(dir, "webhookd.db");
  const noStore = new StoreRefused(1, `there is no store in ${dir}`, "name another with --data-dir");
  if (!existsSync(dir)) throw noStore;
  const lock = takeLock(dir, clock.now(), nativeBinding);
  try {
    finishRestore(dir);
    if (!existsSync(database)) throw noStore;
    const { db } = openDatabase(database, { nativeBinding, mayCreate: false, wanted: MIGRATIONS.length });
    const staged = stagedFile(dir, "webhookd.db");
    try {
      await requireSpace(db, options);
      // Nobody else may read it, not even while it is made; an empty file is taken for one that is not there.
      closeSync(openSync(staged, "w", 0o600));
      shapePages(db);
      db.exec(`VACUUM INTO '${staged.replaceAll("'", "''")}'`);
      requireSame(db, staged, nativeBinding);
    } finally {
      db.close();
    }
    const bytesBefore = statSync(database).size;
    syncFile(staged);
    syncDirectory(dir);
    commitReplacement(dir, `.before-compact-${new Date(clock.now()).toISOString().replaceAll(/[-:.]/g, "")}`);
    for (const name of finishRestore(dir)?.kept ?? []) rmSync(join(dir, name));
    return { bytesBefore, bytesAfter: statSync(database).size };
  } catch (error) {
    // Renames that were begun are for the next start to finish.
    if (!isBegun(dir)) removeStaged(dir);
    throw openingRefusal(error, database, "start webhookd: it repairs what it can");
  } finally {
    lock.release();
  }
}

async function requireSpace(db: Database, { dir, statfs = systemStatfs }: CompactOptions): Promise<void> {
  const number = (name: string) => db.pragma(name, { simple: true }) as number;
  const needed = (number("page_count") - number("freelist_count")) * number("page_size");
  const { bavail, bsize } = await statfs(dir);
  if (bavail * bsize >= needed) return;
  const what = `the compacted database needs ${needed} bytes beside the old one, and ${bavail * bsize} are free in ${dir}`;
  throw new StoreRefused(74, what, "free some space, or make the disk larger; nothing was changed");
}

/** What was written is sound, and has as many rows in each table. */
function requireSame(db: Database, file: string, nativeBinding: NativeBinding | undefined): void {
  const written = openFile(file, { timeout: 0, nativeBinding, readonly: true });
  try {
    const found = written.pragma("quick_check(1)", { simple: true });
    if (found !== "ok") throw new Error(`the compacted database is damaged: ${String(found)}`);
    const [before, after] = [rowsOf(db), rowsOf(written)];
    if (before !== after) throw new Error(`the compacted database contains ${after} instead of ${before}`);
  } finally {
    written.close();
  }
}

function rowsOf(db: Database): string {
  const names = db
    .prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
    .pluck()
    .all();
  const rows = (name: string) => db.prepare<[], number>(`SELECT count(*) FROM ${name}`).pluck().get()!;
  return names.map((name) => `${name} ${rows(name)}`).join(", ");
}
