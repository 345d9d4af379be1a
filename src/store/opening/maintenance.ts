/** Maintenance of a store that no daemon has open: changing `secret.key`, and compacting the database. */
import { randomBytes } from "node:crypto";
import { closeSync, existsSync, openSync, rmSync, statSync } from "node:fs";
import { statfs as systemStatfs } from "node:fs/promises";
import { join } from "node:path";
import type { Database } from "better-sqlite3";
import type { Clock } from "../../clock.ts";
import { newPrivateKey } from "../../domain/endpoints/asymmetric.ts";
import { newSigningSecret } from "../../domain/endpoints/secret.ts";
import { syncDirectory, syncFile } from "../files/durable-file.ts";
import { readSecretKey } from "../files/key-files.ts";
import { StoreRefused } from "../files/refused.ts";
import type { StatFs } from "../sqlite/engine/condition.ts";
import { Meta } from "../sqlite/engine/meta.ts";
import {
  openDatabase,
  openFile,
  openingRefusal,
  shapePages,
  type NativeBinding,
} from "../sqlite/engine/open-database.ts";
import { MIGRATIONS } from "../sqlite/engine/schema.ts";
import { finishKeyChange, isKeyOf, requireWritable, stageKey, type KeyPlace } from "../sqlite/secrets/key-change.ts";
import { Resealing, SealedRows, type Affected } from "../sqlite/secrets/sealed-rows.ts";
import type { Rekeyed } from "../store.ts";
import { refuseDamagedLog } from "./damaged-log.ts";
import { takeLock } from "./lock.ts";
import { commitReplacement, finishRestore, isBegun, refuseLoss, removeStaged, stagedFile } from "./restore-files.ts";
import { Box } from "../rows/box.ts";

export type { Affected, Rekeyed };

export interface KeyOptions extends KeyPlace {
  readonly clock: Clock;
  readonly random?: (bytes: number) => Uint8Array;
}

export interface Reissued {
  readonly keyFile: string;
  readonly endpoints: readonly Affected[];
}

/** Throws `StoreRefused` if it cannot be done. Then the store keeps its old key. */
export async function rekeyStore(options: KeyOptions): Promise<Rekeyed> {
  const { secretKeyFile: file, random = randomBytes } = options;
  return withKey(options, (store) => {
    const old = new Box(readSecretKey(requireThere(file)), random);
    requireWritable(file);
    const meta = new Meta(store.db);
    meta.requireKey(old, file);
    meta.takeMarks(old);
    const key = Buffer.from(random(32));
    const box = old.successor(key);
    stageKey(options, key);
    const resealing = new Resealing(store.db, old, box);
    const done = store.commit(() => resealing.write());
    return { keyFile: file, keyId: box.keyId, kept: store.finish(), ...done };
  });
}

/**
 * Gives every endpoint a new secret, for a store whose key is lost without a copy. The store starts paused, because
 * receivers refuse the new signatures until they have the new secrets. Returns null if `confirm` returns false.
 */
export async function reissueSecrets(
  options: KeyOptions & { readonly confirm: (endpoints: readonly Affected[]) => Promise<boolean> },
): Promise<Reissued | null> {
  const { clock, confirm, secretKeyFile: file, random = randomBytes } = options;
  return withKey(options, async (store) => {
    const meta = new Meta(store.db);
    requireLost(file, meta);
    const rows = new SealedRows(store.db);
    const endpoints = rows.affected();
    if (!(await confirm(endpoints))) return null;
    const key = Buffer.from(random(32));
    const box = new Box(key, random);
    stageKey(options, key);
    store.commit(() => {
      rows.reissue(
        box,
        () => newSigningSecret(random),
        () => newPrivateKey(random),
      );
      meta.setKey(box);
      meta.keepMarks(null);
      meta.pause ??= { reason: "every endpoint has a new signing secret", by: "secrets reissue", at: clock.now() };
    });
    store.finish();
    return { keyFile: file, endpoints };
  });
}

interface OpenStore {
  readonly db: ReturnType<typeof openDatabase>["db"];
  /** Durable when it returns, and undone if `work` throws. */
  commit<T>(work: () => T): T;
  /** Renames the new key into place. Returns the path at which the old key is kept. */
  finish(): string | null;
}

