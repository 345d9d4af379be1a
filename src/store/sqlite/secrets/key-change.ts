/**
 * Replaces `secret.key`. The new key is written beside it as `secret.key.next` before anything is sealed with it, and
 * is renamed after the single commit in the database. The store's key is the one that opens the key check value.
 */
import {
  accessSync,
  chownSync,
  constants,
  existsSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { WebhookdError } from "../../../domain/errors.ts";
import { syncDirectory, writeDurably } from "../../files/durable-file.ts";
import { StoreRefused } from "../../files/refused.ts";
import { readSecretKey, writeSecretKey } from "../../files/key-files.ts";
import type { Rekeyed } from "../../store.ts";
import type { Engine } from "../engine/engine.ts";
import { Meta } from "../engine/meta.ts";
import { openingRefusal, openFile, type NativeBinding } from "../engine/open-database.ts";
import { Resealing } from "./sealed-rows.ts";
import { Box } from "../../rows/box.ts";

export interface KeyPlace {
  readonly dir: string;
  readonly secretKeyFile: string;
  readonly nativeBinding?: NativeBinding | undefined;
}

const BUSY_MS = 5000;

const nextOf = (file: string) => `${file}.next`;

/** Returns true if this key is the store's. */
export function isKeyOf(check: string, key: Uint8Array): boolean {
  return new Box(key, () => new Uint8Array()).opensCheck(check);
}

/** A file that cannot be written could not be replaced after the commit either. */
export function requireWritable(file: string): void {
  try {
    accessSync(file, constants.W_OK);
  } catch (error) {
    const hint =
      "change it where it comes from: stop the daemon, run `webhookd secrets rekey` with WEBHOOKD_DATA_SECRET_KEY_FILE naming that file, and start it again; if the file is only write-protected: chmod 600. Nothing was changed";
    throw new StoreRefused(1, `${file} is read-only`, hint, error);
  }
}

/** A key file outside the data directory comes from elsewhere, and would be the old one again at the next start. */
function requireWithin({ dir, secretKeyFile: file }: KeyPlace): void {
  const place = existsSync(file) ? dirname(realpathSync(file)) : realpathSync(dirname(file));
  if (place === realpathSync(dir)) return;
  throw new StoreRefused(
    1,
    `${file} is outside the data directory, and a running daemon does not change files there`,
    "change it where it comes from: stop the daemon, run `webhookd secrets rekey` with WEBHOOKD_DATA_SECRET_KEY_FILE naming that file, and start it again. Nothing was changed",
  );
}

/** Returns the value that identifies the store's key, or null if there is no store. */
export function keyCheckOf({ dir, nativeBinding }: KeyPlace): string | null {
  const database = join(dir, "webhookd.db");
  if (!existsSync(database)) return null;
  try {
    const db = openFile(database, { timeout: BUSY_MS, nativeBinding });
    try {
      return new Meta(db).keyCheck;
    } finally {
      db.close();
    }
  } catch (error) {
    throw openingRefusal(error, database);
  }
}

/** The new key is durable when this returns. Root gives it to the owner of the old key, or else of the data. */
export function stageKey({ dir, secretKeyFile }: KeyPlace, key: Buffer): void {
  const next = nextOf(secretKeyFile);
  writeSecretKey(next, key);
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = statSync(existsSync(secretKeyFile) ? secretKeyFile : dir);
  chownSync(next, uid, gid);
}

/**
 * Call it under the lock. Finishes a change that was cut short or has just committed. Keeps the old key beside the new
 * one, with its id in its name, because backups need it unless it is sealed in them. Returns its path, or null if the
 * new key did not take the name. `checkOf` reads the key check value if the database is already open.
 */
export function finishKeyChange(
  place: KeyPlace,
  checkOf: () => string | null = () => keyCheckOf(place),
): { readonly kept: string | null } | null {
  const { secretKeyFile: file } = place;
  const next = nextOf(file);
  if (!existsSync(next)) return null;
  const check = checkOf();
  const opens = (path: string) => check !== null && existsSync(path) && isKeyOf(check, readSecretKey(path));
  if (!opens(next)) {
    // Nothing was sealed with it. If no key opens the store, keep the file for a person to look at.
    if (opens(file)) rmSync(next);
    return null;
  }
  const kept = existsSync(file) ? keepKey(file) : null;
  renameSync(next, file);
  syncDirectory(dirname(file));
  return { kept };
}

/** Keeps a copy beside the key file. Repeating this does no harm. */
export function keepKey(file: string): string {
  const kept = `${file}.old-${idOf(file)}`;
  const { uid, gid } = statSync(file);
  writeDurably(kept, readFileSync(file));
  if (process.getuid?.() === 0) chownSync(kept, uid, gid);
  return kept;
}

function idOf(file: string): string {
  try {
    return new Box(readSecretKey(file), () => new Uint8Array()).keyId;
  } catch {
    return "unreadable";
  }
}

/**
 * Changes the key of a store in use. Until the transaction, everything is sealed and opened with the old key. No turn
 * passes between the transaction and the change of the box, so that nothing can use the wrong key.
 */
export class Rekey {
  readonly #engine: Engine;
  readonly #place: KeyPlace;
  #running: Promise<Rekeyed> | null = null;
  #closed = false;

  constructor(engine: Engine, place: KeyPlace) {
    this.#engine = engine;
    this.#place = place;
  }

  run(): Promise<Rekeyed> {
    this.#running ??= this.#change().finally(() => (this.#running = null));
    return this.#running;
  }

  /** Null while no change is in progress. */
  get running(): Promise<Rekeyed> | null {
    return this.#running;
  }

  close(): void {
    this.#closed = true;
  }

  async #change(): Promise<Rekeyed> {
    const { box, commit, db, random, read } = this.#engine;
    const { secretKeyFile: file } = this.#place;
    refusing("key_not_changeable", () => this.#requireChangeable());
    // A change that failed after its commit left the store's only key beside the file.
    this.#takeName();
    refusing("key_not_changeable", () => this.#requireOwnKey());
    const key = Buffer.from(random(32));
    const next = box.successor(key);
    const resealing = read(() => new Resealing(db, box, next));
    while (read(() => resealing.step())) {
      await this.#engine.turn();
      if (this.#closed) throw new WebhookdError("shutting_down", "the daemon is stopping; nothing was changed");
    }
    refusing("rekey_failed", () => stageKey(this.#place, key));
    // If this fails, the staged key stays. The next change, or the next start, finds out whether it is needed.
    const done = commit.runNow(() => resealing.write());
    box.become(next);
    return { keyFile: file, keyId: box.keyId, kept: this.#takeName(), ...done };
  }

  #requireChangeable(): void {
    const { secretKeyFile: file } = this.#place;
    requireWithin(this.#place);
    if (existsSync(file)) requireWritable(file);
  }

  #requireOwnKey(): void {
    const { meta } = this.#engine;
    const { secretKeyFile: file } = this.#place;
    if (!existsSync(file) || isKeyOf(meta.keyCheck, readSecretKey(file))) return;
    const hint = "put the right one back from your copy, or move this one away. Nothing was changed";
    throw new StoreRefused(1, `${file} is not the key that this store is sealed with`, hint);
  }

  #takeName(): string | null {
    const { meta, read } = this.#engine;
    const { secretKeyFile: file } = this.#place;
    try {
      return finishKeyChange(this.#place, () => read(() => meta.keyCheck))?.kept ?? null;
    } catch (error) {
      if (error instanceof WebhookdError) throw error;
      const { message } = error as Error;
      throw new WebhookdError(
        "rekey_failed",
        `everything is sealed with a new key, but its file could not be renamed (${message}). The key is in ${file}.next: keep that file. Once the directory can be written to, run the command again or restart the daemon`,
        { cause: error },
      );
    }
  }
}

/** Turns a fault of the file system, or one that a person must repair, into an error for the caller. */
function refusing(code: "key_not_changeable" | "rekey_failed", work: () => void): void {
  try {
    work();
  } catch (error) {
    if (error instanceof WebhookdError) throw error;
    const { message, hint } = error as Error & { readonly hint?: string };
    const todo = hint ?? "check its directory; nothing was changed";
    throw new WebhookdError(code, `${message}: ${todo}`, { cause: error });
  }
}
