/** The verbs that take an event or a delivery into one's own hands: `../../manual.ts`. */
import type { Claim } from "../../../domain/delivery.ts";
import type { Once } from "../../../domain/idempotency.ts";
import type { AttemptRequest, EventDelivery, Replay as Replayed, ReplayScope, Withdrawal } from "../../store.ts";
import type { Deliveries } from "../deliveries/deliveries.ts";
import type { Doors } from "../engine/doors.ts";
import type { EndpointIndex } from "../numbers/endpoint-index.ts";
import type { Events } from "./events.ts";
import type { Jobs } from "../jobs/jobs.ts";
import type { Manual } from "../claims/manual.ts";
import type { Replay } from "./replay.ts";
import type { Withdraw } from "./withdraw.ts";

interface Parts extends Doors {
  readonly index: EndpointIndex;
  readonly events: Events;
  readonly deliveries: Deliveries;
  readonly replay: Replay;
  readonly manual: Manual;
  readonly withdraw: Withdraw;
  readonly jobs: Pick<Jobs, "paced">;
}

export class ManualVerbs {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  async replay(
    tenant: string | null,
    event: string,
    scope: ReplayScope,
    now: number,
    once?: Once<Replayed>,
  ): Promise<Replayed> {
    return this.#parts.once(once, now, () => {
      const found = this.#parts.events.find(tenant, event);
      return found === null ? { result: "not_found" } : this.#parts.replay.replay(found, scope, now);
    });
  }

  async requestAttempt(
    tenant: string | null,
    delivery: string,
    now: number,
    once?: Once<AttemptRequest>,
  ): Promise<AttemptRequest> {
    return this.#parts.once(once, now, () => {
      const found = this.#parts.deliveries.find(tenant, delivery);
      return found === null ? { result: "not_found" } : this.#parts.manual.request(found);
    });
  }

  async requestedAttempt(delivery: string): Promise<Claim | null> {
    return this.#parts.read(() => {
      const claim = this.#parts.manual.claimOfId(delivery);
      return claim && this.#parts.jobs.paced(claim);
    });
  }

  async requestedAttempts(after: EventDelivery | null, limit: number): Promise<EventDelivery[]> {
    return this.#parts.read(() => this.#parts.manual.page(after, limit));
  }

  async cancelEvent(tenant: string | null, event: string, endpoint: string | null): Promise<Withdrawal> {
    const found = this.#parts.read(() => this.#parts.events.find(tenant, event));
    if (found === null) return { result: "not_found" };
    const only = endpoint === null ? null : (this.#parts.read(() => this.#parts.index.byId(endpoint)?.number) ?? -1);
    return this.#parts.withdraw.cancel(found, only);
  }

  async eraseEvent(tenant: string | null, event: string): Promise<Withdrawal> {
    const found = this.#parts.read(() => this.#parts.events.find(tenant, event));
    return found === null ? { result: "not_found" } : this.#parts.withdraw.erase(found);
  }
}