function withKey<T>(options: KeyOptions, work: (store: OpenStore) => T | Promise<T>): Promise<T> {
  return underLock(options, async (database) => {
    finishKeyChange(options);
    if (!existsSync(database)) refuseLoss({ dir: options.dir, create: false });
    const wanted = MIGRATIONS.length;
    const { db, version } = openDatabase(database, { nativeBinding: options.nativeBinding, mayCreate: false, wanted });
    try {
      if (version < wanted) {
        const what = `${database} has schema ${version}, but this webhookd needs ${wanted}`;
        throw new StoreRefused(1, what, `webhookd migrate --data-dir ${options.dir}`);
      }
      return await work({
        db,
        commit: (change) => db.transaction(change).immediate(),
        finish: () => finishKeyChange(options)!.kept,
      });
    } finally {
      db.close();
    }
  });
}

function requireThere(file: string): string {
  if (existsSync(file)) return file;
  throw new StoreRefused(
    1,
    `there is no ${file}, and without it nothing can be sealed with a new key`,
    "put your copy back; if there is none: webhookd restore --key-only BACKUP --seal-with FILE, else webhookd secrets reissue",
  );
}

function requireLost(file: string, meta: Meta): void {
  if (!existsSync(file)) return;
  if (isKeyOf(meta.keyCheck, readSecretKey(file))) {
    throw new StoreRefused(
      1,
      `${file} exists and opens everything that is sealed: no secret is lost`,
      "for a new key: webhookd secrets rekey; for one endpoint: webhookd endpoints rotate-secret ep_…",
    );
  }
  throw new StoreRefused(
    1,
    `${file} is the key of another store`,
    "name the right one with [data] secret_key_file, or move this one away; nothing was changed",
  );
}

export interface CompactOptions {
  readonly dir: string;
  readonly clock: Clock;
  readonly nativeBinding?: NativeBinding | undefined;
  readonly statfs?: StatFs;
}

/** The sizes of the database file. */
export interface Compacted {
  readonly bytesBefore: number;
  readonly bytesAfter: number;
}

/**
 * Writes a new database without the free pages. The new file is completed and checked beside the old one, and takes its
 * place by the same renames as a restore, so a crash leaves one or the other. Throws `StoreRefused` if it cannot be
 * done. Then the store is unchanged.
 */
export function compactStore(options: CompactOptions): Promise<Compacted> {
  const { dir, clock, nativeBinding } = options;
  const work = async (database: string) => {
    if (!existsSync(database)) refuseLoss({ dir, create: false });
    try {
      const { db } = openDatabase(database, { nativeBinding, mayCreate: false, wanted: MIGRATIONS.length });
      const staged = stagedFile(dir, "webhookd.db");
      try {
        await requireSpace(db, options);
        // Nobody else may read the file, not even while it is being written. SQLite treats an empty file like a missing
        // one.
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
      // The next start finishes renames that were begun.
      if (!isBegun(dir)) removeStaged(dir);
      throw error;
    }
  };
  return underLock(options, work, "start webhookd: it repairs what it can");
}

async function requireSpace(db: Database, { dir, statfs = systemStatfs }: CompactOptions): Promise<void> {
  const number = (name: string) => db.pragma(name, { simple: true }) as number;
  const needed = (number("page_count") - number("freelist_count")) * number("page_size");
  const { bavail, bsize } = await statfs(dir);
  if (bavail * bsize >= needed) return;
  const what = `the compacted database needs ${needed} bytes beside the old one, and ${bavail * bsize} are free in ${dir}`;
  throw new StoreRefused(74, what, "free some space, or make the disk larger; nothing was changed");
}

/** Throws unless the written file is sound and has as many rows in each table. */
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

/**
 * Finishes an interrupted restore, then calls `work` with the path of the database. A refusal of a damaged database
 * suggests `instead` rather than restoring a backup.
 */
async function underLock<T>(
  { dir, clock, nativeBinding }: Pick<CompactOptions, "dir" | "clock" | "nativeBinding">,
  work: (database: string) => Promise<T>,
  instead?: string,
): Promise<T> {
  const database = join(dir, "webhookd.db");
  if (!existsSync(dir)) throw new StoreRefused(1, `there is no store in ${dir}`, "name another with --data-dir");
  const lock = takeLock(dir, clock.now(), nativeBinding);
  try {
    finishRestore(dir);
    refuseDamagedLog({ dir, lock });
    return await work(database);
  } catch (error) {
    throw openingRefusal(error, database, instead);
  } finally {
    lock.release();
  }
}
