/** Forgets idempotency keys that have expired, a chunk a commit, so that nobody's publish waits for it. */
import type { Clock } from "../clock.ts";
import type { Store } from "../store/store.ts";

export async function forgetIdempotencyKeys(store: Pick<Store, "pruneIdempotency">, clock: Clock): Promise<void> {
  while ((await store.pruneIdempotency(clock.now())) > 0);
}
