import type { ShownStatus } from "../../domain/deliveries/delivery.ts";
import { FRESH, statusOf, triggerOf } from "./codes.ts";

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
  // A test that is still waiting, because the process stopped before it was made, is held like the others.
  const isTest = delivery.status === FRESH && triggerOf(delivery.trigger) === "test";
  return endpoint.enabled || isTest ? "pending" : "held";
}
