/**
 * A rate limit: tokens come at an even pace, and at most `burst` of them are saved up while nobody takes any. So any
 * window of time sees at most `burst` starts more than its length times the rate.
 *
 * What is stored is not the number of tokens but when the bucket will be full again, so nothing has to be refilled
 * (the generic cell rate algorithm, ITU-T I.371). Times are monotonic milliseconds.
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

  /** From this instant on a token can be taken. */
  readyAt(burst: number): number {
    return this.#fullAt - (burst - 1) * this.#interval;
  }

  /** Whole tokens that can be taken now, of at most `burst`. */
  left(burst: number, now: number): number {
    const missing = Math.max(0, this.#fullAt - now) / this.#interval;
    // Times are sums of intervals: what is short of a whole token by their rounding is one.
    return Math.max(0, Math.floor(burst - missing + 1e-6));
  }

  /** More than there are may be taken: then nobody takes any until they have come back. */
  take(now: number, count = 1): void {
    this.#fullAt = Math.max(this.#fullAt, now) + count * this.#interval;
  }

  /** Changes the pace. As many tokens are missing afterwards as before, but no more than the new pace ever saves up. */
  setRate(perSecond: number, now: number): void {
    const missing = Math.min(Math.max(0, this.#fullAt - now) / this.#interval, Math.max(1, perSecond));
    this.#perSecond = perSecond;
    this.#fullAt = now + missing * this.#interval;
  }

  get #interval(): number {
    // Never Infinity, however small the rate: the tokens missing would not be a number any more.
    return Math.min(1000 / this.#perSecond, Number.MAX_SAFE_INTEGER);
  }
}

/** A timer may be so late without costing a start, where the bound has room for it; */
const LATE_MS = 10;
/** and so late at the price of a slower pace, where it has not. */
const LATE_AT_A_PRICE_MS = 4;

/**
 * A pace: starts come evenly, and any second, wherever it begins, holds at most one second's allowance plus one. What a
 * late timer missed is made up for as far as that bound has room: half a start. Beyond 125 a second that is too little,
 * and a few may come at once, for which the pace is slower by as many a second: 0.4 % at most.
 */
export class EvenPace {
  readonly #bucket: TokenBucket;
  #perSecond: number;

  constructor(perSecond: number) {
    this.#perSecond = perSecond;
    this.#bucket = new TokenBucket(this.#evenly);
  }

  /** From this instant on the next may start. */
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

  /** In a second there are then fewer than the next whole number above the allowance plus one. */
  get #spare(): number {
    return Math.min(0.5 * (1 - (this.#perSecond % 1)), (this.#perSecond * LATE_MS) / 1000);
  }

  get #more(): number {
    return Math.max(0, (this.#perSecond * LATE_AT_A_PRICE_MS) / 1000 - this.#spare);
  }
}
