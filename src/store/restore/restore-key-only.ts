/** Takes `secret.key` out of a backup that it is sealed in, and leaves the store as it is. */
import { existsSync, statSync } from "node:fs";
import type { Clock } from "../../clock.ts";
import { finishKeyChange, isKeyOf, keepKey, keyCheckOf, type KeyPlace } from "../sqlite/secrets/key-change.ts";
import { StoreRefused } from "../files/refused.ts";
import { unsealKey } from "./restore-key.ts";
import { readSecretKey, writeSecretKey } from "../files/secret-key.ts";
import { takeLock } from "../opening/lock.ts";
import { Meta } from "../sqlite/engine/meta.ts";
import { openingRefusal } from "../sqlite/engine/open-database.ts";
import { openFile, type NativeBinding } from "../sqlite/engine/open-file.ts";

export interface RestoreKeyOptions extends KeyPlace {
  readonly backup: string;
  readonly passphrase: (() => Promise<string | null>) | null;
  readonly clock: Clock;
}

export interface RestoredKey {
  readonly keyFile: string;
  /** Where what lay in its place is; null when nothing did. */
  readonly kept: string | null;
}

/** Throws `StoreRefused` when it cannot be done; then nothing was changed. */
export async function restoreKey(options: RestoreKeyOptions): Promise<RestoredKey> {
  const { dir, backup, secretKeyFile: file, passphrase, clock, nativeBinding } = options;
  if (!existsSync(dir)) throw noStore(dir);
  const lock = takeLock(dir, clock.now(), nativeBinding);
  try {
    finishKeyChange(options);
    const check = keyCheckOf(options);
    if (check === null) throw noStore(dir);
    if (existsSync(file) && isStores(check, file)) {
      throw new StoreRefused(
        1,
        `${file} is there, and is this store's key`,
        "nothing was changed, and nothing needs to be",
      );
    }
    const key = await unsealKey(sealedIn(backup, nativeBinding), { backup, passphrase });
    if (!isKeyOf(check, key)) {
      const what = `the secret.key that is sealed in ${backup} is not the one of the store in ${dir}`;
      throw new StoreRefused(1, what, "choose a later backup of this store; nothing was changed");
    }
    const kept = existsSync(file) ? keepKey(file) : null;
    writeSecretKey(file, key);
    return { keyFile: file, kept };
  } finally {
    lock.release();
  }
}

function noStore(dir: string): StoreRefused {
  return new StoreRefused(1, `there is no store in ${dir}`, "name another with --data-dir");
}

/** What lies there may be damaged itself. */
function isStores(check: string, file: string): boolean {
  try {
    return isKeyOf(check, readSecretKey(file));
  } catch (error) {
    if (error instanceof StoreRefused) return false;
    throw error;
  }
}

function sealedIn(backup: string, nativeBinding: NativeBinding | undefined) {
  if (statSync(backup, { throwIfNoEntry: false })?.isFile() !== true) {
    throw new StoreRefused(1, `${backup} is not a file`, "name a backup: ls the [backup] dir");
  }
  try {
    const db = openFile(backup, { timeout: 1000, nativeBinding, readonly: true });
    try {
      const meta = new Meta(db);
      return { check: meta.keyCheck, keyId: meta.keyId, sealed: meta.sealedKey };
    } finally {
      db.close();
    }
  } catch (error) {
    throw openingRefusal(error, backup, "choose another backup");
  }
}
