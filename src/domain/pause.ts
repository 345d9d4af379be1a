/** The brake: while it is on no attempt starts, publishes go on, and a restart changes nothing. */
export interface Pause {
  readonly reason: string;
  /** `key_…`, `socket`, or `serve --paused`. */
  readonly by: string;
  readonly at: number;
}
