/** Attempts that have ended, on their way to being recorded. */
import type { Ended } from "../../domain/deliveries/attempt.ts";
import type { Claim } from "../../domain/deliveries/delivery.ts";
import type { EndedAttempt } from "../../store/store.ts";

/** One reading of the clocks, in milliseconds: instants are of the wall clock, durations of the monotonic one. */
export interface Now {
  readonly wall: number;
  readonly monotonic: number;
}

export interface EndedClaim {
  readonly claim: Claim;
  readonly ended: Ended;
  /** Monotonic. */
  readonly endedAt: number;
}

/** With what its due time was reckoned by: the clock's epoch, and when it ended in monotonic time. */
export interface DecidedAttempt extends EndedAttempt {
  readonly epoch: number;
  readonly endedAt: number;
  /** The disk did not take it before, so the log has it already. */
  readonly isRetried: boolean;
}
