/** Forgets idempotency keys that have expired. */
import type { Store } from "../store/store.ts";
import { inSteps, type Pace } from "./steps.ts";

export async function forgetIdempotencyKeys(store: Pick<Store, "idempotency">, pace: Pace): Promise<void> {
  await inSteps(pace, async () => (await store.idempotency.prune(pace.clock.now())) > 0);
}
