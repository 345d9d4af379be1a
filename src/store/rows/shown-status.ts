import type { ShownStatus } from "../../domain/deliveries/delivery.ts";
import { FRESH, statusOf, triggerOf } from "./codes.ts";

/** A delivery's status as it is shown: nothing is rewritten on disk when an endpoint is disabled, or before it answers. */
export function shownStatus(
  endpoint: { readonly enabled: boolean; readonly deleted: boolean; readonly cancelTo: number | null },
  delivery: { readonly event: number; readonly status: number; readonly trigger: number },
): ShownStatus {
  const stored = statusOf(delivery.status);
  if (stored !== "pending") return stored;
  if (endpoint.deleted || delivery.event <= (endpoint.cancelTo ?? -1)) return "cancelled";
  // A test that waits, because a stop of the process kept it from being made, is held like the rest.
  const isTest = delivery.status === FRESH && triggerOf(delivery.trigger) === "test";
  return endpoint.enabled || isTest ? "pending" : "held";
}
