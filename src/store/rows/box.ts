/**
 * Seals secrets for the disk with AES-256-GCM and a fresh 96-bit nonce. A sealed text is bound to its place, so it does
 * not open if it is moved to another endpoint or field (ASVS 11.3.4).
 */
import { createCipheriv, createDecipheriv, createHmac, createSecretKey, type KeyObject } from "node:crypto";
import { sealKey } from "../files/key-files.ts";

const TAG_BYTES = 16;
const KEY_CHECK = "webhookd key check";
const CHECK_PLACE = "meta:key_check";
const MARKS_PLACE = "meta:marks";

export class Box {
  #keyId: string;
  /**
   * Not a Buffer, with which Node would take three times as long to begin, and each list opens two texts of each
   * endpoint.
   */
  #key: KeyObject;
  /** Not a Buffer either: each event with an idempotency key needs a mark. */
  #markKey: KeyObject;
  readonly #random: (bytes: number) => Uint8Array;

  constructor(key: Uint8Array, random: (bytes: number) => Uint8Array) {
    this.#key = createSecretKey(key);
    this.#random = random;
    this.#keyId = createHmac("sha256", key).update("webhookd secret.key id").digest("hex").slice(0, 8);
    this.#markKey = createSecretKey(createHmac("sha256", key).update("webhookd marks").digest());
  }

  /**
   * Identifies the key without revealing anything about it. It is stored with each sealed text, to recognise texts that
   * another key sealed.
   */
  get keyId(): string {
    return this.#keyId;
  }

  /** The key of the marks, for another thread that makes marks. Changing `secret.key` does not change it. */
  get markKey(): Uint8Array {
    return this.#markKey.export();
  }

  mark(bytes: Uint8Array): Buffer {
    return markWith(this.#markKey, bytes);
  }

  /** Returns a box that seals with another key and makes the same marks. */
  successor(key: Uint8Array): Box {
    const next = new Box(key, this.#random);
    next.#markKey = this.#markKey;
    return next;
  }

  /** Makes this box seal and open with the other's key from now on, for everyone who holds this box. */
  become(next: Box): void {
    this.#key = next.#key;
    this.#keyId = next.#keyId;
    this.#markKey = next.#markKey;
  }

  sealMarks(): string {
    return this.seal(this.#markKey.export().toString("base64url"), MARKS_PLACE);
  }

  takeMarks(sealed: string): void {
    const text = this.open(sealed, MARKS_PLACE);
    if (text !== null) this.#markKey = createSecretKey(text, "base64url");
  }

  /** Returns text for the store to keep, so that a later start can check whether it has the right key. */
  sealCheck(): string {
    return this.seal(KEY_CHECK, CHECK_PLACE);
  }

  opensCheck(check: string): boolean {
    return this.open(check, CHECK_PLACE) === KEY_CHECK;
  }

  /** Seals the key itself for a copy of the store. `check`, the key check value, identifies the store. */
  sealKey(passphrase: string, check: string): Promise<string> {
    return sealKey(this.#key.export(), { passphrase, check, random: this.#random });
  }

  /**
   * Returns `v1:<key id>:<nonce>:<cipher text and tag>`, base64url. `place` names the object and field that the text
   * belongs to.
   */
  seal(text: string, place: string): string {
    const nonce = this.#random(12);
    const cipher = createCipheriv("aes-256-gcm", this.#key, nonce);
    cipher.setAAD(Buffer.from(`${place}:${this.keyId}`));
    const sealed = Buffer.concat([cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()]);
    return `v1:${this.keyId}:${Buffer.from(nonce).toString("base64url")}:${sealed.toString("base64url")}`;
  }

  /** Returns null if the text was changed, or sealed with another key or for another place. */
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

/**
 * Returns a mark by which the same bytes are recognised. Without the key the mark reveals nothing, so weak bytes cannot
 * be guessed from it.
 */
export function markWith(key: Uint8Array | KeyObject, bytes: Uint8Array): Buffer {
  return createHmac("sha256", key).update(bytes).digest();
}
