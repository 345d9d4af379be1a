/**
 * Opens the store of a data directory, and makes it on the first start.
 *
 * The order, all under the lock: `secret.key`, `admin.key`, the database's first transaction with what checks the one
 * and the hash of the other, the marker `STORE`. A start that is killed at any point leaves what the next one finishes.
 * Only once the marker is there is a missing database a loss, which must not be papered over with an empty one.
 */
import { randomBytes } from "node:crypto";
import { existsSync, statSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../clock.ts";
import type { Pause } from "../../domain/deliveries/pause.ts";
import { readableByOthers, requireUnchangeable } from "../files/access.ts";
import { readOrMakeAdminKey } from "./admin-key.ts";
import { copyBefore } from "../backup/copy-before.ts";
import { makeDirectory, writeDurably } from "../files/durable-file.ts";
import { finishKeyChange } from "../sqlite/secrets/key-change.ts";
import { refusedFull, StoreDamaged, StoreRefused } from "../files/refused.ts";
import { Reserve } from "../files/reserve.ts";
import { finishRestore, MARKER_TEXT } from "./restore-files.ts";
import { SetAside } from "../files/set-aside.ts";
import { readOrMakeSecretKey } from "../files/secret-key.ts";
import type { StartBackup } from "../backup/backup.ts";
import { Box } from "../sqlite/engine/box.ts";
import { mendIfDamaged, type OpeningLog } from "./mend.ts";
import { emptyLogAfterKill } from "../sqlite/engine/write-ahead-log.ts";
import { isDamage } from "../sqlite/engine/faults.ts";
import type { StatFs } from "../sqlite/engine/condition.ts";
import { Keys } from "../sqlite/callers/keys.ts";
import { takeLock, type Lock } from "./lock.ts";
import { Meta } from "../sqlite/engine/meta.ts";
import { applySteps } from "../sqlite/engine/migrate.ts";
import { openDatabase, openingRefusal, requireDurable } from "../sqlite/engine/open-database.ts";
import type { NativeBinding } from "../sqlite/engine/open-file.ts";
import { isFull } from "../files/disk-errors.ts";
import { MIGRATIONS, type Migration } from "../sqlite/engine/schema.ts";
import { SqliteStore } from "../sqlite/store.ts";
import type { Store } from "../store.ts";

export interface OpenOptions {
  readonly dir: string;
  /** Whom the directory may belong to, beside this process's user and root. */
  readonly owner?: number | undefined;
  /** False refuses to make a new store. */
  readonly create: boolean;
  /** Called before a new store is made, or anything of it; with its error nothing is. */
  readonly beforeMaking?: (() => Promise<void>) | undefined;
  /** `secret.key` in the data directory if not given or empty. */
  readonly secretKeyFile?: string;
  /** Bytes of free space under which publishes are refused. */
  readonly diskFloor: number;
  /** Deliveries that a tenant may have pending; no limit if not given or 0. */
  readonly maxPendingPerTenant?: number;
  readonly clock: Clock;
  readonly log?: OpeningLog;
  readonly nativeBinding?: NativeBinding | undefined;
  /** An error after which nothing is known of the disk: the process must end (exit code 74). Called at most once. */
  readonly onFault: (error: Error) => void;
  /** A later turn of the event loop; the clock's if not given. */
  readonly defer?: (run: () => void) => void;
  readonly random?: (bytes: number) => Uint8Array;
  readonly statfs?: StatFs;
  /** Starts the thread that makes backups. */
  readonly startBackup?: StartBackup;
  /** Where the copy goes that is made before a migration; `backups` in the data directory if not given. */
  readonly backup?: { readonly dir: string; readonly mayMake: boolean };
  /** False refuses a store that has an older schema. */
  readonly migrate?: boolean;
  /** Over it the write-ahead log is said to grow. */
  readonly walLimitBytes?: number;
  /** The schema's steps. */
  readonly migrations?: readonly Migration[];
}

export interface OpenedStore {
  readonly store: Store;
  readonly created: boolean;
  /** Where a new store's admin key is kept. */
  readonly adminKeyFile?: string;
}

const MARKER = "STORE";

/** Throws `StoreRefused`, for people, when there is no using this directory. */
export async function openStore(options: OpenOptions): Promise<OpenedStore> {
  const { dir, clock } = options;
  if (options.create && !existsSync(join(dir, MARKER))) await options.beforeMaking?.();
  makeDataDirectory(options);
  requireUnchangeable(dir, options.owner);
  const lock = takeLock(dir, clock.now(), options.nativeBinding);
  try {
    const restored = finishRestore(dir);
    if (restored !== null) options.log?.warn({ dir, ...restored }, "finished a restore that was cut short");
    const secretKeyFile = options.secretKeyFile || join(dir, "secret.key");
    if (finishKeyChange({ ...options, secretKeyFile }) !== null) {
      options.log?.warn({ dir }, "finished a change of secret.key that was cut short");
    }
    if (lock.isFull) options.log?.error?.({ dir }, FULL);
    return await openLocked(options, lock);
  } catch (error) {
    lock.release();
    throw error instanceof StoreRefused || !isFull(error, dir) ? error : refusedFull(dir, error);
  }
}

/** Once more, should the first try meet a damaged page: then it is mended on the way. */
async function openLocked(options: OpenOptions, lock: Lock): Promise<OpenedStore> {
  let given = false;
  const onFault = (error: Error) => {
    if (!given) options.onFault(error);
  };
  try {
    return await openOnce({ ...options, onFault }, lock);
  } catch (error) {
    if (!(error instanceof StoreDamaged)) throw error;
    given = true;
    return openOnce(options, lock);
  }
}

async function openOnce(options: OpenOptions, lock: Lock): Promise<OpenedStore> {
  const { dir, clock, random = randomBytes } = options;
  const setAside = new SetAside(dir);
  const database = join(dir, "webhookd.db");
  const marker = join(dir, MARKER);
  const adminKeyFile = join(dir, "admin.key");
  const created = !existsSync(marker);
  // A look at its size opens nothing.
  const isEmpty = (statSync(database, { throwIfNoEntry: false })?.size ?? 0) === 0;
  if (isEmpty) refuseLoss(created, options, database);

  const keyFile = options.secretKeyFile || join(dir, "secret.key");
  for (const file of [keyFile, adminKeyFile]) requireUnchangeable(file, options.owner);
  const box = new Box(readOrMakeSecretKey({ file: keyFile, mayCreate: isEmpty, random }), random);
  const { nativeBinding, migrations = MIGRATIONS } = options;
  // It is gone after a clean stop.
  const wasKilled = (statSync(`${database}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0;
  const reserve = new Reserve(dir);
  if (lock.isFull) reserve.lend();
  const open = () => openDatabase(database, { nativeBinding, mayCreate: created, wanted: migrations.length });
  let { db, version } = open();
  const mended = mendIfDamaged({ ...options, db, version, wasKilled, setAside }).catch((error: unknown) => {
    db.close();
    throw openingRefusal(error, database);
  });
  if (await mended) ({ db, version } = open());
  try {
    const left = wasKilled ? emptyLogAfterKill(db) : null;
    if (left !== null) options.log?.warn({ dir, reason: left }, LOG_LEFT);
    if (version > 0 && version < migrations.length) await prepareMigration(options, version, migrations.length);
    applySteps(db, version, {
      migrations,
      seed: (seeded) => {
        if (version > 0) return;
        new Meta(seeded).setKey(box);
        new Keys(seeded).add(readOrMakeAdminKey(adminKeyFile, clock.now(), random), clock.now());
      },
    });
    requireDurable(db);
    const meta = new Meta(db);
    meta.requireKey(box, keyFile);
    meta.takeMarks(box);
    const copiedAt = meta.copiedAt;
    if (copiedAt !== null) db.transaction(() => meta.takeUp(pauseOfCopy(copiedAt, clock.now()))).immediate();
    const store = new SqliteStore(db, {
      dir,
      diskFloor: options.diskFloor,
      maxPendingPerTenant: options.maxPendingPerTenant ?? 0,
      secretKeyFile: keyFile,
      box,
      clock,
      random,
      statfs: options.statfs ?? statfs,
      defer: options.defer ?? ((run) => clock.nextTurn(run)),
      nativeBinding: options.nativeBinding,
      startBackup: options.startBackup ?? noBackups,
      setAside,
      walLimitBytes: options.walLimitBytes,
      onFault: (error) => options.onFault(isDamage(error) ? damaged(setAside, database, error) : error),
      reserve,
      onClosed: () => lock.release(),
    });
    const unrecorded = setAside.attempts();
    if (unrecorded.length > 0) await store.deliveries.record(unrecorded);
    setAside.remove();
    await store.start();
    const open = readableByOthers(dir, [keyFile, adminKeyFile]);
    if (open.length > 0) options.log?.warn({ open }, "other users may read these: chmod go= them");
    if (copiedAt !== null) options.log?.warn({ dir, made_at: new Date(copiedAt).toISOString() }, TOOK_UP);
    if (!created) return { store, created };
    writeDurably(marker, MARKER_TEXT);
    if (copiedAt !== null) return { store, created: false };
    options.log?.warn({ dir }, "made a new store");
    return { store, created, adminKeyFile };
  } catch (error) {
    db.close();
    if (isDamage(error)) throw damaged(setAside, database, error as Error);
    throw openingRefusal(error, database);
  }
}

/** Durable before anything is done about it: the next start mends what this one met. */
function damaged(setAside: SetAside, database: string, error: Error): StoreDamaged {
  try {
    setAside.add();
  } catch {
    // Without it the next start meets the damage by itself, if it cannot see it.
  }
  return new StoreDamaged(database, error);
}

const LOG_LEFT =
  "the write-ahead log that was left cannot be emptied now; a power cut may take what is acknowledged until it can: see to the disk";

const FULL =
  "the disk is full: not even a small file can be made. This start uses its reserve; free some space or files (df -h, df -i), and webhookd goes on by itself";

const TOOK_UP =
  "the database is a backup that was copied here: it starts paused, look at what is due before `webhookd resume`";

function pauseOfCopy(copiedAt: number, now: number): Pause {
  const made = new Date(copiedAt).toISOString();
  return {
    reason: `this is the backup of ${made}: what was delivered after it would be sent again`,
    by: "restore",
    at: now,
  };
}

async function prepareMigration(options: OpenOptions, from: number, to: number): Promise<void> {
  const { dir, clock, nativeBinding, migrate = true, log } = options;
  const database = join(dir, "webhookd.db");
  if (!migrate) {
    const what = `${database} has schema ${from}, and this webhookd needs ${to}`;
    throw new StoreRefused(1, what, `webhookd migrate --data-dir ${dir}`);
  }
  const place = options.backup ?? { dir: join(dir, "backups"), mayMake: true };
  const now = clock.now();
  const copy = await copyBefore({ ...place, database, from, to, now, statfs: options.statfs ?? statfs, nativeBinding });
  log?.warn({ from, to, copy }, "migrating the store to a newer schema; the copy is for going back");
}

function noStore(dir: string): StoreRefused {
  const todo = "name another with --data-dir; `webhookd serve` without --no-create makes one";
  return new StoreRefused(1, `there is no store in ${dir}`, todo);
}

function noBackups(): never {
  throw new Error("this store was opened without the means to make backups");
}

export function makeDataDirectory({ dir, create }: Pick<OpenOptions, "dir" | "create">): void {
  const found = statSync(dir, { throwIfNoEntry: false });
  if (found?.isDirectory()) return;
  if (found !== undefined)
    throw new StoreRefused(1, `${dir} is a file, not a directory`, "choose another with --data-dir");
  if (!create) throw noStore(dir);
  try {
    makeDirectory(dir);
  } catch (error) {
    if (isFull(error, dir)) throw refusedFull(dir, error);
    const reason = error instanceof Error ? error.message : String(error);
    throw new StoreRefused(
      74,
      `the data directory ${dir} cannot be made: ${reason}`,
      "look at its parent's owner and mode",
      error,
    );
  }
}

/** There is no database, or nothing in it. */
function refuseLoss(mayBeNew: boolean, { dir, create }: OpenOptions, database: string): void {
  if (!mayBeNew) {
    const what = `${dir} held a store, and its database ${database} is missing or empty`;
    throw new StoreRefused(65, what, "restore a backup with: webhookd restore <file>");
  }
  if (!create) throw noStore(dir);
}
