/**
 * When the things were made that have keys. A key begins with the instant at which it was made, and the next one is always
 * above it. So after a clock was ahead, keys are too. From then on they go on at half the speed of the clock until it has
 * caught up, and what is noted of that is where they began to, and what the clock showed: one row for each time that the
 * clock was found behind. A key says when it was made all the same, and what was made earlier has a lower key.
 */
import { firstKeyAt, instantOf } from "./codes.ts";

/** From this key on keys are slower than the clock, which showed `at`. */
export interface Slowdown {
  readonly key: number;
  readonly at: number;
}

/** Keys of which there is a note each. */
export const OF_EVENTS = 0;
export const OF_NUMBERS = 1;

/** In SQL: those that say nothing of what is left, because another one comes before the first of it. */
export const DROP_KEY_TIMES = `DELETE FROM key_time WHERE kind = ${OF_EVENTS} AND key < (
  SELECT max(key) FROM key_time WHERE kind = ${OF_EVENTS} AND key <= (SELECT min(key) FROM event))`;

/** A clock that is behind by less is waited for: requests come with the instant at which they began. */
const TOLERATED_MS = 1000;

export class KeyTimes {
  /** By their keys. */
  readonly slowdowns: readonly Slowdown[];
  /** When all was made at the latest that lies before each of them: what came after it came no earlier. */
  readonly #latest: readonly number[];

  constructor(slowdowns: readonly Slowdown[] = []) {
    this.slowdowns = slowdowns.toSorted((one, other) => one.key - other.key);
    this.#latest = this.slowdowns.map((_, at) => Math.min(...this.slowdowns.slice(at).map((slowdown) => slowdown.at)));
  }

  with(slowdown: Slowdown): KeyTimes {
    return new KeyTimes([...this.slowdowns.filter(({ key }) => key !== slowdown.key), slowdown]);
  }

  madeAt(key: number): number {
    const instant = instantOf(key);
    if (this.slowdowns.length === 0) return instant;
    const next = this.slowdowns.findIndex((slowdown) => slowdown.key > key);
    const at = next === -1 ? this.slowdowns.length : next;
    const slowdown = this.slowdowns[at - 1];
    const made = slowdown === undefined ? instant : Math.min(instant, slow(slowdown, instant));
    return Math.min(made, this.#latest[at] ?? made);
  }

  /** The lowest key that was made at that instant or later. */
  firstKeyAt(instant: number): number {
    const wanted = Math.floor(instant);
    for (let at = 0; at < this.slowdowns.length; at++) {
      if (wanted > this.#latest[at]!) continue;
      return Math.min(this.#firstIn(at, wanted), this.slowdowns[at]!.key);
    }
    return this.#firstIn(this.slowdowns.length, wanted);
  }

  /** Between which keys, exclusive, lies what was made in the period. */
  within({ since, until }: { since?: number; until?: number }): { low: number; high: number } {
    return {
      low: since === undefined ? -1 : this.firstKeyAt(since) - 1,
      high: until === undefined ? Number.MAX_SAFE_INTEGER : this.firstKeyAt(until),
    };
  }

  /** The lowest key that something may have which is made now. */
  keyFor(now: number): number {
    const slowdown = this.slowdowns.at(-1);
    if (slowdown === undefined) return firstKeyAt(now);
    const instant = instantOf(slowdown.key) + Math.floor((now - slowdown.at) / 2);
    return firstKeyAt(Math.max(now, instant));
  }

  /** Of those between the slowdown before that place and the one at it. */
  #firstIn(at: number, instant: number): number {
    const slowdown = this.slowdowns[at - 1];
    if (slowdown === undefined) return firstKeyAt(instant);
    const slowed = instantOf(slowdown.key) + Math.ceil((instant - slowdown.at) / 2);
    return Math.max(slowdown.key, firstKeyAt(Math.max(instant, slowed)));
  }
}

export const ON_TIME = new KeyTimes();

function slow({ key, at }: Slowdown, instant: number): number {
  return at + 2 * (instant - instantOf(key));
}

/**
 * What is to be noted before a key is made: that keys slow down, because the last one was made by a clock that was ahead
 * of what it shows now, or that they need not be slow any more, because it has caught up with the last one. Null where
 * they go on as they are.
 */
export function slowdownAt(times: KeyTimes, last: number, now: number): Slowdown | null {
  const at = Math.floor(now);
  if (times.madeAt(last) > at + TOLERATED_MS) return { key: last + 1, at };
  const key = Math.max(last + 1, firstKeyAt(at));
  const hasCaughtUp = instantOf(key) <= at + TOLERATED_MS && times.keyFor(at) > key;
  return hasCaughtUp ? { key, at } : null;
}

/** The keys of one writer. */
export class RisingKeys {
  last: number;
  times: KeyTimes;

  constructor(last: number, times: KeyTimes = ON_TIME) {
    this.last = last;
    this.times = times;
  }

  /** `now` may be some time ago, when a request began. `clock` is what the clock shows, and is asked only if it matters. */
  next(now: number, clock: () => number = () => now): number {
    const isSlow = this.times.slowdowns.length > 0;
    if (isSlow || this.times.keyFor(now) <= this.last) {
      const slowdown = slowdownAt(this.times, this.last, Math.max(now, clock()));
      if (slowdown !== null) this.times = this.times.with(slowdown);
    }
    return (this.last = Math.max(this.last + 1, this.times.keyFor(now)));
  }
}

/** By how many milliseconds keys are ahead of the clock; null where it does not matter. */
export function aheadOf(last: number, now: number): number | null {
  const aheadMs = instantOf(last) - now;
  return aheadMs > TOLERATED_MS ? aheadMs : null;
}
