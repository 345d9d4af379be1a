/** The brake: while it is on no attempt starts, publishes go on, and a restart changes nothing. */
export interface Pause {
  readonly reason: string;
  /** `key_…`, `socket`, `serve --paused`, or `restore`. */
  readonly by: string;
  readonly at: number;
}
