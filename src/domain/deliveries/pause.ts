/** Why nothing is sent, or less than could be. */

/** The brake: while it is on no attempt starts, publishes go on, and a restart changes nothing. */
export interface Pause {
  readonly reason: string;
  /** `key_…`, `socket`, `serve --paused`, or `restore`. */
  readonly by: string;
  readonly at: number;
  /** False while the disk is full: a restart forgets it. Left out: it is on the disk. */
  readonly saved?: boolean;
}

/**
 * - `operator`: the brake is on.
 * - `unrecorded`: what ended cannot be written down.
 * - `unreachable`: nothing can be reached, so only probes are made.
 * - `shortage`: this process or host ran out of something, so that some attempts cannot be made now.
 * - `lease`: another process may have the store by now, because this one could not renew its lease on it.
 * - `stopping`: for good.
 */
export const HALT_REASONS = ["operator", "unrecorded", "unreachable", "shortage", "lease", "stopping"] as const;

export type HaltReason = (typeof HALT_REASONS)[number];

/** One reason, which comes and goes by itself. */
export interface Halt {
  readonly reason: HaltReason;
  /** Epoch milliseconds. */
  readonly since: number;
  /** A sentence for people; holds no outside text. */
  readonly detail: string;
}
