/**
 * The contract for events and deliveries: publish, replay, cancel and erase events; read, record and release
 * deliveries.
 */
import type { Claim, Position, Verdict } from "../../domain/deliveries/delivery.ts";
import type { EventDraft } from "../../domain/events/event.ts";
import type { Once } from "../../domain/events/idempotency.ts";
import type { Capacity } from "../../domain/events/routing.ts";
import type { Outcome } from "../../domain/deliveries/attempt.ts";

export interface EventStore {
  /**
   * Commits the events and one delivery for each endpoint that chose their type, all or nothing, in this order.
   * A delivery that `capacity` takes is `fresh`: it must be handed over at once, because only a restart reads it again.
   * The others wait on disk, due now. Rejects with `fan_out_too_large` over 20,000 deliveries.
   * A draft with an idempotency key that the tenant has used creates no event: its publication is that of the first
   * event, or all drafts are rejected with `idempotency_mismatch`.
   */
  publish(
    drafts: readonly EventDraft[],
    now: number,
    capacity: Capacity,
    once?: Once<readonly Publication[]>,
  ): Promise<Publication[]>;
  /** Starts a new round for the event's failed deliveries. With `force`, also for the delivered ones. */
  replay(tenant: string | null, event: string, scope: ReplayScope, now: number, once?: Once<Replay>): Promise<Replay>;
  /**
   * Cancels the event's open deliveries, or only the one to `endpoint`, and makes no more attempts for them. An attempt
   * on the wire is still recorded, and a success makes its delivery `delivered`.
   */
  cancel(tenant: string | null, event: string, endpoint: string | null): Promise<Withdrawal>;
  /**
   * Cancels the event, then erases its data and the responses to it. Its rows stay. A second erasure keeps the time of
   * the first.
   */
  erase(tenant: string | null, event: string, now: number): Promise<Withdrawal>;
  /**
   * Returns by how many milliseconds ids are ahead of the clock, because the last one was made while the clock was
   * ahead. Null if they are not.
   */
  idsAheadMs(now: number): number | null;
}

/** The deliveries that a commit made and that the caller must now have sent. */
export interface Handover {
  readonly fresh: readonly Claim[];
  readonly waiting: readonly Waiting[];
}

export interface Publication extends Handover {
  readonly id: string;
  readonly type: string;
  readonly createdAt: number;
  readonly deliveries: number;
  /** True if the event was published before under the same idempotency key, so that nothing is handed over. */
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
       * The deliveries for which no more attempts may start, including those cancelled before. The caller must notify
       * the dispatcher, which may hold them.
       */
      readonly deliveries: readonly WithdrawnDelivery[];
      /** The number of these deliveries that were open. */
      readonly cancelled: number;
    };

/** Reads pending deliveries and records their attempts. */
export interface DeliveryStore {
  /** The number of endpoints for which `due` is best called in the same turn. */
  readonly dueAtOnce: number;
  /**
   * Returns the waiting deliveries of one endpoint that come after `after` and are due by `until`, in order of (due,
   * event). A page shorter than `limit` means there are no more of them. `nextDueAt` is the time at which the first one
   * beyond the page falls due.
   */
  due(endpoint: string, after: Position, until: number, limit: number): Promise<DuePage>;
  /**
   * Does the same as `due`, but only for first attempts by the ladder. It skips a bounded number of others, so it may
   * find none before the end. `reached` has the place where it stopped.
   */
  dueFirst(endpoint: string, after: Position, until: number, limit: number): Promise<DuePage>;
  /**
   * Returns the earliest due time of each endpoint with waiting deliveries, in the store's own order: at most `limit`
   * endpoints that come after `after`, the last one of the previous page (null for the first page).
   */
  earliestDue(after: string | null, limit: number): Promise<Map<string, number>>;
  /** Returns at most 500 waiting deliveries of one endpoint after this position, due or not, without the bodies. */
  waiting(endpoint: string, after: Position, limit: number): Promise<readonly PendingDelivery[]>;
  /**
   * Returns at most 500 deliveries that were handed over with their commit and have no attempt recorded yet, in the
   * store's own order.
   */
  fresh(after: PendingDelivery | null, limit: number): Promise<readonly PendingDelivery[]>;
  /**
   * Adds the attempts and moves their deliveries. An attempt that its delivery has moved on from (`superseded`) is kept
   * and changes nothing, except that a success always wins. The result still has the place where the delivery waits
   * now, because the caller no longer holds it for this attempt.
   */
  record(attempts: readonly EndedAttempt[]): Promise<Recorded[]>;
  /**
   * Returns deliveries from memory to the disk: writes the fresh ones as waiting and due by now, and returns the
   * position of each one that waits. Leaves out deliveries that have ended in the meantime.
   */
  park(deliveries: readonly Waiting[], now: number): Promise<Waiting[]>;
  /**
   * Returns the deliveries in lines of ordering keys whose turn has come, or that were overtaken, with commits since the
   * last call. Null if there are none. Memory must follow, so call it after each commit that may settle a delivery, and
   * each second, because the store's own upkeep settles some too. Another node's deliveries are left out.
   */
  reordered(): Reordered | null;

