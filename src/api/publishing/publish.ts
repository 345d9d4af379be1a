/** Commits events, whoever publishes them: a request, or a row of an outbox. */
import type { EventDraft } from "../../domain/events/event.ts";
import type { Once } from "../../domain/events/idempotency.ts";
import { type InPieces, publishing } from "../../domain/events/routing.ts";
import type { Publication } from "../../store/store.ts";
import type { ApiParts } from "../parts.ts";

export type PublishParts = Pick<ApiParts, "store" | "deliveries" | "traces">;

/**
 * Commits the events, and passes their deliveries to the senders in the same turn of the event loop, so that nobody has
 * to read them again.
 */
export async function publish(
  { store, deliveries, traces }: PublishParts,
  drafts: readonly EventDraft[],
  { now, inPieces }: { readonly now: number; readonly inPieces?: InPieces },
  once?: Once<readonly Publication[]>,
): Promise<Publication[]> {
  const commit = () => store.events.publish(drafts, now, deliveries.capacity, once);
  const publications = await publishing(commit, inPieces);
  for (const publication of publications) deliveries.accept(publication);
  traces?.published(drafts, publications, now);
  return publications;
}
