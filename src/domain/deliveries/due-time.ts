/** Computes when a delivery is due, from the ladder, a receiver's `Retry-After`, and a clock that was set. */
import type { Outcome } from "./attempt.ts";

/**
 * The retry ladder: delays in milliseconds. Retry n (1-based) starts `delays[n - 1]` after the end of the attempt
 * before it. Its default is in `config/schema/sending.ts`.
 */
export type Ladder = readonly number[];

/**
 * Returns the milliseconds to wait after attempt `retry` (0 = the first of its round) failed, or null if the ladder is
 * exhausted.
 */
export function nextDelay(ladder: Ladder, retry: number): number | null {
  return ladder[retry] ?? null;
}

/**
 * Returns the milliseconds between the end of the previous attempt and the attempt at this place. 0 for the first of a
 * round.
 */
export function delayBefore(ladder: Ladder, retry: number): number {
  return ladder[retry - 1] ?? 0;
}

/** The limits on how long a delivery may wait. */
export interface Waits {
  readonly ladder: Ladder;
  /** The longest time, in milliseconds, by which a receiver may postpone its next attempt. */
  readonly maxRetryAfter: number;
}

/** Setting the clock by less than this goes unnoticed. */
const UNNOTICED_MS = 2000;

/**
 * Returns the latest instant at which a delivery at this place of the ladder may be due. Its previous attempt has ended
 * by now, and the first of a round is due at once, whether it was published, replayed or interrupted. If a longer
 * ladder was in force before, the last rung of this one counts.
 */
export function latestDue({ ladder, maxRetryAfter }: Waits, retry: number, now: number): number {
  if (retry === 0) return now;
  return now + Math.ceil(Math.max(delayBefore(ladder, Math.min(retry, ladder.length)), maxRetryAfter));
}

/** A delivery that is due after this instant was put off by a clock that was ahead. */
export function putOffAfter(waits: Waits, retry: number, now: number): number {
  return latestDue(waits, retry, now) + UNNOTICED_MS;
}

const DAY = "(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)";
const LONG_DAY = "(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day";
const MONTH = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)";
const TIME = String.raw`\d\d:\d\d:\d\d`;
/** The three forms of RFC 9110 5.6.7. The last one does not state that it is GMT. */
const HTTP_DATE = new RegExp(
  String.raw`^(?:${DAY}, \d\d ${MONTH} \d{4} ${TIME} GMT|${LONG_DAY}, \d\d-${MONTH}-\d\d ${TIME} GMT|(${DAY} ${MONTH} [ \d]\d ${TIME} \d{4}))$`,
);

/**
 * Reads `Retry-After` (RFC 9110 10.2.3): the milliseconds from `endedAt` that a 429 or 503 asks for. 0 if it asks for
 * nothing valid.
 */
export function askedDelay({ statusCode, responseHeaders }: Outcome, endedAt: number): number {
  const text = statusCode === 429 || statusCode === 503 ? responseHeaders["retry-after"] : undefined;
  if (text === undefined) return 0;
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  const match = HTTP_DATE.exec(text);
  if (match === null) return 0;
  const instant = Date.parse(match[1] === undefined ? text : `${text} GMT`);
  return Number.isNaN(instant) ? 0 : Math.max(0, instant - endedAt);
}

/** The wall clock was set, so due times that were computed with it must move. */
export interface ClockChange {
  /**
   * Milliseconds forward, or back if negative. Null if the clock was set back by an unknown amount. Then no retry waits
   * longer than its rung.
   */
  readonly by: number | null;
  /** The time that the clock showed after it was set. */
  readonly at: number;
  readonly ladder: Ladder;
}

/** True if due times move to later. All of them move in the same direction. */
export function movesLater({ by }: ClockChange): boolean {
  return by !== null && by > 0;
}

/** Deliveries due by this instant stay: they were due on the old clock and are due now, whatever the new one says. */
export function staysUntil({ by, at }: ClockChange): number {
  return by === null ? at : Math.min(at, at - by);
}

/** Returns the new due time of a delivery that was due at `dueAt`, at this place of the ladder. */
export function movedDue({ by, at, ladder }: ClockChange, dueAt: number, retry: number): number {
  const delay = delayBefore(ladder, retry);
  if (by === null) return Math.ceil(Math.min(dueAt, at + delay));
  // The old clock never reached the new clock's present time, so a due time beyond that was computed afterwards, with
  // the new clock.
  if (by > 0 && dueAt - delay >= at) return dueAt;
  // The first attempt of a round is due at once. If it was published since, and an earlier setting moved it back, it
  // must not be postponed.
  return Math.ceil(retry === 0 ? Math.min(dueAt + by, at) : dueAt + by);
}
