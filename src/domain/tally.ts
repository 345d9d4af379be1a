/**
 * Counts the results of attempts in one row of numbers, which costs a few increments per attempt and can be added up
 * over endpoints and minutes. Tests, and attempts that we interrupted ourselves, do not count for or against a
 * receiver.
 */
import { ATTEMPT_ERRORS, type AttemptError, type Outcome, type Trigger } from "./deliveries/attempt.ts";

/** Counts how many values fell into each bucket. Adding one costs a few comparisons and an increment. */
export class Histogram {
  /** The upper bounds of the buckets, ascending. One more bucket takes everything above. */
  readonly bounds: readonly number[];
  readonly counts: number[];
  sum = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = Array.from({ length: bounds.length + 1 }, () => 0);
  }

  add(value: number): void {
    this.counts[bucketOf(this.bounds, value)]!++;
    this.sum += value;
  }
}

export function bucketOf(bounds: readonly number[], value: number): number {
  let at = 0;
  while (at < bounds.length && value > bounds[at]!) at++;
  return at;
}

/** The upper bounds of the buckets, in milliseconds. The last bucket has none. */
export const DURATION_BOUNDS: readonly number[] = [
  1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1000, 1500, 2000, 3000, 5000, 7000, 10_000,
];
export const DELAY_BOUNDS: readonly number[] = [
  2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 30_000, 60_000, 300_000, 1_800_000,
];

/** Indexes in the row. They are on disk, so a block may only grow at its end, into the gap after it. */
const SUCCEEDED = 0;
const INTERRUPTED = 1;
const DELIVERED = 2;
const FAILED = 8;
const DELIVERIES_FAILED = 32;
const DURATIONS = 56;
const DELAYS = 88;
const LENGTH = 112;

/** The part of an ended attempt that is counted. */
export interface Ended {
  readonly claim: { readonly number: number; readonly trigger: Trigger; readonly dueAt: number };
  readonly startedAt: number;
  readonly outcome: Pick<Outcome, "outcome" | "error" | "durationMs">;
}

/** The indexes that one attempt increments, computed once for all the rows that count it. -1 for none. */
export interface Increments {
  readonly result: number;
  readonly duration: number;
  readonly delay: number;
  readonly end: number;
  readonly durationMs: number;
  readonly delayMs: number;
}

const INTERRUPTION: Increments = { result: INTERRUPTED, duration: -1, delay: -1, end: -1, durationMs: 0, delayMs: 0 };

/** `ends` is the final status that the attempt gave its delivery, or null if the delivery is still open. */
export function incrementsOf({ claim, startedAt, outcome }: Ended, ends: "delivered" | "failed" | null): Increments {
  if (outcome.outcome === "interrupted") return INTERRUPTION;
  const error = outcome.error === null ? -1 : ATTEMPT_ERRORS.indexOf(outcome.error);
  // The first attempt of a replay has a later number, and a manual one waits for nothing.
  const waited = claim.number === 1 && claim.trigger === "ladder";
  const delayMs = waited ? Math.max(0, startedAt - claim.dueAt) : 0;
  return {
    result: error < 0 ? SUCCEEDED : FAILED + error,
    duration: DURATIONS + bucketOf(DURATION_BOUNDS, outcome.durationMs),
    delay: waited ? DELAYS + bucketOf(DELAY_BOUNDS, delayMs) : -1,
    end: ends === null ? -1 : ends === "delivered" ? DELIVERED : DELIVERIES_FAILED + error,
    durationMs: outcome.durationMs,
    delayMs,
  };
}

export class Tally {
  readonly #counts = new Float64Array(LENGTH);
  /** The sum, in milliseconds. It is not kept on disk. */
  durationMs = 0;
  delayMs = 0;

  attempt({ result, duration, delay, end, durationMs, delayMs }: Increments): void {
    const counts = this.#counts;
    counts[result]!++;
    if (duration >= 0) counts[duration]!++;
    if (delay >= 0) counts[delay]!++;
    if (end >= 0) counts[end]!++;
    this.durationMs += durationMs;
    this.delayMs += delayMs;
  }

  /** Counts a delivery that failed without an attempt. */
  failedUnsent(error: AttemptError): void {
    this.#counts[DELIVERIES_FAILED + ATTEMPT_ERRORS.indexOf(error)]!++;
  }

  add(other: Tally): void {
    for (let at = 0; at < LENGTH; at++) this.#counts[at]! += other.#counts[at]!;
    this.durationMs += other.durationMs;
    this.delayMs += other.delayMs;
  }

  get succeeded(): number {
    return this.#counts[SUCCEEDED]!;
  }

  get interrupted(): number {
    return this.#counts[INTERRUPTED]!;
  }

  /** Failed attempts by error, without zeros. */
  get failed(): Map<AttemptError, number> {
    return this.#byError(FAILED);
  }

  get delivered(): number {
    return this.#counts[DELIVERED]!;
  }

  /** Failed deliveries by the error of their last attempt. */
  get deliveriesFailed(): Map<AttemptError, number> {
    return this.#byError(DELIVERIES_FAILED);
  }

  /** One count for each of `DURATION_BOUNDS`, and one above. */
  get durations(): readonly number[] {
    return [...this.#counts.subarray(DURATIONS, DURATIONS + DURATION_BOUNDS.length + 1)];
  }

  get delays(): readonly number[] {
    return [...this.#counts.subarray(DELAYS, DELAYS + DELAY_BOUNDS.length + 1)];
  }

  /** Indexes and counts alternate, leaving out zeros. */
  toPairs(): number[] {
    const pairs: number[] = [];
    for (let at = 0; at < LENGTH; at++) if (this.#counts[at] !== 0) pairs.push(at, this.#counts[at]!);
    return pairs;
  }

  addPairs(pairs: readonly number[]): void {
    for (let at = 0; at < pairs.length; at += 2) this.#counts[pairs[at]!]! += pairs[at + 1]!;
  }

  #byError(block: number): Map<AttemptError, number> {
    const counted = ATTEMPT_ERRORS.map((error, at) => [error, this.#counts[block + at]!] as const);
    return new Map(counted.filter(([, count]) => count > 0));
  }
}

export function sum(counts: Iterable<number>): number {
  let total = 0;
  for (const count of counts) total += count;
  return total;
}

/**
 * Estimates a percentile, assuming that values are spread evenly within a bucket, so it is off by at most a fifth. Null
 * if nothing was counted.
 */
export function percentile(bounds: readonly number[], counts: readonly number[], part: number): number | null {
  let left = sum(counts) * part;
  if (left === 0) return null;
  for (const [at, count] of counts.entries()) {
    const low = bounds[at - 1] ?? 0;
    if (count > 0 && left <= count) return low + ((bounds[at] ?? low) - low) * (left / count);
    left -= count;
  }
  return bounds.at(-1)!;
}
