/** The way of a delivery: from where it waits, through its attempts, to its end. */
import type { Outcome } from "../../domain/deliveries/attempt.ts";
import type { Claim, Position, Verdict } from "../../domain/deliveries/delivery.ts";
import type { Once } from "../../domain/events/idempotency.ts";

export interface DeliveryStore {
  /**
   * The waiting deliveries of one endpoint that come after `after` and are due by `until`, in order of (due, event).
   * A page shorter than `limit` means there are no more of them; `nextDueAt` is when the first one that is not in the
   * page falls due.
   */
  due(endpoint: string, after: Position, until: number, limit: number): Promise<DuePage>;
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
}

/** A pending delivery, by its id too. */
export interface Owed extends Waiting {
  readonly delivery: string;
}

export interface DuePage {
  readonly claims: readonly Claim[];
  readonly nextDueAt: number | null;
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

export type AttemptRequest =
  /** Settled: delivered or cancelled. Gone: the event was erased. */
  | { readonly result: "not_found" | "settled" | "endpoint_deleted" | "gone" }
  | ({ readonly result: "requested" } & EventDelivery);
