/** The columns of a delivery's row that attempts change. */
import type { DeliveryState } from "../../domain/deliveries/record.ts";
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
