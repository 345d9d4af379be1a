/**
 * Seals secrets for the disk: AES-256-GCM with a fresh 96-bit nonce, bound to where it is kept, so that a sealed text
 * moved to another endpoint or field does not open (ASVS 11.3.4).
 */
import { createCipheriv, createDecipheriv, createHmac, createSecretKey, type KeyObject } from "node:crypto";
import { sealKey } from "../files/key-files.ts";

const TAG_BYTES = 16;
const KEY_CHECK = "webhookd key check";
const CHECK_PLACE = "meta:key_check";
const MARKS_PLACE = "meta:marks";

export class Box {
  #keyId: string;
  /** With bytes in place of it, Node takes three times as long to begin: each list opens two texts of each endpoint. */
  #key: KeyObject;
  #markKey: Uint8Array;
  readonly #random: (bytes: number) => Uint8Array;

  constructor(key: Uint8Array, random: (bytes: number) => Uint8Array) {
    this.#key = createSecretKey(key);
    this.#random = random;
    this.#keyId = createHmac("sha256", key).update("webhookd secret.key id").digest("hex").slice(0, 8);
    this.#markKey = createHmac("sha256", key).update("webhookd marks").digest();
  }

  /** Names the key without telling anything of it; kept beside what it sealed, so that another key is told from it. */
  get keyId(): string {
    return this.#keyId;
  }

  /** For a thread that marks too. A change of the key leaves it as it is. */
  get markKey(): Uint8Array {
    return this.#markKey;
  }

  mark(bytes: Uint8Array): Buffer {
    return markWith(this.#markKey, bytes);
  }

  /** Another key seals, and the marks of before are told again. */
  successor(key: Uint8Array): Box {
    const next = new Box(key, this.#random);
    next.#markKey = this.#markKey;
    return next;
  }

  /** For all who have this box: from now on it seals and opens with the other's key. */
  become(next: Box): void {
    this.#key = next.#key;
    this.#keyId = next.#keyId;
    this.#markKey = next.#markKey;
  }

  sealMarks(): string {
    return this.seal(Buffer.from(this.#markKey).toString("base64url"), MARKS_PLACE);
  }

  takeMarks(sealed: string): void {
    const text = this.open(sealed, MARKS_PLACE);
    if (text !== null) this.#markKey = Buffer.from(text, "base64url");
  }

  /** What a store keeps so that a later start can tell whether it has the right key. */
  sealCheck(): string {
    return this.seal(KEY_CHECK, CHECK_PLACE);
  }

  opensCheck(check: string): boolean {
    return this.open(check, CHECK_PLACE) === KEY_CHECK;
  }

  /** The key itself, for a copy of the store that `check`, its key check value, tells from others. */
  sealKey(passphrase: string, check: string): Promise<string> {
    return sealKey(this.#key.export(), { passphrase, check, random: this.#random });
  }

  /** `v1:<key id>:<nonce>:<cipher text and tag>`, base64url. `place` says whose and which field it is. */
  seal(text: string, place: string): string {
    const nonce = this.#random(12);
    const cipher = createCipheriv("aes-256-gcm", this.#key, nonce);
    cipher.setAAD(Buffer.from(`${place}:${this.keyId}`));
    const sealed = Buffer.concat([cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()]);
    return `v1:${this.keyId}:${Buffer.from(nonce).toString("base64url")}:${sealed.toString("base64url")}`;
  }

  /** Null when the text was sealed with another key or for another place, or was changed. */
  open(sealed: string, place: string): string | null {
    const [version, keyId, nonce, text] = String(sealed).split(":");
    if (version !== "v1" || keyId !== this.keyId || nonce === undefined || text === undefined) return null;
    try {
      return this.#decipher(nonce, text, place);
    } catch {
      return null;
    }
  }

  #decipher(nonce: string, text: string, place: string): string {
    const bytes = Buffer.from(text, "base64url");
    const options = { authTagLength: TAG_BYTES };
    const decipher = createDecipheriv("aes-256-gcm", this.#key, Buffer.from(nonce, "base64url"), options);
    decipher.setAAD(Buffer.from(`${place}:${this.keyId}`));
    decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
    return decipher.update(bytes.subarray(0, -TAG_BYTES), undefined, "utf8") + decipher.final("utf8");
  }
}

/** Tells the same bytes again from others, and, without the key, nothing of them: weak ones cannot be guessed from it. */
export function markWith(key: Uint8Array, bytes: Uint8Array): Buffer {
  return createHmac("sha256", key).update(bytes).digest();
}
