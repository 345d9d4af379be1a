/** The copy that is made before a migration: what `webhookd restore` goes back to when the upgrade was a mistake. */
import { statSync } from "node:fs";
import { BackupDirectory } from "./backup-directory.ts";
import { StoreRefused } from "../files/refused.ts";
import { copyDatabase } from "./copy.ts";
import type { StatFs } from "../sqlite/engine/condition.ts";
import type { NativeBinding } from "../sqlite/engine/open-file.ts";

export interface CopyingBefore {
  readonly database: string;
  /** Where backups are kept. */
  readonly dir: string;
  readonly mayMake: boolean;
  readonly from: number;
  readonly to: number;
  readonly now: number;
  readonly statfs: StatFs;
  readonly nativeBinding: NativeBinding | undefined;
}

/** Its path. Of the same step only the latest is kept: a migration that is tried again and again fills no disk. */
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
      `the copy that is made before the migration from schema ${from} to ${to} cannot be written into ${dir}: ${reason}`,
      "make room there, or name another [backup] dir; nothing was changed",
      error,
    );
  }
}

/** By its name, which opens nothing. */
function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}
