/** Who is told of what happens to deliveries, once it is on the disk. It must be quick: it is called for each attempt. */
import type { DisabledReason } from "../domain/endpoint.ts";
import type { EndedAttempt, EventDelivery, Handover, Recorded } from "../store/store.ts";

export interface DeliveryWatcher {
  attempted(attempt: EndedAttempt, recorded: Recorded): void;
  /** Published, or replayed. */
  accepted(handover: Handover): void;
  withdrawn(deliveries: readonly EventDelivery[]): void;
  /** The endpoint was changed or deleted, and what it is owed may show another status. */
  changed(endpoint: string): void;
  /** By the daemon itself. */
  disabled(endpoint: string, reason: DisabledReason): void;
}

/** Tells two, the second one of attempts and disabled endpoints alone. */
export function both(one: DeliveryWatcher, other: Pick<DeliveryWatcher, "attempted" | "disabled">): DeliveryWatcher {
  return {
    attempted(attempt, recorded) {
      one.attempted(attempt, recorded);
      other.attempted(attempt, recorded);
    },
    accepted: (handover) => one.accepted(handover),
    withdrawn: (deliveries) => one.withdrawn(deliveries),
    changed: (endpoint) => one.changed(endpoint),
    disabled(endpoint, reason) {
      one.disabled(endpoint, reason);
      other.disabled(endpoint, reason);
    },
  };
}
