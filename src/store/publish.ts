/** The way of an event begins: it is committed with its deliveries. */
import type { Claim } from "../domain/delivery.ts";
import type { EventDraft } from "../domain/event.ts";
import type { Once } from "../domain/idempotency.ts";
import type { Waiting } from "./deliveries.ts";

export interface PublishStore {
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
}

/** Whether memory can take one more delivery of this endpoint. */
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
