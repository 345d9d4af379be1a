/** Taking an event or a delivery into one's own hands. */
import type { Claim } from "../domain/delivery.ts";
import type { Once } from "../domain/idempotency.ts";
import type { Waiting } from "./deliveries.ts";

export interface ManualStore {
  /** Starts a new round for the event's failed deliveries; with `force` for the delivered ones too. */
  replay(tenant: string | null, event: string, scope: ReplayScope, now: number, once?: Once<Replay>): Promise<Replay>;
  /**
   * One attempt outside the ladder is owed from now on, through any restart, until it was made, or its delivery is
   * delivered, cancelled or erased. Asking again before that changes nothing.
   */
  requestAttempt(
    tenant: string | null,
    delivery: string,
    now: number,
    once?: Once<AttemptRequest>,
  ): Promise<AttemptRequest>;
  /**
   * What to make that attempt from; null when none is owed any more. Nothing is claimed: whoever holds another claim of
   * this delivery lets it end first. Fresh deliveries are held by whoever they were handed to, so null for them too.
   */
  requestedAttempt(delivery: string): Promise<Claim | null>;
  /** All that are owed, in the store's own order: at most `limit` after the last one of the page before. */
  requestedAttempts(after: EventDelivery | null, limit: number): Promise<readonly EventDelivery[]>;
  /**
   * Open deliveries become `cancelled` and nothing more is owed of them: the event's, or only the one to `endpoint`.
   * What is on the wire is recorded all the same, and a success makes it delivered.
   */
  cancelEvent(tenant: string | null, event: string, endpoint: string | null): Promise<Withdrawal>;
  /** Cancels the event, then erases what it said and what it was answered. Its rows stay. */
  eraseEvent(tenant: string | null, event: string): Promise<Withdrawal>;
}

export interface ReplayScope {
  readonly endpoint?: string;
  readonly force?: boolean;
}

export type Replay =
  | { readonly result: "not_found" | "not_failed" | "gone" }
  | { readonly result: "endpoint_disabled"; readonly left: readonly LeftAlone[] }
  | { readonly result: "replayed"; readonly waiting: readonly Waiting[]; readonly left: readonly LeftAlone[] };

/** A failed delivery that a replay did not touch, and why. */
export interface LeftAlone {
  readonly delivery: string;
  readonly endpoint: string;
  readonly reason: "endpoint_disabled" | "endpoint_deleted";
}

export interface EventDelivery {
  readonly delivery: string;
  readonly endpoint: string;
}

export type AttemptRequest =
  /** Settled: delivered or cancelled. Gone: the event was erased. */
  | { readonly result: "not_found" | "settled" | "endpoint_deleted" | "gone" }
  | ({ readonly result: "requested" } & EventDelivery);

export type Withdrawal =
  | { readonly result: "not_found" }
  | {
      readonly result: "withdrawn";
      /** Of which nothing more may be started: whoever holds them must hear of it. */
      readonly deliveries: readonly EventDelivery[];
      /** How many of them were open. */
      readonly cancelled: number;
    };
