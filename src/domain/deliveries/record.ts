/**
 * Recording decides the effect of an ended attempt: whether it moves the delivery, whether it ends a request for an
 * attempt, and how much of it may be kept. `afterAttempt` is the whole rule. A store may take a shortcut for the
 * attempts that `moveOf` describes, which are nearly all of them.
 */
import type { Outcome, Trigger } from "./attempt.ts";
import { isOpen, type Claim, type StoredStatus, type Verdict } from "./delivery.ts";

/** The part of a delivery's record that attempts change. */
export interface DeliveryState {
  readonly status: StoredStatus;
  /** The number of the latest attempt. */
  readonly attempts: number;
  /** The place on the ladder and the trigger of the next attempt, or of the latest one if there is no next. */
  readonly retry: number;
  readonly trigger: Trigger;
  /** Null unless the delivery is open. */
  readonly dueAt: number | null;
  /** True if it waits behind another delivery of its ordering key. `dueAt` is the earliest time for it then. */
  readonly isBehind?: true;
}

interface Attempt {
  readonly claim: Pick<Claim, "number" | "retry" | "trigger">;
  readonly outcome: Pick<Outcome, "outcome">;
  readonly verdict: Verdict;
}

/** An attempt is superseded if its delivery has moved on without it. It is kept, but changes nothing else. */
export type RecordResult = "applied" | "superseded";

/**
 * Returns the state to which the attempt moves a delivery that is as the attempt found it: still open, with the attempt
 * before this one as its latest. Returns null if the attempt does not move the delivery.
 */
export function moveOf({ claim, outcome, verdict }: Attempt): DeliveryState | null {
  const { number: attempts, retry, trigger } = claim;
  if (verdict.status === "unchanged") return null;
  if (verdict.status !== "pending") return { status: verdict.status, attempts, retry, trigger, dueAt: null };
  return {
    status: "waiting",
    attempts,
    retry: verdict.retry,
    // An interrupted attempt is made again with the same trigger.
    trigger: outcome.outcome === "interrupted" ? trigger : "ladder",
    // Round up, because a retry is never early.
    dueAt: Math.ceil(verdict.dueAt),
  };
}

/**
 * True if the delivery is as an attempt of this number found it. It is not if another delivery of its key overtook it
 * in the meantime.
 */
export function isAsFound({ status, attempts, isBehind }: DeliveryState, number: number): boolean {
  return isOpen(status) && attempts === number - 1 && isBehind !== true;
}

/** Returns the state after the attempt. A success always wins, however late it comes. */
export function afterAttempt(
  before: DeliveryState,
  attempt: Attempt,
): { readonly result: RecordResult; readonly state: DeliveryState } {
  const { claim, verdict } = attempt;
  const moved = moveOf(attempt);
  if (moved !== null && isAsFound(before, claim.number)) return { result: "applied", state: moved };
  if (moved !== null && before.isBehind === true && before.attempts === claim.number - 1) {
    return { result: "applied", state: moved.status === "waiting" ? { ...moved, isBehind: true } : moved };
  }
  // Otherwise the next attempt would get a number that is already taken.
  const attempts = Math.max(before.attempts, claim.number);
  if (verdict.status === "delivered" && before.status !== "delivered") {
    return { result: "applied", state: { ...before, status: "delivered", attempts, dueAt: null } };
  }
  // Only a delivery without attempts is fresh.
  const status = before.status === "fresh" ? "waiting" : before.status;
  return { result: moved === null ? "applied" : "superseded", state: { ...before, status, attempts } };
}

/**
 * True if the attempt fulfils a request for an attempt of this delivery. An interrupted one is made again instead. One
 * by the ladder fulfils the request only if it delivers.
 */
export function answersRequest({ claim, outcome, verdict }: Attempt): boolean {
  if (verdict.status === "delivered") return true;
  return (claim.trigger === "manual" || claim.trigger === "test") && outcome.outcome !== "interrupted";
}

const NO_BODY = new Uint8Array(0);

/** Returns the attempt as it is kept after its event was erased: without the receiver's response. */
export function withoutResponse<Ended extends { readonly outcome: Outcome }>(ended: Ended): Ended {
  return { ...ended, outcome: { ...ended.outcome, responseHeaders: {}, responseBody: NO_BODY } };
}
