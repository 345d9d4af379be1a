/** Forgets idempotency keys that have expired. */
import type { Store } from "../store/store.ts";
import { inSteps, type Pace } from "./steps.ts";

export async function forgetIdempotencyKeys(store: Pick<Store, "pruneIdempotency">, pace: Pace): Promise<void> {
  await inSteps(pace, async () => (await store.pruneIdempotency(pace.clock.now())) > 0);
}
