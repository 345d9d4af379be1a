/**
 * A delivery is one event for one endpoint, and carries the status.
 *
 *   pending ──2xx──────────────► delivered   (final, except for a forced replay)
 *      │ ▲ └──failure, rung left─► pending    (due later)
 *      │ └──replay── failed ◄──failure, no rung left
 *      └──endpoint deleted, or an operator's cancel──► cancelled
 *
 * A delivery to an endpoint in shadow is made as `shadowed`, and stays so: no attempt is ever made for it.
 * A manual attempt delivers on 2xx; otherwise it leaves everything as it was. A pending delivery of a disabled endpoint
 * is shown as `held`; its row does not change for that.
 */
import type { Outcome, Trigger } from "./attempt.ts";
import { nextDelay, type Ladder, askedDelay } from "./due-time.ts";
import type { TraceContext } from "../events/event.ts";

export type DeliveryStatus = "pending" | "delivered" | "failed" | "cancelled" | "shadowed";
/**
 * The status as a store keeps it. A pending delivery is fresh from its commit until its first attempt is recorded or it
 * is put back on disk, and memory holds it during that time. Otherwise it waits on disk.
 */
export type StoredStatus = "fresh" | "waiting" | Exclude<DeliveryStatus, "pending">;
export const SHOWN_STATUSES = ["pending", "held", "delivered", "failed", "cancelled", "shadowed"] as const;
export const EVENT_STATUSES = [...SHOWN_STATUSES, "unmatched"] as const;
export type ShownStatus = (typeof SHOWN_STATUSES)[number];
export type EventStatus = (typeof EVENT_STATUSES)[number];

/** True if the delivery is pending: more attempts may come. */
export function isOpen(status: StoredStatus): boolean {
  return status === "fresh" || status === "waiting";
}

/** One attempt for a sender to make, without the endpoint's own settings. */
export interface Send {
  readonly event: string;
  readonly delivery: string;
  readonly endpoint: string;
  /** The envelope: the exact bytes that are signed and sent, the same on every attempt. */
  readonly body: Uint8Array;
  /** The number of this attempt. It counts from 1 and never restarts. */
  readonly number: number;
  readonly trigger: Trigger;
  /**
   * True for a first attempt, or one that somebody is waiting for. It uses the lane for fresh deliveries, not the
   * backlog's.
   */
  readonly fresh: boolean;
  /** The publisher's trace headers. Endpoints that ask for them get them with the request, not signed. */
  readonly trace?: TraceContext | undefined;
  /** True if the stored bytes do not match their checksum, so that they must not be sent. */
  readonly corrupt?: boolean;
  /** Set if it belongs to a job, which limits the starts per second at each endpoint. */
  readonly pace?: JobPace | undefined;
  /** Set if the endpoint gets the events of its ordering key in order. */
  readonly ordered?: Ordered | undefined;
}

/** The line that a delivery stands in, and its place there. */
export interface Ordered {
  /** The store's number for the endpoint and its key. */
  readonly key: number;
  /**
   * Counts the deliveries of the line from 1. It is 0 for a delivery that a job added afterwards, because others have
   * its number by then.
   */
  readonly sequence: number;
}

export interface JobPace {
  readonly job: string;
  readonly perSecond: number;
}

/** A delivery in memory, for an attempt to be made. */
export interface Claim extends Send {
  /** Counts from 1, and rises with each replay. */
  readonly round: number;
  /** The place on the ladder: 0 for the first attempt of a round. */
  readonly retry: number;
  /** Infinity for a manual attempt of a delivery that is not due at all. */
  readonly dueAt: number;
}

/** The position of a pending delivery in its endpoint's order of due times. */
export interface Position {
  readonly dueAt: number;
  readonly event: string;
}

/** The effect of an attempt's outcome on its delivery. */
export type Verdict =
  | { readonly status: "delivered" }
  | { readonly status: "failed" }
  /** The delivery stays as it was: on the same rung, due at the same time. */
  | { readonly status: "unchanged" }
  | { readonly status: "pending"; readonly retry: number; readonly dueAt: number };

/**
 * Returns the effect of an attempt on its delivery: the only transition of the state machine. `endedAt` is when the
 * attempt ended, and every rung counts from there. A receiver's `Retry-After` makes the wait longer, never shorter, and
 * never longer than `maxRetryAfter` (`docs/interface.md` §6).
 */
export function settle(
  claim: Claim,
  outcome: Outcome,
  ladder: Ladder,
  endedAt: number,
  maxRetryAfter: number = 0,
): Verdict {
  if (outcome.outcome === "succeeded") return { status: "delivered" };
  if (outcome.error === "payload_corrupt") return { status: "failed" };
  // A manual attempt is outside the ladder, so only a success counts.
  if (claim.trigger === "manual") return { status: "unchanged" };
  if (outcome.outcome === "interrupted") return { status: "pending", retry: claim.retry, dueAt: endedAt };
  if (claim.trigger === "test") return { status: "failed" };
  const delay = nextDelay(ladder, claim.retry);
  if (delay === null) return { status: "failed" };
  const asked = maxRetryAfter > delay ? Math.min(askedDelay(outcome, endedAt), maxRetryAfter) : 0;
  return { status: "pending", retry: claim.retry + 1, dueAt: endedAt + Math.max(delay, asked) };
}

/** Derives an event's status from its deliveries, so that one slow endpoint never hides another's failure. */
export function eventStatus(deliveries: Iterable<ShownStatus>): EventStatus {
  const seen = new Set(deliveries);
  for (const status of ["failed", "pending", "held", "delivered", "cancelled", "shadowed"] as const) {
    if (seen.has(status)) return status;
  }
  return "unmatched";
}

interface LoggedAttempt {
  readonly claim: Claim;
  readonly outcome: Outcome;
  readonly verdict: Verdict;
}

/**
 * Returns the fields of an attempt's log line: everything needed to find it and similar ones. `tenant` is null while
 * the endpoint is unknown.
 */
export function attemptFields({ claim, outcome, verdict }: LoggedAttempt, tenant: string | null): object {
  return {
    event: claim.event,
    delivery: claim.delivery,
    endpoint: claim.endpoint,
    tenant,
    attempt: claim.number,
    round: claim.round,
    retry: claim.trigger === "manual" || claim.trigger === "test" ? null : claim.retry,
    trigger: claim.trigger,
    outcome: outcome.outcome,
    error: outcome.error,
    status_code: outcome.statusCode,
    duration_ms: Math.round(outcome.durationMs),
    ...stateOf(claim, verdict),
  };
}

function stateOf(claim: Claim, verdict: Verdict): { status: string; next_attempt_at: string | null } {
  // After a failed manual attempt, a pending delivery is due as before, and a failed one is never due.
  const due = verdict.status === "pending" ? verdict.dueAt : verdict.status === "unchanged" ? claim.dueAt : Infinity;
  if (due !== Infinity) return { status: "pending", next_attempt_at: new Date(due).toISOString() };
  return { status: verdict.status === "unchanged" ? "failed" : verdict.status, next_attempt_at: null };
}
