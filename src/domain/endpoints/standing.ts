/** The state of an endpoint in one word: one rule for the commands, the dashboard and the customers' page. */

export const STANDINGS = ["damaged", "disabled", "failing", "retrying", "untried", "new", "working"] as const;
export type Standing = (typeof STANDINGS)[number];

/** One or two failed attempts in a row may be a coincidence. */
export const FAILING_FROM = 3;

export interface StandingFacts {
  readonly isDamaged: boolean;
  readonly isEnabled: boolean;
  /** Failed attempts since the last success, or since the endpoint was enabled. Test events do not count. */
  readonly failuresInARow: number;
  /** In epoch milliseconds. Null if there was none. Test events do not count. */
  readonly lastSuccessAt: number | null;
  readonly lastFailureAt: number | null;
}

/**
 * Returns the state. Enabling an endpoint resets its failures in a row without any attempt. So an endpoint without
 * failures in a row works only if it has succeeded since it last failed. Otherwise it is `new`, or `untried` since it
 * was enabled again.
 */
export function standingOf(facts: StandingFacts): Standing {
  const { isDamaged, isEnabled, failuresInARow, lastSuccessAt, lastFailureAt } = facts;
  if (isDamaged) return "damaged";
  if (!isEnabled) return "disabled";
  if (failuresInARow >= FAILING_FROM) return "failing";
  if (failuresInARow > 0) return "retrying";
  if (lastSuccessAt === null && lastFailureAt === null) return "new";
  return lastSuccessAt !== null && lastSuccessAt >= (lastFailureAt ?? 0) ? "working" : "untried";
}
