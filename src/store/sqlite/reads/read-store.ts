/** What may be asked of events and of what became of them, without changing it. */
import type {
  Attempt,
  AttemptQuery,
  DeliveryQuery,
  DeliveryView,
  EndpointAttemptQuery,
  EventQuery,
  EventSummary,
  EventView,
  Names,
  Page,
  PageQuery,
  ReadStore,
  TenantSummary,
} from "../../store.ts";
import type { Attempts } from "../attempts/attempts.ts";
import type { Deliveries } from "../deliveries/deliveries.ts";
import type { Endpoints } from "../endpoints/endpoints.ts";
import type { Engine } from "../engine/engine.ts";
import type { Events } from "../events/events.ts";
import type { Interned } from "../numbers/interned.ts";
import { AttemptLists } from "./attempt-lists.ts";
import { Tenants } from "./tenants.ts";

interface Parts {
  readonly endpoints: Endpoints;
  readonly types: Interned;
  readonly events: Events;
  readonly deliveries: Deliveries;
  readonly attempts: Attempts;
}

export class SqliteReads implements ReadStore {
  readonly #engine: Engine;
  readonly #parts: Parts;
  readonly #attempts: AttemptLists;
  readonly #tenants: Tenants;

  constructor(engine: Engine, parts: Parts) {
    this.#engine = engine;
    this.#parts = parts;
    this.#attempts = new AttemptLists(engine.db, parts);
    this.#tenants = new Tenants(engine.db);
  }

  async getEvent(tenant: string | null, id: string): Promise<EventView | null> {
    return this.#engine.read(() => this.#parts.events.get(tenant, id));
  }

  async listEvents(query: EventQuery): Promise<Page<EventSummary>> {
    return this.#engine.pages.ofAny(() => this.#parts.events.list(query), query);
  }

  async getDelivery(tenant: string | null, id: string): Promise<DeliveryView | null> {
    const { deliveries } = this.#parts;
    return this.#engine.read(() => {
      const found = deliveries.find(tenant, id);
      return found === null ? null : deliveries.view(found.row, found.row);
    });
  }

  async listDeliveries(query: DeliveryQuery): Promise<Page<DeliveryView>> {
    return this.#engine.pages.ofAny(() => this.#parts.deliveries.list(query), query);
  }

  async getAttempt(tenant: string | null, id: string): Promise<Attempt | null> {
    return this.#engine.read(() => this.#attempts.get(tenant, id));
  }

  async listAttempts(query: AttemptQuery): Promise<Page<Attempt> | null> {
    const { deliveries, events } = this.#parts;
    if ("event" in query) {
      return this.#engine.pages.ofSome(() => {
        const event = events.find(query.tenant, query.event);
        return event === null ? null : this.#attempts.ofEvent(event, query);
      }, query);
    }
    return this.#engine.pages.ofSome(() => {
      const delivery = deliveries.find(query.tenant, query.delivery);
      return delivery === null ? null : this.#attempts.ofDelivery(delivery, query);
    }, query);
  }

  async listEndpointAttempts(query: EndpointAttemptQuery): Promise<Page<Attempt> | null> {
    const { endpoints } = this.#parts;
    return this.#engine.pages.ofSome(() => {
      const endpoint = endpoints.numberOf(query.tenant, query.endpoint);
      return endpoint === null ? null : this.#attempts.ofEndpoint(endpoint, query);
    }, query);
  }

  async unknownName(tenant: string | null, { type, endpoint, event }: Names): Promise<keyof Names | null> {
    const { types, endpoints, events } = this.#parts;
    return this.#engine.read(() => {
      if (type !== undefined && types.find(type) === undefined) return "type";
      if (endpoint !== undefined) {
        const owner = endpoints.tenantOf(endpoint);
        if (owner === null || (tenant !== null && owner !== tenant)) return "endpoint";
      }
      return event !== undefined && events.find(tenant, event) === null ? "event" : null;
    });
  }

  async listTenants(query: PageQuery): Promise<Page<TenantSummary>> {
    return this.#engine.pages.ofAny(() => this.#tenants.list(query), query);
  }
}
