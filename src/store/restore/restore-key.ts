/** Which `secret.key` a backup needs, and where it is to be had: given, sealed in the backup, or there already. */
import { existsSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { StoreRefused } from "../files/refused.ts";
import { openSealedKey } from "../files/sealed-key.ts";
import { readSecretKey } from "../files/secret-key.ts";
import { Box } from "../sqlite/engine/box.ts";

export interface KeySources {
  readonly dir: string;
  readonly backup: string;
  /** Where the daemon will look for it. */
  readonly secretKeyFile: string;
  /** A file that holds it. */
  readonly givenKeyFile?: string | undefined;
  /** What unseals it. Asked only if the backup holds it and it has to be known; null: nobody says. */
  readonly passphrase: (() => Promise<string | null>) | null;
  /** Whether the passphrase was named: then it has to be right, even where the key is there. */
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
  /** For messages. */
  readonly file: string;
  /** Where it has to be written: nowhere, into the data directory, or to its place outside of it. */
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
      "put the right key there, or name another place with [data] secret_key_file; nothing was changed",
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
