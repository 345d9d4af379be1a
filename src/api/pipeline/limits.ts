/** How much anyone may ask: requests of a key, failed authentications of a peer, and what may be under way at once. */
import { Readable } from "node:stream";
import type { Clock } from "../../clock.ts";
import type { Account } from "../../domain/caller.ts";
import { counted } from "../../domain/wording.ts";
import { WebhookdError } from "../../domain/errors.ts";
import { type TenantShares, TenantTurns, type Waiting } from "../../domain/time/timetable.ts";
import { TokenBucket } from "../../domain/time/token-bucket.ts";
import { peerOf } from "../server/connections.ts";
import type { Header, Reply } from "./reply.ts";

/** Past this many keys the memory of them starts anew. */
const MAX_KEYS = 10_000;

/** Links get no more of the rate of the key that made them, so that the key itself can go on. */
const LINKS_PART = 3 / 4;
/** The links of one tenant get no more of it, so that those of other tenants can go on. */
const TENANT_LINKS_PART = 1 / 2;

/**
 * `[server] rate_limit`: how many requests a second each key may make, with one second's worth saved up; each event of a
 * batch counts as one. Answers say what is left of it in the fields of draft-ietf-httpapi-ratelimit-headers.
 */
export class RateLimit {
  readonly #perSecond: number;
  readonly #buckets = new Map<string, TokenBucket>();

  constructor(perSecond: number) {
    this.#perSecond = perSecond;
  }

