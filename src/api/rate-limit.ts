/** `[server] rate_limit`: how many requests a second each key may make, with one second's worth saved up. */
import { WebhookdError } from "../domain/errors.ts";
import { TokenBucket } from "../domain/token-bucket.ts";

/** Past this many keys the memory of them starts anew. */
const MAX_KEYS = 10_000;

export class RateLimit {
  readonly #perSecond: number;
  readonly #buckets = new Map<string, TokenBucket>();

  constructor(perSecond: number) {
    this.#perSecond = perSecond;
  }

  /** Counts a request of the key; throws `rate_limited` for one too many. `now` is monotonic. */
  take(keyId: string, now: number): void {
    let bucket = this.#buckets.get(keyId);
    if (bucket === undefined) {
      if (this.#buckets.size >= MAX_KEYS) this.#buckets.clear();
      this.#buckets.set(keyId, (bucket = new TokenBucket(this.#perSecond)));
    }
    const waitMs = bucket.readyAt(this.#perSecond) - now;
    if (waitMs > 0) throw tooMany(this.#perSecond, waitMs);
    bucket.take(now);
  }
}

function tooMany(perSecond: number, waitMs: number): WebhookdError {
  const detail = `this key may make ${perSecond} requests a second; see [server] rate_limit`;
  return new WebhookdError("rate_limited", detail, { retryAfterSeconds: Math.ceil(waitMs / 1000) });
}
