/** Recognises repeated requests: `docs/interface.md` §2. */
import { createHash } from "node:crypto";
import { WebhookdError } from "../errors.ts";

/** A caller's key for something that must happen only once. */
export interface Idempotency {
  readonly key: string;
  /** SHA-256 of the request. The same key with another fingerprint is the caller's mistake. */
  readonly fingerprint: Uint8Array;
  /** The time from which the key is forgotten, in epoch milliseconds. */
  readonly expiresAt: number;
}

/** A request that may be repeated, under a key of its tenant. */
export interface KeyedRequest extends Idempotency {
  readonly tenant: string;
}

/**
 * Passed to a method of the store, which saves the key in the same transaction as its work. Call `recall` first. If the
 * key has been taken since, the method does nothing and rejects. It rejects with `overloaded` if the same request took
 * it, and then calling `recall` again finds the answer.
 */
export interface Once<T> extends KeyedRequest {
  /** Returns the part of the result to save, without secrets and event data, or null for nothing. */
  readonly answer: (result: T) => string | null;
}

/** The key was used for something else. */
export class IdempotencyMismatch extends WebhookdError {
  /** The index of the draft with that key. Null for the key of the request itself. */
  readonly index: number | null;

  constructor(index: number | null) {
    super(
      "idempotency_mismatch",
      "this idempotency key was already used for a different request; use a new one for each request",
    );
    this.index = index;
  }
}

/** 1 to 255 visible ASCII characters. */
export const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,255}$/;

export function isIdempotencyKey(text: string): boolean {
  return IDEMPOTENCY_KEY.test(text);
}

/** The fingerprint of a whole request. */
export function requestFingerprint(method: string, path: string, body: Uint8Array): Uint8Array {
  return createHash("sha256").update(`${method} ${path}\n`).update(body).digest();
}

/**
 * Returns the fingerprint of one event by its content, so that an outbox may repeat in a batch, or as a line, what it
 * first sent alone. `createdAt` is null if the caller gave none, because each request then gets a time of its own.
 */
export function eventFingerprint(
  type: string,
  createdAt: number | null,
  data: Uint8Array,
  labels?: string,
): Uint8Array {
  const hash = createHash("sha256").update(`event ${type} ${createdAt ?? "-"}\n`);
  // Without labels, the fingerprint stays the same as before labels existed.
  if (labels !== undefined) hash.update(`labels ${labels}\n`);
  return hash.update(data).digest();
}
