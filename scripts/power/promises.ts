/** What the daemon answered while it was recorded: all of it must be true of every disk that a later cut leaves. */

export type Promised =
  | { readonly kind: "endpoint"; readonly id: string }
  | { readonly kind: "described"; readonly endpoint: string; readonly version: number }
  | { readonly kind: "removed"; readonly endpoint: string }
  | { readonly kind: "key"; readonly id: string }
  | { readonly kind: "backup"; readonly name: string }
  /** `body` is the SHA-256 of what a receiver must get. */
  | { readonly kind: "event"; readonly id: string; readonly body: string; readonly deliveries: number }
  | { readonly kind: "settled"; readonly delivery: string; readonly status: string };

/** With the length of the recording when the answer was seen: everything that the answer rests on is in front of it. */
export type Answered = Promised & { readonly end: number };

/** What a rebuilt disk is held against. */
export interface Expectation {
  /** Disks of the same name hold the same. */
  readonly disk: string;
  /** The whole daemon is started on it; else the store alone is opened. */
  readonly starts: boolean;
  readonly home: string;
  readonly data: string;
  readonly promised: readonly Promised[];
  /** Deliveries that a receiver answered 2xx before the power was cut; no other may be `delivered`. */
  readonly succeeded: readonly string[];
}

/** What a start on a rebuilt disk came to. */
export interface Verdict {
  /** Answered with success, and not there. */
  readonly lost: readonly string[];
  /** All else that is wrong: no start, a false `delivered`, a delivery that is never made. */
  readonly wrong: readonly string[];
}
