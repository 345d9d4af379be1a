/** Chores: each call touches at most 500 rows, and looks at as many events or attempts. */

export interface UpkeepStore {
  /**
   * Removes events with all that belongs to them: those of which no delivery is open, and which were received, and
   * last attempted, before `rules.failed` if a delivery failed, before `rules.delivered` else. Begins after `from`.
   */
  pruneEvents(rules: PruneRules, from: string | null): Promise<Pruned>;
  /**
   * Lets held deliveries fail that were due before that instant, of endpoints that were disabled and not changed since
   * then: each gets an attempt with the error `held_expired`. How many; fewer than 500: there are no more.
   */
  expireHeld(before: number, now: number): Promise<number>;
  /** Forgets what receivers answered to attempts from before that instant. Fewer than 500: there are no more. */
  forgetResponses(before: number): Promise<number>;
  /** Writes down how endpoints fare, at most 500 of those that have news. A crash forgets what was not written. */
  saveHealth(): Promise<void>;
  /** Looks at the free space again; publishes are refused under the floor, deliveries go on. */
  checkSpace(): Promise<Space>;
  /** As far as it is known without a look. */
  condition(): Promise<Condition>;
}

/** Instants: what was over before them goes. */
export interface PruneRules {
  readonly delivered: number;
  readonly failed: number;
}

export interface Pruned {
  /** How many are gone, whatever went with them. */
  readonly pruned: number;
  /** Opaque: where to go on; null at the end. */
  readonly next: string | null;
}

export interface Condition {
  /** Whether publishes would be taken now. */
  readonly state: "ready" | "disk_full" | "store_unavailable";
  /** Why what is committed takes ever more room, for people; null while it does not. */
  readonly trouble: string | null;
}

export interface Space extends Condition {
  readonly freeBytes: number;
  readonly floorBytes: number;
}
