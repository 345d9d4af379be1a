/**
 * Decides what a replay, a cancel, or a request for one attempt does to a delivery. A store reads the facts inside its
 * transaction, asks here, and writes the result.
 */
import type { Trigger } from "./attempt.ts";
import { isOpen, type StoredStatus } from "./delivery.ts";

/** The part of an endpoint on which its deliveries depend. */
export interface Receiving {
  readonly enabled: boolean;
  readonly deleted: boolean;
  /**
   * Open deliveries of events up to this key count as cancelled, although a sweep has not rewritten all of their rows
   * yet. Keys rise with each commit. Null if no sweep is in progress.
   */
  readonly cancelTo: number | null;
}

/**
 * True if deliveries may be opened for the endpoint. During a sweep they may not, because the sweep would cancel them
 * too.
 */
export function mayReceive({ enabled, deleted, cancelTo }: Receiving): boolean {
  return enabled && !deleted && cancelTo === null;
}

/** True if the open delivery counts as cancelled, although its row does not say so yet. */
export function isBeingCancelled(
  { cancelTo }: Pick<Receiving, "cancelTo">,
  event: number,
  status: StoredStatus,
): boolean {
  return isOpen(status) && cancelTo !== null && event <= cancelTo;
}

/** The reason why a replay or a job leaves a delivery alone that it was meant for. */
export type LeftReason = "endpoint_disabled" | "endpoint_deleted";

/** Returns why a replay or a job leaves deliveries of the endpoint alone, or null if it does not. */
export function leftBecause(endpoint: Receiving): LeftReason | null {
  if (mayReceive(endpoint)) return null;
  return endpoint.deleted ? "endpoint_deleted" : "endpoint_disabled";
}

/**
 * Returns what a replay does with a delivery: `restart` begins a new round, and null means that the replay is not about
 * this delivery. `force` also repeats what was delivered.
 */
export function replayOf(status: StoredStatus, endpoint: Receiving, force: boolean): "restart" | LeftReason | null {
  if (status !== "failed" && !(force && status === "delivered")) return null;
  return leftBecause(endpoint) ?? "restart";
}

/** The trigger of the first attempt of a new round. A test stays a single attempt, so its round is one too. */
export function replayTrigger(isTest: boolean): Trigger {
  return isTest ? "test" : "replay";
}

/** Decides whether an attempt may be requested, and if not, why. */
export function requestOf(
  delivery: {
    readonly event: number;
    readonly status: StoredStatus;
    readonly isErased: boolean;
    /** True if another delivery of its ordering key goes first. */
    readonly isBehind: boolean;
  },
  endpoint: Receiving,
): "requested" | "gone" | "settled" | "endpoint_deleted" | "behind" {
  const { event, status, isErased, isBehind } = delivery;
  if (isErased) return "gone";
  if (status === "delivered" || status === "cancelled" || status === "shadowed") return "settled";
  if (isBeingCancelled(endpoint, event, status)) return "settled";
  if (endpoint.deleted) return "endpoint_deleted";
  return isBehind ? "behind" : "requested";
}

/** True if a cancel ends the delivery: it is open, or it failed and holds its ordering key. */
export function isCancellable(status: StoredStatus, holdsKey: boolean): boolean {
  return isOpen(status) || (status === "failed" && holdsKey);
}

/**
 * Returns who is notified of a delivery that a cancel or an erasure names. Both drop every request for an attempt, and
 * cancel the delivery if it is open. Null means nobody, because no attempt could have started. Otherwise the dispatcher
 * is notified, even of a delivery that was cancelled before, because the call that cancelled it may have been cut
 * short. Observers are not notified of a test, nor of a delivery that lost only a request.
 */
export function whoIsNotified(
  status: StoredStatus,
  hadRequest: boolean,
  isTest: boolean,
  heldKey = false,
): "all" | "dispatcher" | null {
  const isCancelled = isCancellable(status, heldKey) || status === "cancelled";
  if (!isCancelled && !hadRequest) return null;
  return isTest || !isCancelled ? "dispatcher" : "all";
}
