/**
 * The limits on callers: requests per key, failed authentications per peer, the pace of refusals and of long work, and
 * the work in progress.
 */
import { Readable } from "node:stream";
import type { Clock } from "../../clock.ts";
import type { Account } from "../../domain/caller.ts";
import { counted } from "../../domain/wording.ts";
import { WebhookdError } from "../../domain/errors.ts";
import { type TenantShares, TenantTurns, Throttle, type Waiting } from "../../domain/time/timetable.ts";
import { TokenBucket } from "../../domain/time/token-bucket.ts";
import { peerOf } from "../server/connections.ts";
import type { Header, Reply } from "./reply.ts";

/** The buckets are discarded when there are this many. */
const MAX_KEYS = 10_000;

/** The part of a key's rate that portal links made with it may use, so that the key itself stays usable. */
const LINKS_PART = 3 / 4;
/** The part of a key's rate that the links of one tenant may use, so that links of other tenants stay usable. */
const TENANT_LINKS_PART = 1 / 2;

/**
 * `[server] rate_limit`: the requests per second that each key may make, with one second's worth saved up. Each event
 * of a batch counts as one. Answers show the remainder in the fields of draft-ietf-httpapi-ratelimit-headers.
 */
export class RateLimit {
  readonly #perSecond: number;
  readonly #buckets = new Map<string, TokenBucket>();

  constructor(perSecond: number) {
    this.#perSecond = perSecond;
  }

  /** Counts a request before its body is read. Returns a refusal if it is one too many. `now` is monotonic. */
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
   * Counts the further events of a batch. They are accepted even beyond the limit, or else a batch of more than one
   * second's worth never could be. The key waits afterwards.
   */
  takeMore(account: Account, count: number, now: number): readonly Header[] {
    const allowances = this.#allowancesOf(account);
    for (const { bucket } of allowances) bucket.take(now, count);
    return headersOf(allowances, now);
  }

  /** Returns the allowances that must all have a token for a request. */
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
  /** The number of tokens in a full bucket. */
  readonly burst: number;
}

/** Returns the part of a rate that the links of one tenant may use. */
function partOf(perSecond: number): number {
  return perSecond * TENANT_LINKS_PART;
}

function headersOf(allowances: readonly Allowance[], now: number): readonly Header[] {
  const most = Math.floor(Math.min(...allowances.map(({ burst }) => burst)));
  const left = Math.min(...allowances.map(({ bucket, burst }) => bucket.left(burst, now)));
  // Tokens come back evenly, within a window of one second unless a batch took more than that.
  const seconds = allowances.map(({ bucket }) => Math.ceil((bucket.readyAt(1) - now) / 1000));
  return [
    ["ratelimit-policy", `"key";q=${most};w=1`],
    ["ratelimit", `"key";r=${left};t=${Math.max(1, ...seconds)}`],
  ];
}

const HOUR_SECONDS = 3600;

/** `[limits] portal_links_per_hour`: the links that each key may make, with one hour's worth saved up. */
export class LinkRate {
  readonly #perHour: number;
  readonly #buckets = new Map<string, TokenBucket>();

  constructor(perHour: number) {
    this.#perHour = perHour;
  }

  /** Throws `rate_limited`. A null account is the operator, who has no limit. `now` is monotonic. */
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

/** Makes a new bucket if there is none. Emptying the map may also happen between a request and its batch's events. */
function bucketOf(buckets: Map<string, TokenBucket>, name: string, perSecond: number): TokenBucket {
  let bucket = buckets.get(name);
  if (bucket === undefined) {
    if (buckets.size >= MAX_KEYS) buckets.clear();
    buckets.set(name, (bucket = new TokenBucket(perSecond)));
  }
  return bucket;
}

/**
 * `[tenants.NAME] rate_per_second`: the events per second that each tenant may publish, with one second's worth saved
 * up.
 */
export class TenantRates {
  readonly #shares: TenantShares;
  readonly #buckets = new Map<string, TokenBucket>();

  constructor(shares: TenantShares) {
    this.#shares = shares;
  }

