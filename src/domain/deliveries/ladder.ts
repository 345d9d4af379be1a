/** The retry ladder: a value. The specification fixes it as 30 s, 2 min, 10 min, 1 h, 6 h, 24 h after the first attempt. */

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** Delays in milliseconds; retry n (1-based) starts `delays[n - 1]` after the end of the attempt before it. */
export type Ladder = readonly number[];

export const SPECIFIED_LADDER: Ladder = [30 * SECOND, 2 * MINUTE, 10 * MINUTE, HOUR, 6 * HOUR, 24 * HOUR];

/** Milliseconds to wait after attempt `retry` (0 = the first of its round) failed; null when the ladder is exhausted. */
export function nextDelay(ladder: Ladder, retry: number): number | null {
  return ladder[retry] ?? null;
}

/** Milliseconds between the end of the attempt before and the attempt at this place; 0 for the first of a round. */
export function delayBefore(ladder: Ladder, retry: number): number {
  return ladder[retry - 1] ?? 0;
}
