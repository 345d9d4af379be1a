import type { ShownStatus } from "../../domain/deliveries/delivery.ts";
import type { JobDelivery } from "../../domain/deliveries/job-step.ts";
import { FRESH, isBehind, statusOf, storedStatusOf, triggerOf } from "./codes.ts";

/**
 * Returns a delivery's status as it is shown. It can differ from the stored one, because disabling or deleting an
 * endpoint does not rewrite its deliveries at once.
 */
export function shownStatus(
  endpoint: { readonly enabled: boolean; readonly deleted: boolean; readonly cancelTo: number | null },
  delivery: { readonly event: number; readonly status: number; readonly trigger: number },
): ShownStatus {
  const stored = statusOf(delivery.status);
  if (stored !== "pending") return stored;
  if (endpoint.deleted || delivery.event <= (endpoint.cancelTo ?? -1)) return "cancelled";
  // A test that is still waiting, because the process stopped before making its attempt, is held like the others.
  const isTest = delivery.status === FRESH && triggerOf(delivery.trigger) === "test";
  return endpoint.enabled || isTest ? "pending" : "held";
}

/** Returns the delivery as a job sees it, or null if there is none. */
export function jobDeliveryOf(
  endpoint: Parameters<typeof shownStatus>[0],
  {
    event,
    status,
    trigger,
    due_at: dueAt,
  }: {
    readonly event: number;
    readonly status: number | null;
    readonly trigger: number;
    readonly due_at: number | null;
  },
): JobDelivery | null {
  if (status === null) return null;
  const shown = shownStatus(endpoint, { event, status, trigger });
  return { status: storedStatusOf(status), shown, isBehind: isBehind(dueAt) };
}
