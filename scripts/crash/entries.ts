/**
 * What the two journals hold. A generation is one daemon process on the data directory, counted from 1; `at` is
 * monotonic milliseconds.
 */

export interface Item {
  /** In the event's data, and in no other event's. */
  readonly marker: string;
  /** The text of `data`, as it was sent. */
  readonly data: string;
}

/** An event as a publish answered it. */
export interface Answered {
  readonly id: string;
  readonly created_at: string;
  readonly deliveries: number;
}

/** Of the driver. A single publish is a batch of one. */
export type DriverEntry =
  | { readonly kind: "endpoint"; readonly id: string; readonly name: string }
  | { readonly kind: "intent"; readonly batch: number; readonly type: string; readonly items: readonly Item[] }
  /** A 202 was seen; `answered` is null when the daemon died before the body was read. */
  | ({ readonly kind: "ack"; readonly batch: number; readonly answered: readonly Answered[] | null } & RoundTrip)
  | {
      readonly kind: "refused";
      readonly batch: number;
      readonly status: number;
      readonly at: number;
      readonly retryAfter: string | null;
    }
  | { readonly kind: "replay-intent" | "replay-ack"; readonly event: string }
  /** The API showed the deliveries as delivered or failed. */
  | { readonly kind: "settled"; readonly generation: number; readonly at: number; readonly deliveries: Settled[] }
  /** The process was killed, suspended for longer than its lease, or came to a clean end. */
  | { readonly kind: "ended"; readonly generation: number; readonly at: number; readonly clean: boolean };

/** From the request to the sight of the 202: a commit of that process lies in between. */
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

/** A receiver's answer: a status, or the connection reset. */
export type Answer = number | "reset";

/**
 * Of the receivers: a complete request and what is answered, each before the answer's first byte; then the moments
 * before and after that was sent, and when it was they who killed the daemon.
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
  /** SHA-256 of the body. */
  readonly body: string;
  readonly verified: boolean;
  /** It was not the first request on its connection. */
  readonly reused: boolean;
}