  /** Throws `rate_limited` if the tenant has used up its rate. Called before a body is read. `now` is monotonic. */
  require(tenant: string, now: number): void {
    const perSecond = this.#shares.get(tenant)?.ratePerSecond ?? null;
    const waitMs = perSecond === null ? 0 : this.#bucket(tenant, perSecond, now).readyAt(perSecond) - now;
    if (waitMs <= 0) return;
    const detail = `the tenant ${tenant} may publish ${counted(perSecond!, "event", "events")} a second; see [tenants.NAME] rate_per_second`;
    throw new WebhookdError("rate_limited", detail, { retryAfterSeconds: Math.ceil(waitMs / 1000) });
  }

  /**
   * Counts all events if each of their tenants had a token left. After a batch of more than one second's worth, the
   * tenant waits.
   */
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
    // A reload has changed the rate.
    else if (bucket.perSecond !== perSecond) bucket.setRate(perSecond, now);
    return bucket;
  }
}

export interface Taken {
  /** Sent with every answer, whatever its status. */
  readonly headers: readonly Header[];
  /** A `rate_limited` error, or null. */
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
  /** True if this failure is the first over the limit, which is worth a line in the log. */
  readonly isNews: boolean;
}

/** Counts failed authentications per peer: 30 a minute, in bounded memory. */
export class FailureThrottle {
  readonly #windows = new Map<string, Window>();

