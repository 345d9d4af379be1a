/** How much anyone may ask: requests of a key, failed authentications of a peer, and bytes that wait for their commit. */
import { isIPv6 } from "node:net";
import { counted } from "../../domain/wording.ts";
import { WebhookdError } from "../../domain/errors.ts";
import { TokenBucket } from "../../domain/time/token-bucket.ts";
import type { Header } from "./reply.ts";

/** Past this many keys the memory of them starts anew. */
const MAX_KEYS = 10_000;

/**
 * `[server] rate_limit`: how many requests a second each key may make, with one second's worth saved up. Answers say what
 * is left of it in the fields of draft-ietf-httpapi-ratelimit-headers.
 */
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

const MAX_FAILURES = 30;
const WINDOW_MS = 60_000;
const MAX_PEERS = 10_000;

interface Window {
  failures: number;
  readonly endsAt: number;
}

export interface Throttled {
  readonly seconds: number;
  /** Whether this failure is the first one over the limit, which is worth a line in the log. */
  readonly isNews: boolean;
}

/** Counts failed authentications per peer: 30 a minute, in bounded memory. */
export class FailureThrottle {
  readonly #windows = new Map<string, Window>();

  /** Notes a failure; how long to wait when the peer has used up its failures, else null. `now` is monotonic. */
  fail(address: string, now: number): Throttled | null {
    const peer = peerOf(address);
    let window = this.#windows.get(peer);
    if (window === undefined || window.endsAt <= now) {
      window = { failures: 0, endsAt: now + WINDOW_MS };
      this.#windows.delete(peer);
      // The map keeps the order of insertion: the first one is the window that ends first.
      if (this.#windows.size >= MAX_PEERS) this.#windows.delete(this.#windows.keys().next().value!);
      this.#windows.set(peer, window);
    }
    window.failures += 1;
    if (window.failures <= MAX_FAILURES) return null;
    return {
      seconds: Math.max(1, Math.ceil((window.endsAt - now) / 1000)),
      isNews: window.failures === MAX_FAILURES + 1,
    };
  }
}

/** A host owns a whole IPv6 /64, so that is what counts as one peer. */
function peerOf(address: string): string {
  if (!isIPv6(address) || address.startsWith("::ffff:")) return address;
  return address.split("::")[0]!.split(":").slice(0, 4).join(":");
}

/**
 * Back-pressure for publishes: how many requests, and how many bytes of them, may wait for their commit. What is over
 * is refused at once with 503, so that a burst costs the publisher a retry and not the daemon its memory.
 */
export class Intake {
  readonly #maxRequests: number;
  readonly #maxBytes: number;
  #requests = 0;
  #bytes = 0;

  constructor(maxRequests: number, maxBytes: number) {
    this.#maxRequests = maxRequests;
    this.#maxBytes = maxBytes;
  }

  /** Throws `overloaded`; else the ticket must be given back with `leave`. */
  enter(): Ticket {
    if (this.#requests >= this.#maxRequests) throw overloaded("too many publish requests are waiting for their commit");
    this.#requests += 1;
    let held = 0;
    return {
      hold: (bytes) => {
        if (this.#bytes + bytes > this.#maxBytes)
          throw overloaded("too many published bytes are waiting for their commit");
        this.#bytes += bytes;
        held += bytes;
      },
      leave: () => {
        this.#requests -= 1;
        this.#bytes -= held;
        held = 0;
      },
    };
  }
}

export interface Ticket {
  /** Counts bytes that came in; throws `overloaded` when they do not fit. */
  hold(bytes: number): void;
  leave(): void;
}

function overloaded(detail: string): WebhookdError {
  return new WebhookdError("overloaded", detail, { retryAfterSeconds: 1 });
}
