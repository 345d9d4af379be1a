/** The verb that publishes: `../../publish.ts`. */
import { WebhookdError } from "../../../domain/errors.ts";
import type { EventDraft } from "../../../domain/event.ts";
import type { Once } from "../../../domain/idempotency.ts";
import type { HasRoom, Publication } from "../../store.ts";
import type { Condition } from "../engine/condition.ts";
import type { Doors } from "../engine/doors.ts";
import type { EndpointIndex } from "../numbers/endpoint-index.ts";
import type { Publish } from "./publish.ts";
import type { Statistics } from "../statistics/statistics.ts";

interface Parts extends Doors {
  readonly condition: Condition;
  readonly index: EndpointIndex;
  readonly publish: Publish;
  readonly statistics: Statistics;
}

/** Deliveries that one publish may make: they are one transaction, and everybody else's commit waits for it. */
const MAX_FAN_OUT = 20_000;

export class PublishVerbs {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  async publish(
    drafts: readonly EventDraft[],
    now: number,
    hasRoom: HasRoom,
    once?: Once<readonly Publication[]>,
  ): Promise<Publication[]> {
    this.#parts.condition.requireSpace();
    const deliveries = this.#parts.read(() =>
      drafts.reduce((sum, { tenant, type }) => sum + this.#parts.index.fanOut(tenant, type), 0),
    );
    if (deliveries > MAX_FAN_OUT) throw fanOutTooLarge(deliveries);
    const size = { events: drafts.length, deliveries };
    const publications = await this.#parts.once(
      once,
      now,
      () => this.#parts.publish.publish(drafts, now, hasRoom),
      size,
    );
    this.#parts.statistics.notePublished(drafts, publications);
    return publications;
  }
}

function fanOutTooLarge(deliveries: number): WebhookdError {
  const detail = `these events would make ${deliveries} deliveries, at most ${MAX_FAN_OUT} fit into one publish; send smaller batches`;
  return new WebhookdError("validation_failed", detail, {
    errors: [{ pointer: "/events", code: "fan_out_too_large", detail }],
  });
}
