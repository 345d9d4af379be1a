/** Has what was counted written each second, when no commit of others did it. */
import { WebhookdError } from "../domain/errors.ts";
import type { StatisticsStore } from "../store/store.ts";

/** What the store does not take now (a full disk) goes on being counted in memory, and waits for the next pass. */
export async function saveCounters(store: { readonly statistics: Pick<StatisticsStore, "save"> }): Promise<void> {
  try {
    await store.statistics.save();
  } catch (error) {
    if (!(error instanceof WebhookdError)) throw error;
  }
}
