/**
 * Endpoints that the daemon disables by itself, where the operator asked for it: a receiver that says it is gone, or one
 * that has failed for too long. What such an endpoint is owed is held like that of any other that is disabled.
 */
import type { Log } from "../log.ts";
import type { Store } from "../store/store.ts";
import type { Disabling } from "./core/effects.ts";

/** Whether it was disabled now. `afterMs` is how long a failing one must have failed. */
export async function autoDisable(
  { store, log }: { readonly store: Store; readonly log: Log },
  { endpoint, url, reason }: Disabling,
  afterMs: number,
  now: number,
): Promise<boolean> {
  if (reason === "failing") {
    const since = await store.endpoints.failingSince(endpoint);
    if (since === null || now - since < afterMs) return false;
  }
  if (!(await store.endpoints.disable(endpoint, url, reason, now))) return false;
  log.warn({ endpoint, reason }, "endpoint.disabled");
  return true;
}
