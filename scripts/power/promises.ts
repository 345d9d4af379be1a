/**
 * The acknowledgements of the daemon while it was recorded. All of them must hold on every disk that a later cut
 * leaves.
 */

export type Promised =
  | { readonly kind: "endpoint"; readonly id: string }
  | { readonly kind: "described"; readonly endpoint: string; readonly version: number }
  | { readonly kind: "removed"; readonly endpoint: string }
  | { readonly kind: "key"; readonly id: string }
  | { readonly kind: "backup"; readonly name: string }
  /**
   * `body` is the SHA-256 of the bytes that a receiver must get. Only the event itself contains the string `marker`.
   */
  | {
      readonly kind: "event";
      readonly id: string;
      readonly body: string;
      readonly deliveries: number;
      readonly marker: string;
    }
  | { readonly kind: "settled"; readonly delivery: string; readonly status: string };

/**
 * `end` is the length of the recording when the acknowledgement was seen. Everything that it depends on comes before
 * that.
 */
export type Answered = Promised & { readonly end: number };

/** The expectation for a rebuilt disk. */
export interface Expectation {
  /** Disks of the same name have the same contents. */
  readonly disk: string;
  /** True to start the whole daemon on it. Otherwise only the store is opened. */
  readonly starts: boolean;
  readonly home: string;
  readonly data: string;
  readonly promised: readonly Promised[];
  /** Deliveries that a receiver acknowledged with 2xx before the power cut. No others may be `delivered`. */
  readonly succeeded: readonly string[];
}

/** The result of a start on a rebuilt disk. */
export interface Verdict {
  /** Acknowledged, but not there. */
  readonly lost: readonly string[];
  /** Everything else that is wrong: a failed start, a false `delivered`, a delivery that is never made. */
  readonly wrong: readonly string[];
}