  /** Counts a request, before its body is read; for one too many, the refusal. `now` is monotonic. */
  take(account: Account, now: number): Taken {
    const allowances = this.#allowancesOf(account);
    const waitMs = Math.max(...allowances.map(({ bucket, burst }) => bucket.readyAt(burst) - now));
    if (waitMs <= 0) for (const { bucket } of allowances) bucket.take(now);
    return {
      headers: headersOf(allowances, now),
      refusal: waitMs > 0 ? tooMany(this.#perSecond, account, waitMs) : null,
    };
  }

  /**
   * Counts what a request turned out to carry beyond the one that it was counted as. It is taken all the same, or a
   * batch of more than a second's worth never would be; the key waits afterwards.
   */
  takeMore(account: Account, count: number, now: number): readonly Header[] {
    const allowances = this.#allowancesOf(account);
    for (const { bucket } of allowances) bucket.take(now, count);
    return headersOf(allowances, now);
  }

  /** What must have room for a request. */
  #allowancesOf({ payer, caller }: Account): readonly Allowance[] {
    const bucket = bucketOf(this.#buckets, payer, this.#perSecond);
    if (payer === caller) return [{ bucket, burst: this.#perSecond }];
    const part = partOf(this.#perSecond);
    return [
      { bucket, burst: Math.max(1, this.#perSecond * LINKS_PART) },
      { bucket: bucketOf(this.#buckets, caller, part), burst: Math.max(1, part) },
    ];
  }
}

interface Allowance {
  readonly bucket: TokenBucket;
  /** The least number of tokens that it is full with. */
  readonly burst: number;
}

/** What the links of one tenant may use of a rate. */
function partOf(perSecond: number): number {
  return perSecond * TENANT_LINKS_PART;
}

function headersOf(allowances: readonly Allowance[], now: number): readonly Header[] {
  const most = Math.floor(Math.min(...allowances.map(({ burst }) => burst)));
  const left = Math.min(...allowances.map(({ bucket, burst }) => bucket.left(burst, now)));
  // What is saved up comes back evenly, within the window of a second unless a batch took more than that.
  const seconds = allowances.map(({ bucket }) => Math.ceil((bucket.readyAt(1) - now) / 1000));
  return [
    ["ratelimit-policy", `"key";q=${most};w=1`],
    ["ratelimit", `"key";r=${left};t=${Math.max(1, ...seconds)}`],
  ];
}

const HOUR_SECONDS = 3600;

/** `[limits] portal_links_per_hour`: how many links each key may make, with one hour's worth saved up. */
export class LinkRate {
  readonly #perHour: number;
  readonly #buckets = new Map<string, TokenBucket>();

  constructor(perHour: number) {
    this.#perHour = perHour;
  }

  /** Throws `rate_limited`. The operator may make any number. `now` is monotonic. */
  take(account: Account | null, now: number): void {
    if (account === null) return;
    const bucket = bucketOf(this.#buckets, account.payer, this.#perHour / HOUR_SECONDS);
    const waitMs = bucket.readyAt(this.#perHour) - now;
    if (waitMs <= 0) return bucket.take(now);
    const detail =
      `this key may make ${counted(this.#perHour, "portal link", "portal links")} an hour; use a link again until it ` +
      "expires, such as for a customer's whole session; see [limits] portal_links_per_hour";
    throw new WebhookdError("rate_limited", detail, { retryAfterSeconds: Math.ceil(waitMs / 1000) });
  }
}

/** A new one where the memory has started anew, also between a request and what it carries. */
function bucketOf(buckets: Map<string, TokenBucket>, name: string, perSecond: number): TokenBucket {
  let bucket = buckets.get(name);
  if (bucket === undefined) {
    if (buckets.size >= MAX_KEYS) buckets.clear();
    buckets.set(name, (bucket = new TokenBucket(perSecond)));
  }
  return bucket;
}

/** `[tenants.NAME] rate_per_second`: how many events a second each tenant may publish, with one second's worth saved up. */
export class TenantRates {
  readonly #shares: TenantShares;
  readonly #buckets = new Map<string, TokenBucket>();

  constructor(shares: TenantShares) {
    this.#shares = shares;
  }

  /** Before a body is read: throws `rate_limited` for a tenant that has used up its rate. `now` is monotonic. */
  require(tenant: string, now: number): void {
    const perSecond = this.#shares.get(tenant)?.ratePerSecond ?? null;
    const waitMs = perSecond === null ? 0 : this.#bucket(tenant, perSecond, now).readyAt(perSecond) - now;
    if (waitMs <= 0) return;
    const detail = `the tenant ${tenant} may publish ${counted(perSecond!, "event", "events")} a second; see [tenants.NAME] rate_per_second`;
    throw new WebhookdError("rate_limited", detail, { retryAfterSeconds: Math.ceil(waitMs / 1000) });
  }

  /** Takes all of it, if each of its tenants had anything left: a batch of more than a second's worth is waited for later. */
  take(drafts: readonly { readonly tenant: string }[], now: number): void {
    for (const { tenant } of drafts) this.require(tenant, now);
    for (const { tenant } of drafts) {
      const perSecond = this.#shares.get(tenant)?.ratePerSecond ?? null;
      if (perSecond !== null) this.#bucket(tenant, perSecond, now).take(now);
    }
  }

  #bucket(tenant: string, perSecond: number, now: number): TokenBucket {
    let bucket = this.#buckets.get(tenant);
    if (bucket === undefined) this.#buckets.set(tenant, (bucket = new TokenBucket(perSecond)));
    // The configuration was read again.
    else if (bucket.perSecond !== perSecond) bucket.setRate(perSecond, now);
    return bucket;
  }
}

export interface Taken {
  /** For the answer, whatever it is. */
  readonly headers: readonly Header[];
  /** `rate_limited`. */
  readonly refusal: WebhookdError | null;
}

function tooMany(perSecond: number, { payer, caller }: Account, waitMs: number): WebhookdError {
  const requests = (count: number) => counted(count, "request", "requests");
  const detail =
    payer === caller
      ? `this key may make ${requests(perSecond)} a second, counting each event of a batch; see [server] rate_limit`
      : `the portal links of one tenant may make ${requests(partOf(perSecond))} a second, and count against the rate of the key that made them; see [server] rate_limit`;
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

export interface PaceRule {
  /** Answered without waiting, for each address or key. */
  readonly atOnce: number;
  /** The pace of more than that. */
  readonly perSecond: number;
  /** The longest that this pace lets anyone wait. */
  readonly mostMs: number;
  /** Of all addresses and keys together, with one second's worth saved up. */
  readonly together: number;
}

export const OF_REFUSALS: PaceRule = { atOnce: 128, perSecond: 25, mostMs: 1500, together: 500 };
/** A load balancer that asks for `/readyz` gives up after a second. */
export const OF_OPEN_ROUTES: PaceRule = { atOnce: 128, perSecond: 50, mostMs: 500, together: 500 };

/** In pieces of 128 KiB: of a long body that was read and refused for what it says. */
export const OF_LONG_REFUSALS: PaceRule = { atOnce: 64, perSecond: 16, mostMs: 1500, together: 128 };

/** What costs about as much to write as all else that is done for a request; more of it than that many is not counted. */
const [BYTES, MOST] = [16 * 1024, 64];

/** Of an answer, compared with a short one. */
export function costOf(body: Reply["body"]): number {
  return body === null || body instanceof Readable ? 1 : Math.min(Math.max(1, body.length / BYTES), MOST);
}

/** Those whose turn has come are looked for so often. */
const TICK_MS = 10;
const EQUAL_SHARES: TenantShares = new Map();

interface Turn extends Waiting {
  readonly go: () => void;
}

/**
 * Answers that need no good key: refusals, and what is open to anyone. A flood of them is answered at a pace, in turns of
 * the addresses, so that others do not wait for it.
 */
export class Pace {
  readonly #clock: Clock;
  readonly #rule: PaceRule;
  readonly #buckets = new Map<string, TokenBucket>();
  readonly #together: TokenBucket;
  /** Of those whose own pace lets them go: by address, so that one of few requests does not wait for one of many. */
  readonly #turns = new TenantTurns<Turn>(EQUAL_SHARES);
  #isTicking = false;

  constructor(clock: Clock, rule: PaceRule) {
    this.#clock = clock;
    this.#rule = rule;
    this.#together = new TokenBucket(rule.together);
  }

  /** Resolves when this one may be answered; null: at once. */
  turn(who: string, cost = 1): Promise<void> | null {
    const { atOnce, mostMs } = this.#rule;
    const bucket = this.#bucketOf(who);
    const now = this.#clock.monotonic();
    const wait = Math.max(0, bucket.readyAt(atOnce) - now);
    if (wait <= mostMs) bucket.take(now, cost);
    if (wait === 0 && this.#turns.size === 0 && this.#mayGo(now)) {
      this.#together.take(now, cost);
      return null;
    }
    const { promise, resolve: go } = Promise.withResolvers<void>();
    const come = () => {
      this.#turns.add({ tenant: who, cost, go });
      this.#tick();
    };
    if (wait === 0) come();
    else this.#clock.after(Math.min(wait, mostMs), come);
    return promise;
  }

  #bucketOf(who: string): TokenBucket {
    return bucketOf(this.#buckets, who, this.#rule.perSecond);
  }

  #mayGo(now: number): boolean {
    return this.#together.readyAt(this.#rule.together) <= now;
  }

  #tick(): void {
    const now = this.#clock.monotonic();
    while (this.#mayGo(now)) {
      const turn = this.#turns.take();
      if (turn === undefined) return;
      this.#together.take(now, turn.cost);
      turn.go();
    }
    if (this.#turns.size === 0 || this.#isTicking) return;
    this.#isTicking = true;
    this.#clock.after(TICK_MS, () => {
      this.#isTicking = false;
      this.#tick();
    });
  }
}

/** What there is only so much of. */
export type Scarce = "publishes" | "bytes" | "reads" | "streams";

class Amounts implements Record<Scarce, number> {
  publishes = 0;
  bytes = 0;
  reads = 0;
  streams = 0;
}

const SCARCE = Object.keys(new Amounts()) as Scarce[];

/** In words: what there are too many of for anyone, and what somebody has enough of. */
const WORDS: Record<Scarce, readonly [tooMany: string, enough: string, retryAfterSeconds: number]> = {
  publishes: ["publish requests are waiting for their commit", "publish requests waiting for their commit", 1],
  bytes: ["published bytes are waiting for their commit", "published bytes waiting for their commit", 1],
  reads: ["reads are under way", "reads", 1],
  streams: ["streams are open", "streams", 15],
};

/**
 * Who has so many times what is free gets no more. With 3, one alone may have three quarters. Streams stay open for
 * hours: with 1, one alone may have half, and many others find room beside it.
 */
const TIMES_FREE: Record<Scarce, number> = { publishes: 3, bytes: 3, reads: 3, streams: 1 };

/**
 * Back-pressure: what may be under way at once, of everybody together, and of each account. What is over is refused at
 * once, so that a burst costs those who make it a retry, and neither the daemon its memory nor others theirs.
 */
export class Shares {
  readonly #most: Readonly<Record<Scarce, number>>;
  readonly #all = new Amounts();
  readonly #shares = new Map<string, Amounts>();

  constructor(most: Readonly<Record<Scarce, number>>) {
    this.#most = most;
  }

  /** For one request; null for who has no share. What it takes must be given back with `leave`. */
  of(account: Account | null): Holding {
    return new Holding(this.#most, this.#all, account === null ? undefined : amountsOf(this.#shares, account.share));
  }
}

function amountsOf(all: Map<string, Amounts>, name: string): Amounts {
  let amounts = all.get(name);
  if (amounts === undefined) {
    if (all.size >= MAX_KEYS) {
      for (const [each, held] of all) if (SCARCE.every((what) => held[what] === 0)) all.delete(each);
    }
    all.set(name, (amounts = new Amounts()));
  }
  return amounts;
}

/** A refusal of who has too much under way: 503 where everybody has, 429 for a share. */
export class OverShare extends WebhookdError {}

/** What one request has taken. */
export class Holding {
  readonly #most: Readonly<Record<Scarce, number>>;
  readonly #all: Amounts;
  readonly #share: Amounts | undefined;
  readonly #own = new Amounts();

  constructor(most: Readonly<Record<Scarce, number>>, all: Amounts, share: Amounts | undefined) {
    this.#most = most;
    this.#all = all;
    this.#share = share;
  }

  /** Throws `overloaded` where there is no more, and `rate_limited` for who has enough of it. */
  take(what: Scarce, amount = 1): void {
    const free = this.#most[what] - this.#all[what];
    const [tooMany, enough, retryAfterSeconds] = WORDS[what];
    if (amount > free) throw new OverShare("overloaded", `too many ${tooMany}`, { retryAfterSeconds });
    const mine = this.#share?.[what] ?? 0;
    if (mine > 0 && mine >= TIMES_FREE[what] * free) {
      const detail = `this key or its tenant already has its share of the ${enough}; the rest is kept for others`;
      throw new OverShare("rate_limited", detail, { retryAfterSeconds });
    }
    this.#add(what, amount);
  }

  leave(): void {
    for (const what of SCARCE) if (this.#own[what] > 0) this.#add(what, -this.#own[what]);
  }

  #add(what: Scarce, amount: number): void {
    this.#own[what] += amount;
    this.#all[what] += amount;
    if (this.#share !== undefined) this.#share[what] += amount;
  }
}
