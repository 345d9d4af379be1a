/**
 * A rate limit. Tokens arrive at an even pace, and at most `burst` of them are saved up while nobody takes any. So in
 * any window of time there are at most `burst` more starts than its length times the rate. Instead of the number of
 * tokens, this stores when the bucket will be full again, so nothing has to be refilled (the generic cell rate
 * algorithm, ITU-T I.371). Times are monotonic milliseconds.
 */
export class TokenBucket {
  #perSecond: number;
  #fullAt = Number.NEGATIVE_INFINITY;

  constructor(perSecond: number) {
    this.#perSecond = perSecond;
  }

  get perSecond(): number {
    return this.#perSecond;
  }

  /** Returns the instant from which a token can be taken. */
  readyAt(burst: number): number {
    return this.#fullAt - (burst - 1) * this.#interval;
  }

  /** Returns the number of whole tokens that can be taken now, at most `burst`. */
  left(burst: number, now: number): number {
    const missing = Math.max(0, this.#fullAt - now) / this.#interval;
    // Times are sums of intervals, so allow for their rounding errors.
    return Math.max(0, Math.floor(burst - missing + 1e-6));
  }

  /** It is possible to take more tokens than there are. Then none can be taken until the debt is paid. */
  take(now: number, count = 1): void {
    this.#fullAt = Math.max(this.#fullAt, now) + count * this.#interval;
  }

  /** Changes the pace. The number of missing tokens stays the same, but is at most what the new pace ever saves up. */
  setRate(perSecond: number, now: number): void {
    const missing = Math.min(Math.max(0, this.#fullAt - now) / this.#interval, Math.max(1, perSecond));
    this.#perSecond = perSecond;
    this.#fullAt = now + missing * this.#interval;
  }

  get #interval(): number {
    // Never Infinity, however small the rate, because the number of missing tokens would become NaN.
    return Math.min(1000 / this.#perSecond, Number.MAX_SAFE_INTEGER);
  }
}

/** A timer may be this late without losing a start, as far as the bound allows. */
const LATE_MS = 10;
/** If the bound does not allow that, a timer may be this late at the cost of a slower pace. */
const LATE_AT_A_PRICE_MS = 4;

/**
 * A pace: starts are spread evenly, and any second, wherever it begins, holds at most one second's allowance plus one.
 * Starts that a late timer missed are made up for as far as that bound allows, which is half a start. Above 125 a
 * second that is too little. So a few may start at once, and the pace is slower by as many a second, which is at most
 * 0.4 %.
 */
export class EvenPace {
  readonly #bucket: TokenBucket;
  #perSecond: number;

  constructor(perSecond: number) {
    this.#perSecond = perSecond;
    this.#bucket = new TokenBucket(this.#evenly);
  }

  /** The instant from which the next start is allowed. */
  get readyAt(): number {
    return this.#bucket.readyAt(1 + this.#spare + this.#more);
  }

  take(now: number): void {
    this.#bucket.take(now);
  }

  setRate(perSecond: number, now: number): void {
    this.#perSecond = perSecond;
    this.#bucket.setRate(this.#evenly, now);
  }

  get #evenly(): number {
    return this.#perSecond - this.#more;
  }

  /** This keeps the starts in a second below the next whole number above the allowance plus one. */
  get #spare(): number {
    return Math.min(0.5 * (1 - (this.#perSecond % 1)), (this.#perSecond * LATE_MS) / 1000);
  }

  get #more(): number {
    return Math.max(0, (this.#perSecond * LATE_AT_A_PRICE_MS) / 1000 - this.#spare);
  }
}
