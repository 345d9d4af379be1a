/** What may be asked of the store without changing it. */
import type { AuditRecord } from "../../../domain/audit.ts";
import type { Endpoint } from "../../../domain/endpoint.ts";
import type { ApiKey } from "../../../domain/key.ts";
import type {
  Attempt,
  AttemptQuery,
  AuditQuery,
  DeliveryQuery,
  DeliveryView,
  EndpointAttemptQuery,
  EndpointQuery,
  EventQuery,
  EventSummary,
  EventView,
  Names,
  Page,
  PageQuery,
} from "../../store.ts";
import type { AttemptLists } from "./attempt-lists.ts";
import type { Audit } from "../callers/audit.ts";
import type { Deliveries } from "../deliveries/deliveries.ts";
import type { Endpoints } from "../endpoints/endpoints.ts";
import type { Events } from "../events/events.ts";
import type { Interned } from "../numbers/interned.ts";
import type { Keys } from "../callers/keys.ts";
import { NOTHING, Pages, type PagesOptions, type Walk } from "../engine/page.ts";

interface Parts extends PagesOptions {
  readonly endpoints: Endpoints;
  readonly types: Interned;
  readonly events: Events;
  readonly deliveries: Deliveries;
  readonly attempts: AttemptLists;
  readonly keys: Keys;
  readonly audit: Audit;
}

export class Reads {
  readonly #parts: Parts;
  readonly #pages: Pages;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#pages = new Pages(parts);
  }

  async listEndpoints(query: EndpointQuery): Promise<Page<Endpoint>> {
    return (await this.#page(query, () => this.#parts.endpoints.list(query))) ?? NOTHING;
  }

  async getEvent(tenant: string | null, id: string): Promise<EventView | null> {
    return this.#parts.read(() => this.#parts.events.get(tenant, id));
  }

  async listEvents(query: EventQuery): Promise<Page<EventSummary>> {
    return (await this.#page(query, () => this.#parts.events.list(query))) ?? NOTHING;
  }

  async getDelivery(tenant: string | null, id: string): Promise<DeliveryView | null> {
    const { read, deliveries } = this.#parts;
    return read(() => {
      const found = deliveries.find(tenant, id);
      return found === null ? null : deliveries.view(found.row, found.row);
    });
  }

  async listDeliveries(query: DeliveryQuery): Promise<Page<DeliveryView>> {
    return (await this.#page(query, () => this.#parts.deliveries.list(query))) ?? NOTHING;
  }

  async getAttempt(tenant: string | null, id: string): Promise<Attempt | null> {
    return this.#parts.read(() => this.#parts.attempts.get(tenant, id));
  }

  async listAttempts(query: AttemptQuery): Promise<Page<Attempt> | null> {
    const { attempts, deliveries, events } = this.#parts;
    if ("event" in query) {
      return this.#page(query, () => {
        const event = events.find(query.tenant, query.event);
        return event === null ? null : attempts.ofEvent(event, query);
      });
    }
    return this.#page(query, () => {
      const delivery = deliveries.find(query.tenant, query.delivery);
      return delivery === null ? null : attempts.ofDelivery(delivery, query);
    });
  }

  async listEndpointAttempts(query: EndpointAttemptQuery): Promise<Page<Attempt> | null> {
    const { attempts, endpoints } = this.#parts;
    return this.#page(query, () => {
      const endpoint = endpoints.numberOf(query.tenant, query.endpoint);
      return endpoint === null ? null : attempts.ofEndpoint(endpoint, query);
    });
  }

  async unknownName(tenant: string | null, { type, endpoint, event }: Names): Promise<keyof Names | null> {
    const { read, types, endpoints, events } = this.#parts;
    return read(() => {
      if (type !== undefined && types.find(type) === undefined) return "type";
      if (endpoint !== undefined) {
        const owner = endpoints.tenantOf(endpoint);
        if (owner === null || (tenant !== null && owner !== tenant)) return "endpoint";
      }
      return event !== undefined && events.find(tenant, event) === null ? "event" : null;
    });
  }

  async listKeys(query: PageQuery): Promise<Page<ApiKey>> {
    const { read, keys } = this.#parts;
    return this.#pages.of(
      read(() => keys.list(query)),
      query,
    );
  }

  async listAudit(query: AuditQuery): Promise<Page<AuditRecord>> {
    const { read, audit } = this.#parts;
    return this.#pages.of(
      read(() => audit.list(query)),
      query,
    );
  }

  /** Null when there is nothing to walk. */
  async #page<Row, T>(query: PageQuery, walkOf: () => Walk<Row, T> | null): Promise<Page<T> | null> {
    const walk = this.#parts.read(walkOf);
    return walk === null ? null : this.#pages.of(walk, query);
  }
}
