/**
 * Replaces the store of a data directory with a backup. Everything is first tried on a copy beside the old store, so
 * that damage, a schema that is too new, a wrong key or a full disk changes nothing.
 */
import { randomBytes } from "node:crypto";
import {
  chmodSync,
  closeSync,
  copyFileSync,
  existsSync,
  fsyncSync,
  openSync,
  readSync,
  realpathSync,
  rmdirSync,
  rmSync,
  statSync,
} from "node:fs";
import { statfs as systemStatfs } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Clock } from "../../clock.ts";
import { parseToken } from "../../domain/caller.ts";
import { keyTextOf, readOrMakeAdminKey, writeSecretKey } from "../files/key-files.ts";
import { SetAside } from "../files/spare-files.ts";
import { makeDataDirectory, syncDirectory } from "../files/durable-file.ts";
import { StoreRefused, systemCode } from "../files/refused.ts";
import { commitRestore, finishRestore, isBegun, removeStaged, stagedFile } from "../opening/restore-files.ts";
import { findKey, type FoundKey, type KeySources } from "./restore-key.ts";
import type { StatFs } from "../sqlite/engine/condition.ts";
import { takeLock } from "../opening/lock.ts";
import { openingRefusal, type NativeBinding } from "../sqlite/engine/open-database.ts";
import { MIGRATIONS, type Migration } from "../sqlite/engine/schema.ts";
import { copiedAt, StagedBackup, type BackupContents } from "./staged-backup.ts";

export interface RestoreOptions extends KeySources {
  readonly dir: string;
  readonly backup: string;
  readonly clock: Clock;
  readonly nativeBinding?: NativeBinding | undefined;
  /** Called before anything is replaced, with what is known about the backup. */
  readonly confirm: (found: FoundBackup) => Promise<boolean>;
  readonly random?: (bytes: number) => Uint8Array;
  readonly statfs?: StatFs;
  readonly migrations?: readonly Migration[];
}

export interface FoundBackup extends BackupContents {
  /** The schema in the backup. */
  readonly schema: number;
  /** True if the directory has a store, which the backup replaces. */
  readonly replaces: boolean;
}

export interface Restored extends FoundBackup {
  /** The schema of the restored store. */
  readonly migratedTo: number;
  readonly key: FoundKey["from"];
  readonly keyFile: string;
  readonly adminKeyFile: string;
  readonly newAdminKey: boolean;
  readonly kept: readonly string[];
}

const MAGIC = "SQLite format 3\0";

/** Returns null if nobody confirmed it. Throws `StoreRefused` if it cannot be done. Then nothing has changed. */
export async function restoreBackup(options: RestoreOptions): Promise<Restored | null> {
  const { dir, backup, clock } = options;
  requireBackup(backup, dir);
  const missing = missingOf(dir);
  makeDataDirectory({ dir, create: true });
  const lock = takeLock(dir, clock.now(), options.nativeBinding);
  let restored: Restored | null = null;
  try {
    finishRestore(dir);
    try {
      restored = await restoreLocked(options);
      return restored;
    } finally {
      // Once the restore is committed, the next start needs the staged files.
      if (!isBegun(dir)) removeStaged(dir);
    }
  } catch (error) {
    throw refusalOf(error, options);
  } finally {
    if (restored === null && missing.length > 0 && !isBegun(dir)) discard(dir, missing);
    lock.release();
  }
}

/** Returns the missing directories, the innermost first. */
function missingOf(dir: string): string[] {
  return existsSync(dir) || dirname(dir) === dir ? [] : [dir, ...missingOf(dirname(dir))];
}

/**
 * Removes directories that were created for nothing, while the lock is still held. A process that is waiting for the
 * lock then finds no directory.
 */
function discard(dir: string, made: readonly string[]): void {
  try {
    rmSync(join(dir, "webhookd.pid"), { force: true });
    rmSync(join(dir, "webhookd.lock"), { force: true });
    for (const one of made) rmdirSync(one);
  } catch {
    // Somebody else has put something there, or the system has it open. Leave it.
  }
}

