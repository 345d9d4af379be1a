/** Ends the overlaps of rotations: the next secret takes over in the store first, and then in whoever signs. */
import type { Clock } from "../clock.ts";
import { WebhookdError } from "../domain/errors.ts";
import type { Store } from "../store/store.ts";

export interface SecretSwitchParts {
  readonly store: Pick<Store, "secrets">;
  readonly clock: Clock;
  /** Resolves once nothing is signed with the endpoint's old secret. */
  readonly refresh: (endpoint: string) => Promise<void>;
}

/**
 * One pass, to be made before the first send after a start and each second from then on. What the store does not take
 * now (a full disk) waits for the next pass: until then the old secret goes on signing.
 */
export async function switchSecrets({ store, clock, refresh }: SecretSwitchParts): Promise<void> {
  try {
    let switched: readonly string[];
    do {
      switched = await store.secrets.switchDue(clock.now());
      await Promise.all(switched.map(refresh));
    } while (switched.length > 0);
  } catch (error) {
    if (!(error instanceof WebhookdError)) throw error;
  }
}
