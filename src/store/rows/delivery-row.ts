/** A row of the table of deliveries. */
import type { Ordered, ShownStatus } from "../../domain/deliveries/delivery.ts";
import type { DeliveryState } from "../../domain/deliveries/record.ts";
import type { WhyDelivery } from "../../domain/events/why.ts";
import type { Attempt, DeliveryView } from "../store.ts";
import { blockerOf } from "./blocker.ts";
import {
  BEHIND,
  deliveryId,
  isBehind,
  storedStatusCode,
  storedStatusOf,
  triggerCode,
  triggerOf,
  WAITING,
} from "./codes.ts";

/** The columns that attempts change. */
export interface StateRow {
  readonly status: number;
  readonly attempts: number;
  readonly retry: number;
  readonly trigger: number;
  readonly due_at: number | null;
}

export function stateOf({ status, attempts, retry, trigger, due_at: dueAt }: StateRow): DeliveryState {
  const state = { status: storedStatusOf(status), attempts, retry, trigger: triggerOf(trigger), dueAt };
  return isBehind(dueAt) ? { ...state, dueAt: dueAt! - BEHIND, isBehind: true } : state;
}

export function rowOf({ status, attempts, retry, trigger, dueAt, isBehind: behind }: DeliveryState): StateRow {
  const due = behind === true && dueAt !== null ? dueAt + BEHIND : dueAt;
  return { status: storedStatusCode(status), attempts, retry, trigger: triggerCode(trigger), due_at: due };
}

/** The columns that say where a delivery stands in its line. Both are null if it is in none. */
interface PlaceRow {
  readonly key: number | null;
  readonly sequence: number | null;
}

export function orderedOf({ key, sequence }: PlaceRow): Ordered | null {
  return key === null || sequence === null ? null : { key, sequence };
}

/** A success that ended before the last attempt did is what delivered it. */
export function whyDelivery(view: DeliveryView, success: Attempt | null, ahead: number | null): WhyDelivery {
  const attempt = success ?? view.lastAttempt;
  return {
    id: view.id,
    status: view.status,
    attempts: view.attempts,
    nextAttemptAt: view.nextAttemptAt,
    attempt: attempt && {
      endedAt: attempt.startedAt + attempt.durationMs,
      error: attempt.error,
      statusCode: attempt.statusCode,
    },
    ahead,
    behind: view.behind,
  };
}

export interface DeliveryRow extends StateRow {
  readonly event: number;
  readonly endpoint: number;
  readonly round: number;
  readonly sequence: number | null;
  /** From `blockerSql`. */
  readonly behind: Parameters<typeof blockerOf>[0];
}

/** The parts of a shown delivery that its row has no column for. */
export interface DeliveryNames {
  /** The id of its event. */
  readonly event: string;
  readonly type: string;
  readonly tenant: string;
  readonly test: number;
  readonly receivedAt: number;
  /** The id of its endpoint. */
  readonly endpoint: string;
  readonly status: ShownStatus;
  readonly lastAttempt: Attempt | null;
}

export function deliveryOf(row: DeliveryRow, names: DeliveryNames): DeliveryView {
  const { event, type, receivedAt, tenant, test, endpoint, status, lastAttempt } = names;
  return {
    id: deliveryId(event, row.endpoint),
    event,
    type,
    receivedAt,
    tenant,
    test: test === 1,
    endpoint,
    status,
    attempts: row.attempts,
    round: row.round,
    retry: status === "pending" || status === "held" ? row.retry : null,
    nextAttemptAt: status === "pending" && row.status <= WAITING && !isBehind(row.due_at) ? row.due_at : null,
    sequence: row.sequence,
    behind: status === "pending" || status === "held" ? blockerOf(row.behind) : null,
    lastAttempt,
  };
}
