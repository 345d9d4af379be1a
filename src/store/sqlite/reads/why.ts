/** Reads the facts that tell why an event arrived at an endpoint, or did not. */
import type { Database, Statement } from "better-sqlite3";
import { AHEAD_LIMIT, type WhyDelivery, type WhyFacts } from "../../../domain/events/why.ts";
import { whyDelivery } from "../../rows/delivery-row.ts";
import { WAITING } from "../../rows/codes.ts";
import type { DeliveryRow } from "../../rows/delivery-row.ts";
import type { Choices } from "../endpoints/choices.ts";
import type { Endpoints } from "../endpoints/endpoints.ts";
import type { FoundEvent } from "../events/events.ts";
import type { Rows } from "./answers.ts";

interface Parts extends Rows {
  readonly endpoints: Endpoints;
  readonly choices: Choices;
}

interface EndpointRow {
  readonly number: number;
  readonly deleted_at: number | null;
}

export class Why {
  readonly #parts: Parts;
  readonly #endpoint: Statement<[string], EndpointRow>;
  readonly #ahead: Statement<[number, number, number], number>;

  constructor(db: Database, parts: Parts) {
    this.#parts = parts;
    this.#endpoint = db.prepare("SELECT number, deleted_at FROM endpoint WHERE id = ?");
    this.#ahead = db
      .prepare<[number, number, number], number>(
        `SELECT count(*) FROM (SELECT 1 FROM delivery INDEXED BY delivery_waiting
           WHERE status = ${WAITING} AND endpoint = ? AND (due_at, event) < (?, ?) LIMIT ${AHEAD_LIMIT})`,
      )
      .pluck();
  }

  facts(tenant: string | null, eventId: string, endpointId: string): WhyFacts | "no_event" | "no_endpoint" {
    const { choices, deliveries, endpoints, events, labels, tenants, types } = this.#parts;
    const event = events.find(tenant, eventId);
    if (event === null) return "no_event";
    const owner = endpoints.tenantOf(endpointId);
    const endpoint = this.#endpoint.get(endpointId);
    if (owner === null || endpoint === undefined || (tenant !== null && owner !== tenant)) return "no_endpoint";
    const { row } = event;
    const [delivery] = deliveries.of(event.key, endpoint.number);
    return {
      event: {
        type: types.name(row.type),
        tenant: tenants.name(row.tenant),
        receivedAt: events.receivedAt(event),
        test: event.test,
        data: events.dataOf(event),
        tags: labels.of(event.key).tags,
        erasedAt: row.erased_at,
      },
      endpoint: { tenant: owner, deletedAt: endpoint.deleted_at },
      decidedBy: choices.at(endpoint.number, row.choice),
      delivery: delivery === undefined ? null : this.#delivery(delivery, event),
    };
  }

  #delivery(row: DeliveryRow, { id, row: event }: FoundEvent): WhyDelivery {
    const { attempts, deliveries } = this.#parts;
    const view = deliveries.view(row, event);
    const isOther = view.status === "delivered" && view.lastAttempt?.outcome !== "succeeded";
    const success = isOther ? attempts.lastSuccessOf(id, row.event, row.endpoint) : null;
    const waits = view.status === "pending" && row.status === WAITING;
    const ahead = waits ? this.#ahead.get(row.endpoint, row.due_at!, row.event)! : null;
    return whyDelivery(view, success, ahead);
  }
}
