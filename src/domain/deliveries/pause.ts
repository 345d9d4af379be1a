/** The reasons why nothing is sent, or less than could be. */

/** A pause of all sending: no attempt starts, publishes are still accepted, and a restart changes nothing. */
export interface Pause {
  readonly reason: string;
  /** `key_…`, `socket`, `serve --paused`, or `restore`. */
  readonly by: string;
  readonly at: number;
  /** False if the disk was full, so that a restart forgets the pause. Absent if it is on the disk. */
  readonly saved?: boolean;
}

/**
 * - `operator`: all sending is paused.
 * - `unrecorded`: the results of attempts cannot be recorded.
 * - `unreachable`: nothing can be reached, so only probes are made.
 * - `shortage`: this process or host ran out of something, so that some attempts cannot be made now.
 * - `lease`: another process may own the store by now, because this one could not renew its lease on it.
 * - `stopping`: the daemon is stopping.
 */
export const HALT_REASONS = ["operator", "unrecorded", "unreachable", "shortage", "lease", "stopping"] as const;

export type HaltReason = (typeof HALT_REASONS)[number];

/** One reason. Each begins and ends independently of the others. */
export interface Halt {
  readonly reason: HaltReason;
  /** Epoch milliseconds. */
  readonly since: number;
  /** A sentence for people, without outside text. */
  readonly detail: string;
}
