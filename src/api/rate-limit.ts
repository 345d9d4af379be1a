/**
 * `[server] rate_limit`: how many requests a second each key may make, with one second's worth saved up. Answers say what
 * is left of it in the fields of draft-ietf-httpapi-ratelimit-headers.
 */
import { counted } from "../domain/counted.ts";
import { WebhookdError } from "../domain/errors.ts";
import { TokenBucket } from "../domain/token-bucket.ts";
import type { Header } from "./route.ts";

/** Past this many keys the memory of them starts anew. */
const MAX_KEYS = 10_000;

export class RateLimit {
  readonly #perSecond: number;
  readonly #buckets = new Map<string, TokenBucket>();

  constructor(perSecond: number) {
    this.#perSecond = perSecond;
  }

  /** Counts a request of the key; for one too many, the refusal. `now` is monotonic. */
  take(keyId: string, now: number): Taken {
    let bucket = this.#buckets.get(keyId);
    if (bucket === undefined) {
      if (this.#buckets.size >= MAX_KEYS) this.#buckets.clear();
      this.#buckets.set(keyId, (bucket = new TokenBucket(this.#perSecond)));
    }
    const waitMs = bucket.readyAt(this.#perSecond) - now;
    if (waitMs <= 0) bucket.take(now);
    const left = bucket.left(this.#perSecond, now);
    return {
      // The window is a second, and so the longest wait for all of it: what is saved up comes back evenly within it.
      headers: [
        ["ratelimit-policy", `"key";q=${this.#perSecond};w=1`],
        ["ratelimit", `"key";r=${left};t=1`],
      ],
      refusal: waitMs > 0 ? tooMany(this.#perSecond, waitMs) : null,
    };
  }
}

export interface Taken {
  /** For the answer, whatever it is. */
  readonly headers: readonly Header[];
  /** `rate_limited`. */
  readonly refusal: WebhookdError | null;
}

function tooMany(perSecond: number, waitMs: number): WebhookdError {
  const detail = `this key may make ${counted(perSecond, "request", "requests")} a second; see [server] rate_limit`;
  return new WebhookdError("rate_limited", detail, { retryAfterSeconds: Math.ceil(waitMs / 1000) });
}
