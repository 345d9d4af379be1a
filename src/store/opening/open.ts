/**
 * Opens the store of a data directory, and creates it on the first start.
 *
 * The order, all under the lock: `secret.key`, `admin.key`, the database's first transaction with the check value of
 * the first and the hash of the second, the marker `STORE`. If a start is killed at any point, the next one finishes
 * the work. A missing database is a loss only if the marker exists, and then an empty one must not hide it.
 */
import { randomBytes } from "node:crypto";
import { existsSync, statSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { join } from "node:path";
import type { Database } from "better-sqlite3";
import type { Clock } from "../../clock.ts";
import type { Pause } from "../../domain/deliveries/pause.ts";
import { makeDataDirectory, readableByOthers, requireUnchangeable, writeDurably } from "../files/durable-file.ts";
import { readOrMakeAdminKey, readOrMakeSecretKey } from "../files/key-files.ts";
import { finishKeyChange } from "../sqlite/secrets/key-change.ts";
import { fileSizeLimit, RAISE_LIMIT, refusedFull, StoreDamaged, StoreRefused, isFull } from "../files/refused.ts";
import { Reserve, SetAside } from "../files/spare-files.ts";
import { finishRestore, MARKER_TEXT, refuseLoss } from "./restore-files.ts";
import type { StartBackup } from "../backup/backup.ts";
import { noticeDamagedLog, recordDamagedLog } from "./damaged-log.ts";
import { mendIfDamaged, type OpeningLog } from "./mend.ts";
import { prepareMigration } from "./migrate-store.ts";
import { emptyLogAfterKill } from "../sqlite/engine/write-ahead-log.ts";
import { isDamage, type StatFs } from "../sqlite/engine/condition.ts";
import { Keys } from "../sqlite/callers/keys.ts";
import { takeLock, type Lock } from "./lock.ts";
import { Meta } from "../sqlite/engine/meta.ts";
import {
  applySteps,
  openDatabase,
  openingRefusal,
  requireDurable,
  type NativeBinding,
} from "../sqlite/engine/open-database.ts";
import { MIGRATIONS, type Migration } from "../sqlite/engine/schema.ts";
import type { StartReader } from "../sqlite/questions/reader-thread-port.ts";
import { SqliteStore, type SqliteStoreOptions } from "../sqlite/store.ts";
import type { DamagedLog, Store } from "../store.ts";
import { Box } from "../rows/box.ts";

export interface OpenOptions {
  readonly dir: string;
  /** A user who may own the directory, besides this process's user and root. */
  readonly owner?: number | undefined;
  /** If false, a start without a store fails instead of creating one. */
  readonly create: boolean;
  /** Called before any part of a new store is created. If it rejects, nothing is created. */
  readonly beforeMaking?: (() => Promise<void>) | undefined;
  /** If absent or empty, `secret.key` in the data directory. */
  readonly secretKeyFile?: string;
  /** Publishes are refused when fewer bytes than this are free. */
  readonly diskFloor: number;
  /** The limit on a tenant's pending deliveries, unless its share has another. No limit if absent or 0. */
  readonly maxPendingPerTenant?: number;
  readonly shares?: SqliteStoreOptions["shares"];
  readonly clock: Clock;
  readonly log?: OpeningLog;
  readonly nativeBinding?: NativeBinding | undefined;
  /**
   * Called at most once, with an error after which the state of the disk is unknown: the process must end (exit code
   * 74).
   */
  readonly onFault: (error: Error) => void;
  /** Runs a function in a later turn of the event loop. If absent, the clock's function is used. */
  readonly defer?: (run: () => void) => void;
  readonly random?: (bytes: number) => Uint8Array;
  readonly statfs?: StatFs;
  readonly startBackup?: StartBackup;
  /** Starts the thread that reads lists. Without it, this thread reads them. */
  readonly startReader?: StartReader | undefined;
  /** The directory for the copy that is made before a migration. If absent, `backups` in the data directory. */
  readonly backup?: { readonly dir: string; readonly mayMake: boolean };
  /** If false, a store with an older schema is refused. */
  readonly migrate?: boolean;
  /** The log reports the write-ahead log as growing above this size. */
  readonly walLimitBytes?: number;
  /** The number of deliveries after which the lower bound of the fresh events is moved. */
  readonly freshStep?: number;
  readonly migrations?: readonly Migration[];
}

export interface OpenedStore {
  readonly store: Store;
  readonly created: boolean;
  /** The path of a new store's admin key. */
  readonly adminKeyFile?: string;
  /** True if the last process that had the store did not end by itself. */
  readonly wasKilled: boolean;
}

const MARKER = "STORE";

/** Throws `StoreRefused`, with a text for people, if the directory cannot be used. */
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

/** Tries twice if the first try finds a damaged page: the second one repairs it. */
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

/** The state of the directory before its database is opened. */
interface Found {
  readonly database: string;
  readonly keyFile: string;
  readonly adminKeyFile: string;
  readonly box: Box;
  /** True for the start that creates the store, and for one that finishes what such a start began. */
  readonly created: boolean;
  /** True if the last process did not close the database. */
  readonly wasKilled: boolean;
  readonly damagedLog: DamagedLog | null;
  readonly foundAt: number;
  readonly setAside: SetAside;
  readonly reserve: Reserve;
}

async function openOnce(options: OpenOptions, lock: Lock): Promise<OpenedStore> {
  const found = look(options, lock);
  const { database, setAside } = found;
  const { db, version } = await openSound(options, found);
  try {
    const copiedAt = await makeReady(options, found, db, version);
    const store = new SqliteStore(db, storeOptions(options, found, lock));
    const unrecorded = setAside.attempts();
    if (unrecorded.length > 0) await store.deliveries.record(unrecorded);
    if (!setAside.remove()) throw new StoreDamaged(database, new Error("recording ran into damage again"));
    await store.start();
    return finish(options, found, store, copiedAt);
  } catch (error) {
    db.close();
    if (isDamage(error)) throw damaged(setAside, database, error as Error);
    throw openingRefusal(error, database);
  }
}

/** Creates the key of a new store as well. */
function look(options: OpenOptions, lock: Lock): Found {
  const { dir, random = randomBytes } = options;
  const database = join(dir, "webhookd.db");
  const adminKeyFile = join(dir, "admin.key");
  const created = !existsSync(join(dir, MARKER));
  // This checks the size by name, which does not open the file.
  const isEmpty = (statSync(database, { throwIfNoEntry: false })?.size ?? 0) === 0;
  if (isEmpty) refuseLoss(options);
  const keyFile = options.secretKeyFile || join(dir, "secret.key");
  for (const file of [keyFile, adminKeyFile]) requireUnchangeable(file, options.owner);
  const box = new Box(readOrMakeSecretKey({ file: keyFile, mayCreate: isEmpty, random }), random);
  // A clean stop removes the write-ahead log.
  const wasKilled = (statSync(`${database}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0;
  const foundAt = options.clock.now();
  const damagedLog = noticeDamagedLog({ dir, lock }, foundAt, options.log);
  const reserve = new Reserve(dir);
  if (lock.isFull) reserve.lend();
  const setAside = new SetAside(dir);
  return { database, keyFile, adminKeyFile, box, created, wasKilled, damagedLog, foundAt, setAside, reserve };
}

/** Repairs a damaged database first. `version` is its schema, 0 for an empty file. */
async function openSound(options: OpenOptions, { database, created, wasKilled, setAside }: Found) {
  const { nativeBinding, migrations = MIGRATIONS } = options;
  const open = () => openDatabase(database, { nativeBinding, mayCreate: created, wanted: migrations.length });
  const opened = open();
  const mended = mendIfDamaged({ ...options, ...opened, wasKilled, setAside }).catch((error: unknown) => {
    opened.db.close();
    throw openingRefusal(error, database);
  });
  return (await mended) ? open() : opened;
}

/**
 * Makes the database durable, migrates it, and checks its key. If the database is a copy from a backup, returns the
 * time at which it was made, otherwise null.
 */
async function makeReady(options: OpenOptions, found: Found, db: Database, version: number): Promise<number | null> {
  const { dir, clock, random = randomBytes, migrations = MIGRATIONS } = options;
  const { adminKeyFile, box, damagedLog, foundAt, keyFile, wasKilled } = found;
  // Report the damage in the commit that overwrites the evidence of it.
  if (damagedLog !== null && version > 0) recordDamagedLog(new Meta(db), damagedLog, foundAt);
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
  const { copiedAt } = meta;
  if (copiedAt !== null) db.transaction(() => meta.takeUp(pauseOfCopy(copiedAt, clock.now()))).immediate();
  return copiedAt;
}

function storeOptions(options: OpenOptions, found: Found, lock: Lock): SqliteStoreOptions {
  const { dir, clock, diskFloor, nativeBinding, random = randomBytes, walLimitBytes } = options;
  const { box, database, keyFile, reserve, setAside } = found;
  return {
    dir,
    diskFloor,
    maxPendingPerTenant: options.maxPendingPerTenant ?? 0,
    secretKeyFile: keyFile,
    box,
    clock,
    random,
    statfs: options.statfs ?? statfs,
    shares: options.shares ?? new Map(),
    defer: options.defer ?? ((run) => clock.nextTurn(run)),
    nativeBinding,
    startBackup: options.startBackup ?? noBackups,
    startReader: options.startReader,
    setAside,
    walLimitBytes,
    freshStep: options.freshStep,
    onFault: (error) => options.onFault(isDamage(error) ? damaged(setAside, database, error) : error),
    reserve,
    onClosed: () => lock.release(),
  };
}

/** The marker comes last, because from then on a missing database is a loss. */
function finish({ dir, log }: OpenOptions, found: Found, store: Store, copiedAt: number | null): OpenedStore {
  const { adminKeyFile, created, keyFile, wasKilled } = found;
  const open = readableByOthers(dir, [keyFile, adminKeyFile]);
  if (open.length > 0) log?.warn({ open }, "other users can read these files: chmod go= them");
  const limit = fileSizeLimit();
  if (limit !== Infinity) log?.warn({ limit }, `this process may not make a file larger than that; ${RAISE_LIMIT}`);
  if (copiedAt !== null) log?.warn({ dir, made_at: new Date(copiedAt).toISOString() }, TOOK_UP);
  if (created) writeDurably(join(dir, MARKER), MARKER_TEXT);
  if (!created || copiedAt !== null) return { store, created: false, wasKilled };
  log?.warn({ dir }, "created a new store");
  return { store, created, adminKeyFile, wasKilled };
}

/** Records the damage durably before anything is done about it, so that the next start repairs it. */
function damaged(setAside: SetAside, database: string, error: Error): StoreDamaged {
  try {
    setAside.add();
  } catch {
    // Even without the note, the next start can find the damage itself.
  }
  return new StoreDamaged(database, error);
}

const LOG_LEFT =
  "the write-ahead log of the last run cannot be emptied now; until it can be, a power cut may lose acknowledged events: check the disk";

const FULL =
  "the disk is full: not even a small file can be created. This start uses its reserve; free some space or files (df -h, df -i), and webhookd continues on its own";

const TOOK_UP =
  "the database is a backup that was copied here: sending starts paused; check what is due before you run `webhookd resume`";

function pauseOfCopy(copiedAt: number, now: number): Pause {
  const made = new Date(copiedAt).toISOString();
  return {
    reason: `this is the backup of ${made}: what was delivered after it would be sent again`,
    by: "restore",
    at: now,
  };
}

function noBackups(): never {
  throw new Error("this store was opened without the means to make backups");
}