async function restoreLocked(options: RestoreOptions): Promise<Restored | null> {
  const { dir, backup, clock, nativeBinding, migrations = MIGRATIONS } = options;
  const file = stagedFile(dir, "webhookd.db");
  await requireSpace(options);
  stage(options, file);
  const staged = new StagedBackup({ file, backup, migrations, nativeBinding });
  let restored: Restored;
  try {
    const found = await findKey(staged.neededKey, options);
    const replaces = existsSync(join(dir, "webhookd.db"));
    const facts = { ...staged.contents(clock.now()), schema: staged.schema, replaces };
    if (!(await options.confirm(facts))) return null;
    const newAdminKey = takeUp(staged, options, facts.at);
    if (found.place !== "there") {
      writeSecretKey(found.place === "beside" ? stagedFile(dir, "secret.key") : options.secretKeyFile, found.key);
    }
    restored = {
      ...facts,
      migratedTo: migrations.length,
      key: found.from,
      keyFile: options.secretKeyFile,
      adminKeyFile: join(dir, "admin.key"),
      newAdminKey,
      kept: [],
    };
  } finally {
    staged.close();
  }
  makeDurable(file, dir);
  commitRestore(dir, backup, clock.now());
  const { kept } = finishRestore(dir)!;
  new SetAside(dir).forget();
  return { ...restored, kept };
}

/** Checks everything that does not need the data directory. */
function requireBackup(backup: string, dir: string): void {
  const isFile = statSync(backup, { throwIfNoEntry: false })?.isFile() === true;
  if (!isFile) throw new StoreRefused(1, `${backup} is not a file`, "name a backup: look in [backup] dir");
  const database = join(dir, "webhookd.db");
  if (existsSync(database) && realpathSync(database) === realpathSync(backup)) {
    throw new StoreRefused(1, `${backup} is the store itself`, "name a backup: look in [backup] dir");
  }
  if (!beginsWith(backup, MAGIC)) {
    throw new StoreRefused(65, `${backup} is not a backup: it is not a SQLite database`, "choose another backup");
  }
}

function beginsWith(path: string, text: string): boolean {
  const bytes = Buffer.alloc(text.length);
  const file = openSync(path, "r");
  try {
    return readSync(file, bytes) === text.length && bytes.toString("latin1") === text;
  } finally {
    closeSync(file);
  }
}

async function requireSpace({ dir, backup, statfs = systemStatfs }: RestoreOptions): Promise<void> {
  const { bavail, bsize } = await statfs(dir);
  if (bavail * bsize < sizeOf(backup) + sizeOf(`${backup}-wal`)) {
    throw Object.assign(new Error("no space left"), { code: "ENOSPC" });
  }
}

/**
 * Copies the write-ahead log of a database that was in use. A backup has none, so a log beside it belongs to another
 * database.
 */
function stage({ backup, nativeBinding }: RestoreOptions, staged: string): void {
  copy(backup, staged);
  const log = `${backup}-wal`;
  if (sizeOf(log) === 0) return;
  if (copiedAt(staged, nativeBinding) !== null) {
    const what = `${log} does not belong to this backup, but would be read as if it did`;
    throw new StoreRefused(1, what, "move it away; nothing was changed");
  }
  copy(log, `${staged}-wal`);
}

function copy(from: string, to: string): void {
  copyFileSync(from, to);
  chmodSync(to, 0o600);
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}

/** Makes the copy a store: paused, and with a valid admin key. Returns true if that key is new. */
function takeUp(staged: StagedBackup, options: RestoreOptions, at: number | null): boolean {
  const { dir, backup, clock, random = randomBytes } = options;
  const now = clock.now();
  const adminKeyFile = join(dir, "admin.key");
  const token = existsSync(adminKeyFile) ? parseToken(keyTextOf(adminKeyFile)) : null;
  const newAdmin = staged.admits(token, now) ? null : readOrMakeAdminKey(stagedFile(dir, "admin.key"), now, random);
  const made = at === null ? "" : `, made ${new Date(at).toISOString()}`;
  const reason = `restored from ${backup}${made}: what was delivered after it would be sent again`;
  staged.takeUp({ reason, by: "restore", at: now }, newAdmin);
  return newAdmin !== null;
}

function makeDurable(file: string, dir: string): void {
  const opened = openSync(file, "r+");
  try {
    fsyncSync(opened);
  } finally {
    closeSync(opened);
  }
  syncDirectory(dir);
}

function refusalOf(error: unknown, { dir, backup }: RestoreOptions): unknown {
  if (!/^(ENOSPC|EDQUOT|SQLITE_FULL)/.test(systemCode(error)))
    return openingRefusal(error, backup, "choose another backup");
  return new StoreRefused(
    74,
    `${dir} has too little space: the backup needs ${sizeOf(backup)} bytes in addition to what is there`,
    "free some space, or choose another directory with --data-dir; nothing was changed",
    error,
  );
}
