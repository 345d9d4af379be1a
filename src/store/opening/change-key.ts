/** Another `secret.key` for a store that no daemon has open: while the old one is there, and when it is lost. */
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../../clock.ts";
import { newSigningSecret } from "../../domain/endpoints/secret.ts";
import { finishKeyChange, isKeyOf, requireWritable, stageKey, type KeyPlace } from "../sqlite/secrets/key-change.ts";
import { StoreRefused } from "../files/refused.ts";
import { finishRestore } from "./restore-files.ts";
import { readSecretKey } from "../files/key-files.ts";
import { Box } from "../sqlite/engine/box.ts";
import { takeLock } from "./lock.ts";
import { Meta } from "../sqlite/engine/meta.ts";
import { openDatabase, openingRefusal } from "../sqlite/engine/open-database.ts";
import { MIGRATIONS } from "../sqlite/engine/schema.ts";
import { Resealing, SealedRows, type Affected } from "../sqlite/secrets/sealed-rows.ts";
import type { Rekeyed } from "../store.ts";

export type { Affected, Rekeyed };

export interface KeyOptions extends KeyPlace {
  readonly clock: Clock;
  readonly random?: (bytes: number) => Uint8Array;
}

export interface Reissued {
  readonly keyFile: string;
  readonly endpoints: readonly Affected[];
}

/** Throws `StoreRefused` when it cannot be done; then the key of before is the store's. */
export async function rekeyStore(options: KeyOptions): Promise<Rekeyed> {
  const { secretKeyFile: file, random = randomBytes } = options;
  return underLock(options, (store) => {
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
 * Where no copy of the key is left. The store starts paused: receivers refuse what the new secrets sign until they have
 * them. Null when `confirm` answers false.
 */
export async function reissueSecrets(
  options: KeyOptions & { readonly confirm: (endpoints: readonly Affected[]) => Promise<boolean> },
): Promise<Reissued | null> {
  const { clock, confirm, secretKeyFile: file, random = randomBytes } = options;
  return underLock(options, async (store) => {
    const meta = new Meta(store.db);
    requireLost(file, meta);
    const rows = new SealedRows(store.db);
    const endpoints = rows.affected();
    if (!(await confirm(endpoints))) return null;
    const key = Buffer.from(random(32));
    const box = new Box(key, random);
    stageKey(options, key);
    store.commit(() => {
      rows.reissue(box, () => newSigningSecret(random));
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
  /** All or nothing, and durable. */
  commit<T>(work: () => T): T;
  /** The new key takes its name; where the old one is kept. */
  finish(): string | null;
}

async function underLock<T>(options: KeyOptions, work: (store: OpenStore) => T | Promise<T>): Promise<T> {
  const { dir, clock, nativeBinding } = options;
  const database = join(dir, "webhookd.db");
  const noStore = new StoreRefused(1, `there is no store in ${dir}`, "name another with --data-dir");
  if (!existsSync(dir)) throw noStore;
  const lock = takeLock(dir, clock.now(), nativeBinding);
  try {
    finishRestore(dir);
    finishKeyChange(options);
    if (!existsSync(database)) throw noStore;
    const wanted = MIGRATIONS.length;
    const { db, version } = openDatabase(database, { nativeBinding, mayCreate: false, wanted });
    try {
      if (version < wanted) {
        const what = `${database} has schema ${version}, but this webhookd needs ${wanted}`;
        throw new StoreRefused(1, what, `webhookd migrate --data-dir ${dir}`);
      }
      return await work({
        db,
        commit: (change) => db.transaction(change).immediate(),
        finish: () => finishKeyChange(options)!.kept,
      });
    } finally {
      db.close();
    }
  } catch (error) {
    throw openingRefusal(error, database);
  } finally {
    lock.release();
  }
}

function requireThere(file: string): string {
  if (existsSync(file)) return file;
  throw new StoreRefused(
    1,
    `there is no ${file}: without it, what is sealed cannot be sealed with another key`,
    "put the copy back; if there is none: webhookd restore --key-only BACKUP --seal-with FILE, else webhookd secrets reissue",
  );
}

function requireLost(file: string, meta: Meta): void {
  if (!existsSync(file)) return;
  if (isKeyOf(meta.keyCheck, readSecretKey(file))) {
    throw new StoreRefused(
      1,
      `${file} exists and opens what is sealed: no secret is lost`,
      "for a new key: webhookd secrets rekey; for one endpoint: webhookd endpoints rotate-secret ep_…",
    );
  }
  throw new StoreRefused(
    1,
    `${file} is the key of another store`,
    "name the right one with [data] secret_key_file, or move this one away; nothing was changed",
  );
}
