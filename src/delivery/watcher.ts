/** Hears of what happens to deliveries once it is on the disk, each of what it cares for. It must be quick. */
import type { DisabledReason } from "../domain/endpoints/endpoint.ts";
import type { EndedAttempt, EventDelivery, Handover, Recorded } from "../store/store.ts";

export interface DeliveryWatcher {
  attempted?(attempt: EndedAttempt, recorded: Recorded): void;
  /** Published, or replayed. */
  accepted?(handover: Handover): void;
  withdrawn?(deliveries: readonly EventDelivery[]): void;
  /** The endpoint was changed or deleted, and what it is owed may show another status. */
  changed?(endpoint: string): void;
  /** By the daemon itself. */
  disabled?(endpoint: string, reason: DisabledReason): void;
}
