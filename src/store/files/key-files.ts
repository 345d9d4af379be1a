/** Reads and writes the keys that are kept in files: `secret.key`, its sealed form in a backup, and `admin.key`. */
import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { writeDurably } from "./durable-file.ts";
import { refusedFull, StoreRefused, isFull } from "./refused.ts";
import { createCipheriv, createDecipheriv, scrypt } from "node:crypto";
import { NotUtf8, utf8Of } from "../../domain/utf8.ts";
import { newId } from "../../domain/id.ts";
import { createToken, hashSecret, parseToken, type NewApiKey } from "../../domain/caller.ts";

/** The key that seals signing secrets and header values: 32 random bytes in a separate file. */
export interface SecretKeySource {
  readonly file: string;
  /** Only a store that has no database yet may be given a new key. */
  readonly mayCreate: boolean;
  readonly random: (bytes: number) => Uint8Array;
  /** Says where to get the key from if it is missing. */
  readonly todo?: string;
}

const FROM_A_BACKUP =
  "put your copy back (or say where it is with [data] secret_key_file); if you have no copy, take it from a backup that includes it: webhookd restore --key-only BACKUP --seal-with FILE; if there is no such backup: webhookd secrets reissue";

export function readOrMakeSecretKey({ file, mayCreate, random, todo = FROM_A_BACKUP }: SecretKeySource): Buffer {
  if (existsSync(file)) return readSecretKey(file);
  if (!mayCreate) {
    throw new StoreRefused(
      1,
      `the secret key ${file} is missing, and without it the signing secrets in the database cannot be read`,
      todo,
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
    // systemd passes credentials with a group bit set, which stands for an access list, so only "others" is refused.
    if (process.platform !== "win32" && (statSync(file).mode & 0o007) !== 0) {
      throw new StoreRefused(1, `the secret key ${file} can be read by every user`, `chmod 600 ${file}`);
    }
    text = keyTextOf(file);
  } catch (error) {
    if (error instanceof StoreRefused) throw error;
    throw new StoreRefused(74, `the secret key ${file} cannot be read`, "check the file's owner and mode", error);
  }
  if (/^[0-9a-f]{64}$/i.test(text)) return Buffer.from(text, "hex");
  if (/^[A-Za-z0-9+/_-]{43}=?$/.test(text)) return Buffer.from(text, "base64");
  throw new StoreRefused(
    1,
    `the secret key ${file} is not 32 bytes in hexadecimal or base64`,
    "put the file back from your copy",
  );
}

/**
 * Returns the file's text without surrounding white space. Returns "" if it is not UTF-8, because no such text is a
 * key.
 */
export function keyTextOf(file: string): string {
  try {
    return utf8Of(readFileSync(file)).trim();
  } catch (error) {
    if (error instanceof NotUtf8) return "";
    throw error;
  }
}

/**
 * `secret.key` inside a backup, sealed with a passphrase: scrypt (RFC 7914) derives a key for AES-256-GCM, and the text
 * is bound to its store. Whoever has the file can try passphrases forever, so each try must be expensive.
 */

/** 2^17 blocks of 1 KiB take 128 MiB and about half a second for each try. */
const COST = { logN: 17, r: 8, p: 1 };
/** We never wrote text that asks for more than this, and opening such text would use up the memory. */
const MAX_LOG_N = 20;
const TAG_BYTES = 16;

export interface Sealing {
  readonly passphrase: string;
  /** The store's key check value. */
  readonly check: string;
}

/** `v1:scrypt:<log2 N>:<r>:<p>:<salt>:<nonce>:<cipher text and tag>`, base64url. */
export async function sealKey(
  key: Uint8Array,
  { passphrase, check, random }: Sealing & { readonly random: (bytes: number) => Uint8Array },
): Promise<string> {
  const { logN, r, p } = COST;
  const salt = random(16);
  const nonce = random(12);
  const header = `v1:scrypt:${logN}:${r}:${p}:${base64(salt)}`;
  const cipher = createCipheriv("aes-256-gcm", await derive(passphrase, salt, COST), nonce);
  cipher.setAAD(Buffer.from(`${header}:${check}`));
  const sealed = Buffer.concat([cipher.update(key), cipher.final(), cipher.getAuthTag()]);
  return `${header}:${base64(nonce)}:${base64(sealed)}`;
}

/** Returns null if the passphrase is wrong, or if the text was changed or belongs to another store. */
export async function openSealedKey(text: string, { passphrase, check }: Sealing): Promise<Buffer | null> {
  const found = /^(v1:scrypt:(\d{1,2}):(\d{1,2}):(\d{1,2}):([\w-]{22})):([\w-]{16}):([\w-]{64})$/.exec(text);
  if (found === null) return null;
  const [, header, logN, r, p, salt, nonce, sealed] = found as unknown as string[];
  const cost = { logN: Number(logN), r: Number(r), p: Number(p) };
  if (cost.logN > MAX_LOG_N || cost.r !== COST.r || cost.p !== COST.p) return null;
  const bytes = Buffer.from(sealed!, "base64url");
  const wrapping = await derive(passphrase, Buffer.from(salt!, "base64url"), cost);
  const options = { authTagLength: TAG_BYTES };
  const decipher = createDecipheriv("aes-256-gcm", wrapping, Buffer.from(nonce!, "base64url"), options);
  decipher.setAAD(Buffer.from(`${header}:${check}`));
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
  try {
    return Buffer.concat([decipher.update(bytes.subarray(0, -TAG_BYTES)), decipher.final()]);
  } catch {
    return null;
  }
}

/** Runs on a thread of Node's pool, so that the event loop is not blocked. */
function derive(passphrase: string, salt: Uint8Array, { logN, r, p }: typeof COST): Promise<Buffer> {
  // A passphrase must not depend on the Unicode form in which a keyboard produced it.
  const text = passphrase.normalize("NFC");
  const options = { N: 2 ** logN, r, p, maxmem: 2 * 128 * 2 ** logN * r };
  return new Promise((resolve, reject) => {
    scrypt(text, salt, 32, options, (error, key) => (error === null ? resolve(key) : reject(error)));
  });
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("base64url");
}

/**
 * Returns the first API key of a new store: the one in the file, which a first start that was cut short may have left,
 * or else a new one.
 */
export function readOrMakeAdminKey(file: string, now: number, random: (bytes: number) => Uint8Array): NewApiKey {
  let token = existsSync(file) ? parseToken(keyTextOf(file)) : null;
  if (token === null) {
    const text = createToken(newId("key", now, random(10)).slice("key_".length), random(32));
    writeDurably(file, `${text}\n`);
    token = parseToken(text)!;
  }
  const hash = hashSecret(token.secret);
  return { id: token.keyId, name: "admin", hash, scopes: ["admin"], tenant: "*", expiresAt: null };
}
