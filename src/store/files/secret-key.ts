/** The key that seals signing secrets and header values: 32 random bytes in a file of their own. */
import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { writeDurably } from "./durable-file.ts";
import { refusedFull, StoreRefused } from "./refused.ts";
import { isFull } from "./disk-errors.ts";

export interface SecretKeySource {
  readonly file: string;
  /** Only a store that has no database yet may be given a new key. */
  readonly mayCreate: boolean;
  readonly random: (bytes: number) => Uint8Array;
}

export function readOrMakeSecretKey({ file, mayCreate, random }: SecretKeySource): Buffer {
  if (existsSync(file)) return readSecretKey(file);
  if (!mayCreate) {
    throw new StoreRefused(
      1,
      `the secret key ${file} is missing, and without it the signing secrets in the database cannot be read`,
      "put the copy back (or name its place with [data] secret_key_file); without one, take it out of a backup that it is sealed in: webhookd restore --key-only BACKUP --seal-with FILE; if there is none either: webhookd secrets reissue",
    );
  }
  const key = Buffer.from(random(32));
  writeSecretKey(file, key);
  return key;
}

export function writeSecretKey(file: string, key: Buffer): void {
  try {
    writeDurably(file, `${key.toString("hex")}\n`);
  } catch (error) {
    if (isFull(error, dirname(file))) throw refusedFull(dirname(file), error);
    throw new StoreRefused(74, `the secret key ${file} cannot be written`, "make its directory writable", error);
  }
}

export function readSecretKey(file: string): Buffer {
  let text: string;
  try {
    // systemd hands credentials over with a group bit that stands for an access list, so only "others" is refused.
    if (process.platform !== "win32" && (statSync(file).mode & 0o007) !== 0) {
      throw new StoreRefused(1, `the secret key ${file} can be read by every user`, `chmod 600 ${file}`);
    }
    text = readFileSync(file, "utf8").trim();
  } catch (error) {
    if (error instanceof StoreRefused) throw error;
    throw new StoreRefused(74, `the secret key ${file} cannot be read`, "look at the file's owner and mode", error);
  }
  if (/^[0-9a-f]{64}$/i.test(text)) return Buffer.from(text, "hex");
  if (/^[A-Za-z0-9+/_-]{43}=?$/.test(text)) return Buffer.from(text, "base64");
  throw new StoreRefused(
    1,
    `the secret key ${file} is not 32 bytes in hexadecimal or base64`,
    "put the file back from your copy",
  );
}
