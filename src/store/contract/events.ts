/** The way of an event: it is committed with its deliveries, and may be replayed, cancelled and erased. */
import type { Claim } from "../../domain/deliveries/delivery.ts";
import type { EventDraft } from "../../domain/events/event.ts";
import type { Once } from "../../domain/events/idempotency.ts";
import type { EventDelivery, Waiting } from "./deliveries.ts";

export interface EventStore {
  /**
   * Commits the events and one delivery for each endpoint that chose their type, all or nothing, in this order.
   * A delivery whose endpoint `hasRoom` is `fresh`: it must be handed over at once, because only a restart reads it
   * again. The others wait on disk, due now. Rejects with `fan_out_too_large` over 20,000 deliveries.
   * A draft with an idempotency key that the tenant has used makes no event: it is answered as the first one was, or
   * all are refused with `idempotency_mismatch`.
   */
  publish(
    drafts: readonly EventDraft[],
    now: number,
    hasRoom: HasRoom,
    once?: Once<readonly Publication[]>,
  ): Promise<Publication[]>;
  /** Starts a new round for the event's failed deliveries; with `force` for the delivered ones too. */
  replay(tenant: string | null, event: string, scope: ReplayScope, now: number, once?: Once<Replay>): Promise<Replay>;
  /**
   * Open deliveries become `cancelled` and nothing more is owed of them: the event's, or only the one to `endpoint`.
   * What is on the wire is recorded all the same, and a success makes it delivered.
   */
  cancel(tenant: string | null, event: string, endpoint: string | null): Promise<Withdrawal>;
  /** Cancels the event, then erases what it said and what it was answered. Its rows stay. */
  erase(tenant: string | null, event: string): Promise<Withdrawal>;
}

/**
 * Whether memory can take one more delivery of this endpoint. It reads this process's memory alone, so a store may ask it
 * wherever it decides what is fresh: within its transaction or after the commit.
 */
export type HasRoom = (endpoint: string) => boolean;

/** What a commit made that somebody must now deliver. */
export interface Handover {
  readonly fresh: readonly Claim[];
  readonly waiting: readonly Waiting[];
}

export interface Publication extends Handover {
  readonly id: string;
  readonly type: string;
  readonly createdAt: number;
  readonly deliveries: number;
  /** Published before, under the same idempotency key: nothing was made, and there is nothing to hand over. */
  readonly duplicate: boolean;
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

export type Withdrawal =
  | { readonly result: "not_found" }
  | {
      readonly result: "withdrawn";
      /**
       * Of which nothing more may be started, those that were cancelled before included: the caller tells the dispatcher,
       * which may hold them.
       */
      readonly deliveries: readonly EventDelivery[];
      /** How many of them were open. */
      readonly cancelled: number;
    };
