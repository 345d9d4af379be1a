/** What is written each second. What the store does not take now (a full disk) waits for the next pass. */
import type { Clock } from "../clock.ts";
import { WebhookdError } from "../domain/errors.ts";
import type { StatisticsStore, Store } from "../store/store.ts";

export interface SecretSwitchParts {
  readonly store: Pick<Store, "secrets">;
  readonly clock: Clock;
  /** Resolves once nothing is signed with the endpoint's old secret. */
  readonly refresh: (endpoint: string) => Promise<void>;
}

/**
 * Ends the overlaps of rotations: the next secret takes over in the store first, and then in whoever signs. Made before
 * the first send after a start, too. Until the next pass the old secret goes on signing.
 */
export async function switchSecrets({ store, clock, refresh }: SecretSwitchParts): Promise<void> {
  await unlessFull(async () => {
    let switched: readonly string[];
    do {
      switched = await store.secrets.switchDue(clock.now());
      await Promise.all(switched.map(refresh));
    } while (switched.length > 0);
  });
}

/** Has what was counted written, when no commit of others did it; until then it goes on being counted in memory. */
export async function saveCounters(store: { readonly statistics: Pick<StatisticsStore, "save"> }): Promise<void> {
  await unlessFull(() => store.statistics.save());
}

async function unlessFull(write: () => Promise<void>): Promise<void> {
  try {
    await write();
  } catch (error) {
    if (!(error instanceof WebhookdError)) throw error;
  }
}
