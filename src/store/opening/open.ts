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
  /** Deliveries that a tenant may have pending, unless its share says otherwise; no limit if not given or 0. */
  readonly maxPendingPerTenant?: number;
  readonly shares?: SqliteStoreOptions["shares"];
  readonly clock: Clock;
  readonly log?: OpeningLog;
  readonly nativeBinding?: NativeBinding | undefined;
  /** An error after which nothing is known of the disk: the process must end (exit code 74). Called at most once. */
  readonly onFault: (error: Error) => void;
  /** A later turn of the event loop; the clock's if not given. */
  readonly defer?: (run: () => void) => void;
  readonly random?: (bytes: number) => Uint8Array;
  readonly statfs?: StatFs;
  readonly startBackup?: StartBackup;
  /** Starts the thread that reads lists; without it they are read on this one. */
  readonly startReader?: StartReader | undefined;
  /** Where the copy goes that is made before a migration; `backups` in the data directory if not given. */
  readonly backup?: { readonly dir: string; readonly mayMake: boolean };
  /** False refuses a store that has an older schema. */
  readonly migrate?: boolean;
  /** Over it the write-ahead log is said to grow. */
  readonly walLimitBytes?: number;
  /** Deliveries that are published before the mark below what is fresh moves. */
  readonly freshStep?: number;
  readonly migrations?: readonly Migration[];
}

export interface OpenedStore {
  readonly store: Store;
  readonly created: boolean;
  /** Where a new store's admin key is kept. */
  readonly adminKeyFile?: string;
  /** The process that had it before did not end by itself. */
  readonly wasKilled: boolean;
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

/** What is known of the directory before its database is opened. */
interface Found {
  readonly database: string;
  readonly keyFile: string;
  readonly adminKeyFile: string;
  readonly box: Box;
  /** The start that makes the store, or one that finishes what such a start began. */
  readonly created: boolean;
  /** Whether the process that had it last did not close it. */
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

/** Makes the key of a new store on the way. */
function look(options: OpenOptions, lock: Lock): Found {
  const { dir, random = randomBytes } = options;
  const database = join(dir, "webhookd.db");
  const adminKeyFile = join(dir, "admin.key");
  const created = !existsSync(join(dir, MARKER));
  // A look at its size opens nothing.
  const isEmpty = (statSync(database, { throwIfNoEntry: false })?.size ?? 0) === 0;
  if (isEmpty) refuseLoss(options);
  const keyFile = options.secretKeyFile || join(dir, "secret.key");
  for (const file of [keyFile, adminKeyFile]) requireUnchangeable(file, options.owner);
  const box = new Box(readOrMakeSecretKey({ file: keyFile, mayCreate: isEmpty, random }), random);
  // It is gone after a clean stop.
  const wasKilled = (statSync(`${database}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0;
  const foundAt = options.clock.now();
  const damagedLog = noticeDamagedLog({ dir, lock }, foundAt, options.log);
  const reserve = new Reserve(dir);
  if (lock.isFull) reserve.lend();
  const setAside = new SetAside(dir);
  return { database, keyFile, adminKeyFile, box, created, wasKilled, damagedLog, foundAt, setAside, reserve };
}

/** A damaged database is mended first. `version` is its schema, 0 of an empty file. */
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

/** Of the schema that is needed, durable, and with the right key; when it was made, if it is a backup's copy. */
async function makeReady(options: OpenOptions, found: Found, db: Database, version: number): Promise<number | null> {
  const { dir, clock, random = randomBytes, migrations = MIGRATIONS } = options;
  const { adminKeyFile, box, damagedLog, foundAt, keyFile, wasKilled } = found;
  // In the commit that writes over its traces.
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

/** The marker comes last: with it, a database that is missing is a loss. */
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
