/** The wall clock was set, and due times that were reckoned by it must follow. */
import { delayBefore, type Ladder } from "../deliveries/ladder.ts";

export interface ClockChange {
  /**
   * By so many milliseconds: forward, or back if negative. Null where nobody knows, but back it was: then no retry waits
   * longer than its rung.
   */
  readonly by: number | null;
  /** What the clock showed then. */
  readonly at: number;
  readonly ladder: Ladder;
}

/** Whether due times move to later. All of them move the same way. */
export function movesLater({ by }: ClockChange): boolean {
  return by !== null && by > 0;
}

/** What is due by this instant stays: what was due on the old clock is due now, whatever the new one says. */
export function staysUntil({ by, at }: ClockChange): number {
  return by === null ? at : Math.min(at, at - by);
}

/** Where a delivery goes that is due then at this place of the ladder. */
export function movedDue({ by, at, ladder }: ClockChange, dueAt: number, retry: number): number {
  const delay = delayBefore(ladder, retry);
  if (by === null) return Math.ceil(Math.min(dueAt, at + delay));
  // The old clock never showed what the new one shows now: by that, what was reckoned since can be told.
  if (by > 0 && dueAt - delay >= at) return dueAt;
  return Math.ceil(dueAt + by);
}
