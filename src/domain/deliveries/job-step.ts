/**
 * Decides what a job does with one delivery of its set. A store reads the facts inside the transaction that counts the
 * delivery, asks here, and writes the result, so that no crash makes a job handle a delivery twice, or lose one.
 *
 *   planned ──its turn──► released ──attempted──► delivered | failed
 *      └──► cancelled        └──► skipped: it will no longer be attempted for the job
 *      └──► skipped: it no longer qualifies
 */
import type { Outcome, Trigger } from "./attempt.ts";
import type { ShownStatus, StoredStatus, Verdict } from "./delivery.ts";
import { statusesOf, type JobAction, type JobFilter } from "./job.ts";
import type { RecordResult } from "./record.ts";
import { mayReceive, type Receiving } from "./withdrawal.ts";

export interface JobDelivery {
  readonly status: StoredStatus;
  /** True if another delivery of its ordering key goes first. */
  readonly isBehind?: boolean;
  readonly shown: ShownStatus;
}

/**
 * True if a job with this action and status is meant for the delivery, whether or not its endpoint receives anything
 * now. An erased event cannot be sent. `attempt_now` leaves fresh deliveries alone, because memory holds them and is
 * about to attempt them, and those that wait behind another, because they would overtake it.
 */
export function isMeant(
  action: JobAction,
  named: JobFilter["status"],
  { status, shown, isBehind = false }: JobDelivery,
  isErased: boolean,
): boolean {
  if (!statusesOf(action, named)!.includes(shown)) return false;
  if (action === "cancel") return true;
  return !isErased && !(action === "attempt_now" && (status === "fresh" || isBehind));
}

/**
 * True if the job acts on the delivery now that its turn has come. Otherwise it is skipped. The delivery is null if the
 * endpoint has none for the event.
 */
export function qualifies(
  action: JobAction,
  filter: Pick<JobFilter, "status" | "missing">,
  endpoint: Receiving,
  delivery: JobDelivery | null,
  isErased: boolean,
): boolean {
  if (filter.missing) return delivery === null && !isErased && mayReceive(endpoint);
  if (delivery === null || !isMeant(action, filter.status, delivery, isErased)) return false;
  return action === "cancel" || mayReceive(endpoint);
}

/**
 * True if a released delivery may still be attempted for the job. Otherwise it is skipped: it was cancelled or removed,
 * or its endpoint no longer receives anything.
 */
export function isAwaited(
  action: JobAction,
  endpoint: Receiving,
  { status, isRequested }: { readonly status: StoredStatus | null; readonly isRequested: boolean },
): boolean {
  return mayReceive(endpoint) && (action === "replay" ? status === "waiting" : isRequested);
}

interface RecordedAttempt {
  readonly claim: { readonly trigger: Trigger };
  readonly outcome: Pick<Outcome, "outcome">;
  readonly verdict: Verdict;
}

/**
 * Returns the effect of a recorded attempt on a released delivery of the job, or null if the job waits for another
 * attempt. Any success counts, whatever caused it. A failure counts only if the attempt was made for the job; a test's
 * always is, because a test keeps its own trigger.
 */
export function resultOf(
  action: JobAction,
  { claim: { trigger }, outcome, verdict }: RecordedAttempt,
  result: RecordResult,
): "delivered" | "failed" | null {
  if (verdict.status === "delivered") return "delivered";
  if (outcome.outcome === "interrupted" || result === "superseded") return null;
  const isForJob = trigger === "test" || trigger === (action === "replay" ? "replay" : "manual");
  return isForJob ? "failed" : null;
}

/** True if the failure pauses the job: it is the canary's, and nothing has been delivered to the endpoint before. */
export function failsCanary(canary: boolean, result: "delivered" | "failed", deliveredBefore: number): boolean {
  return canary && result === "failed" && deliveredBefore === 0;
}

/** The reason that a job shows when a canary has paused it. */
export function canaryReason(endpoint: string, detail: string): string {
  return `the canary to ${endpoint} failed: ${detail}`;
}
