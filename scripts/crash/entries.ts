/**
 * The entries of the two journals. A generation is one daemon process on the data directory, counted from 1. `at` is
 * monotonic milliseconds.
 */

export interface Item {
  /** A string in the data of this event and of no other. */
  readonly marker: string;
  /** The text of `data`, as it was sent. */
  readonly data: string;
  readonly orderingKey?: string | undefined;
}

/** An event in the response to a publish. */
export interface Answered {
  readonly id: string;
  readonly created_at: string;
  readonly delivery_count: number;
}

/** Written by the driver. A single publish is a batch of one. */
export type DriverEntry =
  | { readonly kind: "endpoint"; readonly id: string; readonly name: string }
  | { readonly kind: "intent"; readonly batch: number; readonly type: string; readonly items: readonly Item[] }
  /** The driver saw a 202. `answered` is null if the daemon died before the body was read. */
  | ({ readonly kind: "ack"; readonly batch: number; readonly answered: readonly Answered[] | null } & RoundTrip)
  | {
      readonly kind: "refused";
      readonly batch: number;
      readonly status: number;
      readonly at: number;
      readonly retryAfter: string | null;
    }
  | { readonly kind: "replay-intent" | "replay-ack"; readonly event: string }
  /** From now on, no endpoint holds a key after a failure. */
  | { readonly kind: "freed"; readonly at: number }
  /** The API showed the deliveries as delivered or failed. */
  | { readonly kind: "settled"; readonly generation: number; readonly at: number; readonly deliveries: Settled[] }
  /** The process was killed, suspended for longer than its lease, or ended cleanly. */
  | { readonly kind: "ended"; readonly generation: number; readonly at: number; readonly clean: boolean };

/** The time from the request to the moment when the 202 was seen. A commit of that process lies in between. */
export interface RoundTrip {
  readonly generation: number;
  readonly sentAt: number;
  readonly ackedAt: number;
}

export interface Settled {
  readonly delivery: string;
  readonly event: string;
  readonly status: "delivered" | "failed";
}

/** A receiver's response: a status, or a reset of the connection. */
export type Answer = number | "reset";

/**
 * Written by the receivers: a complete request and its response, each before the response's first byte; then the times
 * before and after the response was sent; and the time at which the receivers killed the daemon.
 */
export type ReceiverEntry =
  | ({ readonly kind: "request" } & SeenRequest)
  | { readonly kind: "answer"; readonly nth: number; readonly answer: Answer }
  | { readonly kind: "sent"; readonly nth: number; readonly from: number; readonly at: number }
  | { readonly kind: "kill"; readonly generation: number; readonly at: number };

export interface SeenRequest {
  readonly nth: number;
  readonly generation: number;
  readonly at: number;
  readonly event: string;
  readonly delivery: string;
  readonly attempt: number;
  /** The SHA-256 of the body. */
  readonly body: string;
  readonly verified: boolean;
  /** True if it was not the first request on its connection. */
  readonly reused: boolean;
}
