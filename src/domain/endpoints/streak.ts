/**
 * The streak of an endpoint: its latest results, and its failures in a row. `isFailing` is the one rule that says when
 * an endpoint is failing; alerts, metrics and `webhookd status` all use it.
 */
import type { Outcome, Trigger } from "../deliveries/attempt.ts";

export interface Streak {
  /**
   * The times at which the latest success and the latest failure ended, in epoch milliseconds. Null if there was none.
   */
  readonly lastSuccessAt: number | null;
  readonly lastFailureAt: number | null;
  /** Failed attempts since the last success, or since the endpoint was enabled. */
  readonly consecutiveFailures: number;
  /** The time at which the first of them ended. Null if there is none. */
  readonly failingSince: number | null;
}

/** The streak of an endpoint without attempts. */
export const NO_STREAK: Streak = {
  lastSuccessAt: null,
  lastFailureAt: null,
  consecutiveFailures: 0,
  failingSince: null,
};

/** An endpoint is failing after this many failures in a row, or once its failures have lasted this long. */
export const FAILURES_IN_A_ROW = 20;
export const FAILING_MS = 300_000;

interface StreakAttempt {
  readonly claim: { readonly trigger: Trigger };
  readonly startedAt: number;
  readonly outcome: Pick<Outcome, "outcome" | "durationMs">;
}

/**
 * True if the attempt shows how the endpoint is doing. A test does not, because it may be made for an endpoint that is
 * not ready yet. Nor does an interrupted attempt, because we ended it.
 */
export function isTelling({ trigger }: StreakAttempt["claim"], { outcome }: Pick<Outcome, "outcome">): boolean {
  return trigger !== "test" && outcome !== "interrupted";
}

/** Returns the streak with one more attempt, or the same object if the attempt does not count. */
export function afterAttempt(streak: Streak, { claim, startedAt, outcome }: StreakAttempt): Streak {
  if (!isTelling(claim, outcome)) return streak;
  const endedAt = Math.round(startedAt + outcome.durationMs);
  if (outcome.outcome === "succeeded") {
    return { ...NO_STREAK, lastSuccessAt: endedAt, lastFailureAt: streak.lastFailureAt };
  }
  return {
    lastSuccessAt: streak.lastSuccessAt,
    lastFailureAt: endedAt,
    consecutiveFailures: streak.consecutiveFailures + 1,
    failingSince: streak.failingSince ?? endedAt,
  };
}

/** Enabling an endpoint resets its failures in a row: they say nothing about the receiver as it is now. */
export function afterEnabling({ lastSuccessAt, lastFailureAt }: Streak): Streak {
  return { ...NO_STREAK, lastSuccessAt, lastFailureAt };
}

/** `since` is when the first of these failures ended, on the clock that `now` is read from. Null if there is none. */
export function isFailing(failuresInARow: number, since: number | null, now: number): boolean {
  if (failuresInARow === 0 || since === null) return false;
  return failuresInARow >= FAILURES_IN_A_ROW || now - since >= FAILING_MS;
}
