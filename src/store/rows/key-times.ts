/**
 * Computes when the objects that have keys were created. A key begins with the instant at which it was made, and each
 * key is higher than the last one. So after a clock was ahead, keys are ahead too. From then on they rise at half the
 * speed of the clock until it has caught up. Each time the clock was found to be behind, a row records the key from
 * which keys rise slowly, and the instant that the clock showed. So the time at which a key was made can still be
 * computed, and a lower key was made earlier.
 */
import { firstKeyAt, instantOf } from "./codes.ts";

/** From this key on, keys rise more slowly than the clock, which showed `at`. */
export interface Slowdown {
  readonly key: number;
  readonly at: number;
}

/** The kinds of keys that have such rows. */
export const OF_EVENTS = 0;
export const OF_NUMBERS = 1;

/** SQL that deletes rows which concern no remaining event, because a later one already applies to the first event. */
export const DROP_KEY_TIMES = `DELETE FROM key_time WHERE kind = ${OF_EVENTS} AND key < (
  SELECT max(key) FROM key_time WHERE kind = ${OF_EVENTS} AND key <= (SELECT min(key) FROM event))`;

/**
 * A clock that is behind by less than this does not slow down keys, because requests carry the instant at which they
 * began.
 */
const TOLERATED_MS = 1000;

export class KeyTimes {
  /** Sorted by key. */
  readonly slowdowns: readonly Slowdown[];
  /**
   * For each slowdown, the earliest instant that the clock showed then or later. Keys before it count as made no later.
   */
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

  /** Returns the lowest key that was made at that instant or later. */
  firstKeyAt(instant: number): number {
    const wanted = Math.floor(instant);
    for (let at = 0; at < this.slowdowns.length; at++) {
      if (wanted > this.#latest[at]!) continue;
      return Math.min(this.#firstIn(at, wanted), this.slowdowns[at]!.key);
    }
    return this.#firstIn(this.slowdowns.length, wanted);
  }

  /** Returns the keys between which everything from the period lies, excluding both. */
  within({ since, until }: { since?: number; until?: number }): { low: number; high: number } {
    return {
      low: since === undefined ? -1 : this.firstKeyAt(since) - 1,
      high: until === undefined ? Number.MAX_SAFE_INTEGER : this.firstKeyAt(until),
    };
  }

  /** Returns the lowest key that may be given to an object made now. */
  keyFor(now: number): number {
    const slowdown = this.slowdowns.at(-1);
    if (slowdown === undefined) return firstKeyAt(now);
    const instant = instantOf(slowdown.key) + Math.floor((now - slowdown.at) / 2);
    return firstKeyAt(Math.max(now, instant));
  }

  /** Returns the lowest key for the instant among the keys between the slowdown before `at` and the one at it. */
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
 * Returns the row that must be stored before the next key is made. Either keys must slow down, because the last one was
 * made by a clock that was ahead, or they may rise at the clock's speed again, because it has caught up. Returns null
 * if nothing changes.
 */
export function slowdownAt(times: KeyTimes, last: number, now: number): Slowdown | null {
  const at = Math.floor(now);
  if (times.madeAt(last) > at + TOLERATED_MS) return { key: last + 1, at };
  const key = Math.max(last + 1, firstKeyAt(at));
  const hasCaughtUp = instantOf(key) <= at + TOLERATED_MS && times.keyFor(at) > key;
  return hasCaughtUp ? { key, at } : null;
}

/** Makes the keys of one writer, each higher than the last. */
export class RisingKeys {
  last: number;
  times: KeyTimes;

  constructor(last: number, times: KeyTimes = ON_TIME) {
    this.last = last;
    this.times = times;
  }

  /**
   * `now` may lie in the past, because it is the instant at which a request began. `clock` returns the present time,
   * and is called only if it matters.
   */
  next(now: number, clock: () => number = () => now): number {
    const isSlow = this.times.slowdowns.length > 0;
    if (isSlow || this.times.keyFor(now) <= this.last) {
      const slowdown = slowdownAt(this.times, this.last, Math.max(now, clock()));
      if (slowdown !== null) this.times = this.times.with(slowdown);
    }
    return (this.last = Math.max(this.last + 1, this.times.keyFor(now)));
  }
}

/** Returns the milliseconds by which keys are ahead of the clock, or null if that is too little to matter. */
export function aheadOf(last: number, now: number): number | null {
  const aheadMs = instantOf(last) - now;
  return aheadMs > TOLERATED_MS ? aheadMs : null;
}
