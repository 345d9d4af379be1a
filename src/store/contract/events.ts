/** The way of an event: it is committed with its deliveries, attempted, and may be replayed, cancelled and erased. */
import type { Claim, Position, Verdict } from "../../domain/deliveries/delivery.ts";
import type { EventDraft } from "../../domain/events/event.ts";
import type { Once } from "../../domain/events/idempotency.ts";
import type { Outcome } from "../../domain/deliveries/attempt.ts";

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
  /** By how many milliseconds ids are ahead of the clock, because the last was made while it was ahead; null if they are not. */
  idsAheadMs(now: number): number | null;
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
      readonly deliveries: readonly WithdrawnDelivery[];
      /** How many of them were open. */
      readonly cancelled: number;
    };

/** The way of a delivery: from where it waits, through its attempts, to its end. */
export interface DeliveryStore {
  /** Of how many endpoints `due` is best asked in the same turn. */
  readonly dueAtOnce: number;
  /**
   * The waiting deliveries of one endpoint that come after `after` and are due by `until`, in order of (due, event).
   * A page shorter than `limit` means there are no more of them; `nextDueAt` is when the first one that is not in the
   * page falls due.
   */
  due(endpoint: string, after: Position, until: number, limit: number): Promise<DuePage>;
  /**
   * As `due`, of first attempts by the ladder alone. It passes over a bounded number of others, so it may find none and
   * not have come to the end: that is in `reached`.
   */
  dueFirst(endpoint: string, after: Position, until: number, limit: number): Promise<DuePage>;
  /**
   * For each endpoint with waiting deliveries, when the earliest of them falls due: in the store's own order, at most
   * `limit` endpoints that come after `after` (the last one of the page before; null for the first page).
   */
  earliestDue(after: string | null, limit: number): Promise<Map<string, number>>;
  /** What waits for one endpoint after this position, due or not, without the bodies; at most 500 of them. */
  waiting(endpoint: string, after: Position, limit: number): Promise<readonly Owed[]>;
  /** What was handed over with its commit and has no attempt recorded yet, in the store's own order; at most 500. */
  fresh(after: Owed | null, limit: number): Promise<readonly Owed[]>;
  /**
   * Adds the attempts and moves their deliveries. An attempt that its delivery has moved on from (`superseded`) is
   * kept and changes nothing, except that a success always wins; where its delivery waits now is said all the same,
   * because the caller that held it for this attempt holds it no more.
   */
  record(attempts: readonly EndedAttempt[]): Promise<Recorded[]>;
  /**
   * Memory forgets these: the fresh ones are written back as waiting and due by now, and the answer is where each one
   * that waits is to be found. What has ended meanwhile is not in it.
   */
  park(deliveries: readonly Waiting[], now: number): Promise<Waiting[]>;

  // --- attempts that were asked for by hand ---

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
   * What to make that attempt from; null when none is owed any more. Nothing is claimed: a caller that holds another
   * claim of this delivery lets it end first. Null for fresh deliveries too: memory holds them.
   */
  requestedAttempt(delivery: string): Promise<Claim | null>;
  /** All that are owed, in the store's own order: at most `limit` after the last one of the page before. */
  requestedAttempts(after: EventDelivery | null, limit: number): Promise<readonly EventDelivery[]>;
}

/** A committed delivery that waits on disk: the horizon must be lowered to it in the same turn. */
export interface Waiting extends Position {
  readonly endpoint: string;
  /** Those who look on hear nothing of it: it is of a test. */
  readonly isQuiet?: true;
}

/** A pending delivery, by its id too. */
export interface Owed extends Waiting {
  readonly delivery: string;
}

export interface DuePage {
  readonly claims: readonly Claim[];
  readonly nextDueAt: number | null;
  /** Of first attempts alone: how far it came, or null for the end. */
  readonly reached?: Position | null;
  /** Nothing was read, because what the endpoint was owed is being cancelled: ask again in a second. */
  readonly cancelling?: boolean;
}

export interface EndedAttempt {
  readonly claim: Claim;
  /** The URL the attempt went to, as it was then. */
  readonly url: string;
  readonly startedAt: number;
  readonly outcome: Outcome;
  readonly verdict: Verdict;
  /** Of the secret that signed the specified header; null when nothing was signed. */
  readonly secretVersion: number | null;
}

export interface Recorded {
  readonly result: "applied" | "superseded";
  /** Where the delivery waits for its next attempt, if it does. */
  readonly waiting: Waiting | null;
}

export interface EventDelivery {
  readonly delivery: string;
  readonly endpoint: string;
}

/** A delivery of which nothing more may be started. */
export interface WithdrawnDelivery extends EventDelivery {
  /** Those who look on hear nothing of it: it is of a test, or lost no more than an attempt that was asked for. */
  readonly isQuiet?: true;
}

export type AttemptRequest =
  /** Settled: delivered or cancelled. Gone: the event was erased. */
  | { readonly result: "not_found" | "settled" | "endpoint_deleted" | "gone" }
  | ({ readonly result: "requested" } & EventDelivery);
