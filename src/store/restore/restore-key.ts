/** Finds the `secret.key` that a backup needs: given as a file, sealed in the backup, or already in place. */
import { existsSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { StoreRefused } from "../files/refused.ts";
import { openSealedKey, readSecretKey, writeSecretKey } from "../files/key-files.ts";
import type { Clock } from "../../clock.ts";
import { finishKeyChange, isKeyOf, keepKey, keyCheckOf, type KeyPlace } from "../sqlite/secrets/key-change.ts";
import { takeLock } from "../opening/lock.ts";
import { Meta } from "../sqlite/engine/meta.ts";
import { openingRefusal, openFile, type NativeBinding } from "../sqlite/engine/open-database.ts";
import { Box } from "../rows/box.ts";

export interface KeySources {
  readonly dir: string;
  readonly backup: string;
  /** The path at which the daemon will look for the key. */
  readonly secretKeyFile: string;
  /** A file that contains the key. */
  readonly givenKeyFile?: string | undefined;
  /**
   * Returns the passphrase that unseals the key, or null if nobody knows it. Called only if the backup contains the key
   * and it is needed.
   */
  readonly passphrase: (() => Promise<string | null>) | null;
  /** True if the caller named a passphrase. Then it must be right, even if the key is already in place. */
  readonly mustUnseal: boolean;
}

export interface NeededKey {
  readonly check: string;
  readonly keyId: string;
  readonly sealed: string | null;
}

export interface FoundKey {
  readonly key: Buffer;
  readonly from: "sealed" | "given" | "there";
  /** Named in messages. */
  readonly file: string;
  /** `there` if the key is in place. Otherwise it goes into the data directory, or to its place outside of it. */
  readonly place: "there" | "beside" | "elsewhere";
}

export async function findKey(needed: NeededKey, sources: KeySources): Promise<FoundKey> {
  const { secretKeyFile, givenKeyFile, dir } = sources;
  const there = existsSync(secretKeyFile) ? readSecretKey(secretKeyFile) : null;
  const isThere = there !== null && fits(there, needed);
  const at = resolve(dirname(secretKeyFile)) === resolve(dir) ? "beside" : "elsewhere";
  const place = isThere ? "there" : at;
  if (!isThere && there !== null && at === "elsewhere") {
    throw new StoreRefused(
      1,
      `${secretKeyFile} is not the key of this backup, which needs the one with the id ${needed.keyId}`,
      "put the right key there, or name another path with [data] secret_key_file; nothing was changed",
    );
  }
  if (givenKeyFile !== undefined) {
    const key = readSecretKey(givenKeyFile);
    if (fits(key, needed)) return { key, from: "given", file: givenKeyFile, place };
    throw new StoreRefused(
      1,
      `${givenKeyFile} is not the key of this backup, which needs the one with the id ${needed.keyId}`,
      "name the copy of secret.key that belongs to it; nothing was changed",
    );
  }
  if (isThere && !sources.mustUnseal) return { key: there, from: "there", file: secretKeyFile, place };
  return { key: await unsealKey(needed, sources), from: "sealed", file: sources.backup, place };
}

export async function unsealKey(
  needed: NeededKey,
  { backup, passphrase }: Pick<KeySources, "backup" | "passphrase">,
): Promise<Buffer> {
  if (needed.sealed === null) {
    throw new StoreRefused(
      1,
      `secret.key is not in ${backup}, and the secrets in it cannot be read without the one with the id ${needed.keyId}`,
      "name your copy of it: --secret-key FILE; nothing was changed",
    );
  }
  const said = await passphrase?.();
  if (said === undefined || said === null) {
    throw new StoreRefused(
      1,
      `secret.key is sealed in ${backup}, and there is no other copy of it here`,
      "name the file with its passphrase: --seal-with FILE, or - to type it; nothing was changed",
    );
  }
  const key = await openSealedKey(needed.sealed, { passphrase: said, check: needed.check });
  if (key !== null && fits(key, needed)) return key;
  throw new StoreRefused(
    1,
    `the passphrase does not open the secret.key that is sealed in ${backup}`,
    "look for the one that was in use when the backup was made; nothing was changed",
  );
}

function fits(key: Buffer, { check }: NeededKey): boolean {
  return new Box(key, () => new Uint8Array()).opensCheck(check);
}

/** The options for extracting the `secret.key` that is sealed in a backup. The store stays as it is. */
export interface RestoreKeyOptions extends KeyPlace {
  readonly backup: string;
  readonly passphrase: (() => Promise<string | null>) | null;
  readonly clock: Clock;
}

export interface RestoredKey {
  readonly keyFile: string;
  /** The path at which the old file is kept. Null if there was none. */
  readonly kept: string | null;
}

/** Throws `StoreRefused` if it cannot be done. Then nothing has changed. */
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
        `${file} exists, and is this store's key`,
        "nothing was changed, and nothing needs to be",
      );
    }
    const key = await unsealKey(sealedIn(backup, nativeBinding), { backup, passphrase });
    if (!isKeyOf(check, key)) {
      const what = `the secret.key that is sealed in ${backup} is not the key of the store in ${dir}`;
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

/** The file in place may be damaged itself. */
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
    throw new StoreRefused(1, `${backup} is not a file`, "name a backup: look in [backup] dir");
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