  // --- attempts that were requested by hand ---

  /**
   * Requests one attempt outside the ladder. The request survives restarts, and ends when the attempt has been made, or
   * its delivery is delivered, cancelled or erased. A second request before that changes nothing.
   */
  requestAttempt(
    tenant: string | null,
    delivery: string,
    now: number,
    once?: Once<AttemptRequest>,
  ): Promise<AttemptRequest>;
  /**
   * Returns the claim for that attempt, or null if none is requested any more. It does not take the claim: a caller
   * that holds another claim of this delivery must let it end first. Null for fresh deliveries too, because memory
   * holds them.
   */
  requestedAttempt(delivery: string): Promise<Claim | null>;
  /** Lists requested attempts in the store's own order: at most `limit` after the last one of the previous page. */
  requestedAttempts(after: EventDelivery | null, limit: number): Promise<readonly EventDelivery[]>;
}

export interface Reordered {
  /** They wait on disk now, and are due. */
  readonly released: readonly Waiting[];
  /** They were due, and wait behind others now, so none of them may start. */
  readonly overtaken: readonly EventDelivery[];
}

/** A committed delivery that waits on disk. The horizon must be lowered to it in the same turn. */
export interface Waiting extends Position {
  readonly endpoint: string;
  /** Present if observers are not notified, because the delivery is of a test. */
  readonly isQuiet?: true;
}

/** A pending delivery with its id. */
export interface PendingDelivery extends Waiting {
  readonly delivery: string;
}

export interface DuePage {
  readonly claims: readonly Claim[];
  readonly nextDueAt: number | null;
  /** Only from `dueFirst`: the last position that was read, or null at the end. */
  readonly reached?: Position | null;
  /** Nothing was read, because the endpoint's deliveries are being cancelled. Call again in a second. */
  readonly cancelling?: boolean;
}

export interface EndedAttempt {
  readonly claim: Claim;
  /** The URL of the endpoint when the attempt was made. */
  readonly url: string;
  readonly startedAt: number;
  readonly outcome: Outcome;
  readonly verdict: Verdict;
  /** The version of the secret that signed the specified header. Null if nothing was signed. */
  readonly secretVersion: number | null;
}

export interface Recorded {
  readonly result: "applied" | "superseded";
  /** The place where the delivery waits for its next attempt. Null if it does not wait. */
  readonly waiting: Waiting | null;
}

export interface EventDelivery {
  readonly delivery: string;
  readonly endpoint: string;
}

/** A delivery for which no more attempts may start. */
export interface WithdrawnDelivery extends EventDelivery {
  /** Present if observers are not notified: the delivery is of a test, or lost only a requested attempt. */
  readonly isQuiet?: true;
}

export type AttemptRequest =
  /**
   * Settled means delivered or cancelled. Gone means that the event was erased. Behind means that another delivery of
   * its ordering key goes first.
   */
  | { readonly result: "not_found" | "settled" | "endpoint_deleted" | "gone" | "behind" }
  | ({ readonly result: "requested" } & EventDelivery);