  /** Counts a failure. Returns how long to wait if the peer has used up its failures, or null. `now` is monotonic. */
  fail(address: string, now: number): Throttled | null {
    const peer = peerOf(address);
    let window = this.#windows.get(peer);
    if (window === undefined || window.endsAt <= now) {
      window = { failures: 0, endsAt: now + WINDOW_MS };
      this.#windows.delete(peer);
      // The map is in insertion order, so the first window is the one that ends first.
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
  /** The number of answers that each address or key gets without waiting. */
  readonly atOnce: number;
  /** The rate of answers beyond that, for each address or key. */
  readonly perSecond: number;
  /** The longest that this rate makes anyone wait, in milliseconds. */
  readonly mostMs: number;
  /** The rate for all addresses and keys together, with one second's worth saved up. */
  readonly together: number;
}

export const OF_REFUSALS: PaceRule = { atOnce: 128, perSecond: 25, mostMs: 1500, together: 500 };
/** Load balancers that request `/readyz` give up after a second. */
export const OF_OPEN_ROUTES: PaceRule = { atOnce: 128, perSecond: 50, mostMs: 500, together: 500 };

/** For long bodies that were read and then refused for their content. One unit is 128 KiB. */
export const OF_LONG_REFUSALS: PaceRule = { atOnce: 64, perSecond: 16, mostMs: 1500, together: 128 };

/** Writing BYTES costs about as much as the rest of a request. An answer never counts as more than MOST requests. */
const [BYTES, MOST] = [16 * 1024, 64];

/** Returns the cost of an answer, in units of a short one. */
export function costOf(body: Reply["body"]): number {
  return body === null || body instanceof Readable ? 1 : Math.min(Math.max(1, body.length / BYTES), MOST);
}

/** The interval at which waiting answers are checked. */
const TICK_MS = 10;
const EQUAL_SHARES: TenantShares = new Map();

interface Turn extends Waiting {
  readonly go: () => void;
}

/**
 * Slows down answers that need no valid key: refusals and open routes. During a flood they are sent at a limited rate,
 * in turns by address, so that others do not wait for them.
 */
export class Pace {
  readonly #clock: Clock;
  readonly #rule: PaceRule;
  readonly #buckets = new Map<string, TokenBucket>();
  readonly #together: TokenBucket;
  /**
   * The answers that their own rate allows, in turns by address, so that a caller with few requests does not wait for
   * one with many.
   */
  readonly #turns = new TenantTurns<Turn>(EQUAL_SHARES);
  #isTicking = false;

  constructor(clock: Clock, rule: PaceRule) {
    this.#clock = clock;
    this.#rule = rule;
    this.#together = new TokenBucket(rule.together);
  }

  /** Resolves when the answer may be sent. Null means at once. */
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

/** The resources that everybody together can use only so much of. */
export type Scarce = "publishes" | "bytes" | "reads" | "streams";

class Amounts implements Record<Scarce, number> {
  publishes = 0;
  bytes = 0;
  reads = 0;
  streams = 0;
}

const SCARCE = Object.keys(new Amounts()) as Scarce[];

/** Texts for a refusal, when everybody together uses too much and when one account has its share. */
const WORDS: Record<Scarce, readonly [tooMany: string, enough: string, retryAfterSeconds: number]> = {
  publishes: ["publish requests are waiting for their commit", "publish requests waiting for their commit", 1],
  bytes: ["published bytes are waiting for their commit", "published bytes waiting for their commit", 1],
  reads: ["reads are in progress", "reads", 1],
  streams: ["streams are open", "streams", 15],
};

/**
 * An account gets no more once it holds this many times what is free. With 3, one account alone may hold three
 * quarters. Streams stay open for hours: with 1, one account alone may hold half, and many others still get one.
 */
const TIMES_FREE: Record<Scarce, number> = { publishes: 3, bytes: 3, reads: 3, streams: 1 };

/**
 * Limits the work in progress, for everybody together and for each account. Excess work is refused at once: its sender
 * has to retry, but the daemon needs no memory for it and others do not wait.
 */
export class Shares {
  readonly #most: Readonly<Record<Scarce, number>>;
  readonly #all = new Amounts();
  readonly #shares = new Map<string, Amounts>();

  constructor(most: Readonly<Record<Scarce, number>>) {
    this.#most = most;
  }

  /**
   * Makes a holding for one request. A null account has no share of its own. The caller must release it with `leave`.
   */
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

/**
 * A refusal because too much is in progress: 503 if everybody together uses too much, 429 if the account has its share.
 */
export class OverShare extends WebhookdError {}

/** The resources that one request holds. */
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

  /** Throws `overloaded` if nothing is free, and `rate_limited` if the account has its share. */
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

/** The rest after each piece of long work while other tenants publish, as a multiple of the time that it took. */
const REST_TIMES = 7;

/**
 * Does long work of callers, such as asking thousands of filters, in pieces of about a millisecond. Tenants take turns.
 * While other tenants publish, it rests for most of the time, so that their publishes rarely wait.
 */
export class LongWork {
  readonly #clock: Clock;
  readonly #turns: TenantTurns<Turn>;
  readonly #throttle: Throttle;
  #isComing = false;

  constructor(clock: Clock, shares: TenantShares) {
    this.#clock = clock;
    this.#turns = new TenantTurns(shares);
    this.#throttle = new Throttle(shares, REST_TIMES);
  }

  /** Notes that a tenant publishes, so that the long work of others rests. */
  published(tenant: string): void {
    this.#throttle.small(tenant, this.#clock.monotonic());
  }

  /** Runs all pieces. Rejects with what a piece throws. */
  async run<T>(tenant: string, pieces: Generator<void, T>): Promise<T> {
    for (;;) {
      await new Promise<void>((go) => {
        this.#turns.add({ tenant, cost: 1, go });
        this.#come();
      });
      const begun = this.#clock.monotonic();
      try {
        const next = pieces.next();
        if (next.done === true) return next.value;
      } finally {
        const now = this.#clock.monotonic();
        this.#throttle.large(tenant, now - begun, now);
      }
    }
  }

  #come(): void {
    if (this.#isComing) return;
    this.#isComing = true;
    const left = this.#throttle.left(this.#clock.monotonic());
    if (left > 0) this.#clock.after(left, () => this.#turn());
    else this.#clock.nextTurn(() => this.#turn());
  }

  #turn(): void {
    this.#isComing = false;
    // A piece that ended since may have made the rest longer.
    if (this.#throttle.left(this.#clock.monotonic()) <= 0) this.#turns.take()?.go();
    if (this.#turns.size > 0) this.#come();
  }
}
