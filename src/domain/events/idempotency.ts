/** What makes a request known when it comes again: `docs/interface.md` §2. */
import { createHash } from "node:crypto";
import { WebhookdError } from "../errors.ts";

/** A caller's name for one thing to be done once. */
export interface Idempotency {
  readonly key: string;
  /** SHA-256 of what is to be done: the same key with another fingerprint is a mistake of the caller's. */
  readonly fingerprint: Uint8Array;
  /** Epoch milliseconds from which on the key is unknown again. */
  readonly expiresAt: number;
}

/** A request that may come again, under a key of its tenant. */
export interface KeyedRequest extends Idempotency {
  readonly tenant: string;
}

/**
 * Given to a verb of the store, it is remembered in the transaction of what the verb does. Who gives it has asked
 * `recall` before; if the key was taken meanwhile the verb does nothing and rejects, with `overloaded` when the same
 * request took it: asking again finds the answer.
 */
export interface Once<T> extends KeyedRequest {
  /** What to remember of the result, without secrets and event data; null for nothing. */
  readonly answer: (result: T) => string | null;
}

/** The key was used, and for something else. */
export class IdempotencyMismatch extends WebhookdError {
  /** Which of several drafts has the key; null for the key of the request itself. */
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

/** Of a whole request. */
export function requestFingerprint(method: string, path: string, body: Uint8Array): Uint8Array {
  return createHash("sha256").update(`${method} ${path}\n`).update(body).digest();
}

/**
 * Of one event, by what it says: so an outbox may send again in a batch, or as a line, what it first sent alone.
 * `createdAt` is null where the caller gave none, because then each request has its own.
 */
export function eventFingerprint(
  type: string,
  createdAt: number | null,
  data: Uint8Array,
  labels?: string,
): Uint8Array {
  const hash = createHash("sha256").update(`event ${type} ${createdAt ?? "-"}\n`);
  // Without any it is as it was before there were any.
  if (labels !== undefined) hash.update(`labels ${labels}\n`);
  return hash.update(data).digest();
}
