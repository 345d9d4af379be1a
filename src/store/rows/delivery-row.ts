/** A row of a delivery: the columns that attempts change, and what the row tells about it. */
import type { WhyDelivery } from "../../domain/events/why.ts";
import type { DeliveryState } from "../../domain/deliveries/record.ts";
import type { Attempt, DeliveryView } from "../store.ts";
import { storedStatusCode, storedStatusOf, triggerCode, triggerOf } from "./codes.ts";

export interface StateRow {
  readonly status: number;
  readonly attempts: number;
  readonly retry: number;
  readonly trigger: number;
  readonly due_at: number | null;
}

export function stateOf({ status, attempts, retry, trigger, due_at: dueAt }: StateRow): DeliveryState {
  return { status: storedStatusOf(status), attempts, retry, trigger: triggerOf(trigger), dueAt };
}

export function rowOf({ status, attempts, retry, trigger, dueAt }: DeliveryState): StateRow {
  return { status: storedStatusCode(status), attempts, retry, trigger: triggerCode(trigger), due_at: dueAt };
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
  };
}
