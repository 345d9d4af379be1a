/** Reads of events, deliveries and attempts. The reader answers long lists. */
import type {
  Attempt,
  AttemptQuery,
  Caller,
  DeliveryQuery,
  DeliveryView,
  EndpointAttemptQuery,
  EventQuery,
  EventSummary,
  EventView,
  Names,
  Page,
  ReadStore,
  TenantQuery,
  TenantSummary,
} from "../../store.ts";
import type { Statement } from "better-sqlite3";
import type { WhyFacts } from "../../../domain/events/why.ts";
import type { Choices } from "../endpoints/choices.ts";
import type { Endpoints } from "../endpoints/endpoints.ts";
import type { Engine } from "../engine/engine.ts";
import type { Reader } from "../questions/questions.ts";
import type { Rows } from "./answers.ts";
import { AttemptLists } from "./attempt-lists.ts";
import { Why } from "./why.ts";

interface Parts extends Rows {
  readonly endpoints: Endpoints;
  readonly choices: Choices;
  readonly reader: Reader;
}

export class SqliteReads implements ReadStore {
  readonly #engine: Engine;
  readonly #parts: Parts;
  readonly #attempts: AttemptLists;
  readonly #why: Why;
  readonly #key: Statement<[string]>;

  constructor(engine: Engine, parts: Parts) {
    this.#engine = engine;
    this.#parts = parts;
    this.#attempts = new AttemptLists(engine.db, parts);
    this.#why = new Why(engine.db, parts);
    this.#key = engine.db.prepare("SELECT 1 FROM api_key WHERE tenant = ? AND portal IS NULL LIMIT 1");
  }

  async getEvent(tenant: string | null, id: string): Promise<EventView | null> {
    return this.#engine.read(() => this.#parts.events.get(tenant, id));
  }

  async whyFacts(
    tenant: string | null,
    event: string,
    endpoint: string,
  ): Promise<WhyFacts | "no_event" | "no_endpoint"> {
    return this.#engine.read(() => this.#why.facts(tenant, event, endpoint));
  }

  listEvents(query: EventQuery, caller?: Caller): Promise<Page<EventSummary>> {
    return this.#parts.reader.ask("listEvents", query, { caller });
  }

  listWholeEvents(query: EventQuery, caller?: Caller): Promise<Page<EventView>> {
    return this.#parts.reader.ask("listWholeEvents", query, { caller });
  }

  async getDelivery(tenant: string | null, id: string): Promise<DeliveryView | null> {
    const { deliveries } = this.#parts;
    return this.#engine.read(() => {
      const found = deliveries.find(tenant, id);
      return found === null ? null : deliveries.view(found.row, found.row);
    });
  }

  listDeliveries(query: DeliveryQuery, caller?: Caller): Promise<Page<DeliveryView>> {
    return this.#parts.reader.ask("listDeliveries", query, { caller });
  }

  async getAttempt(tenant: string | null, id: string): Promise<Attempt | null> {
    return this.#engine.read(() => this.#attempts.get(tenant, id));
  }

  listAttempts(query: AttemptQuery, caller?: Caller): Promise<Page<Attempt> | null> {
    return this.#parts.reader.ask("listAttempts", query, { caller });
  }

  listEndpointAttempts(query: EndpointAttemptQuery, caller?: Caller): Promise<Page<Attempt> | null> {
    return this.#parts.reader.ask("listEndpointAttempts", query, { caller });
  }

  async unknownName(
    tenant: string | null,
    { tenant: owner, type, endpoint, event }: Names,
  ): Promise<keyof Names | null> {
    const { tenants, types, endpoints, events } = this.#parts;
    return this.#engine.read(() => {
      if (owner !== undefined && tenants.find(owner) === undefined && this.#key.get(owner) === undefined)
        return "tenant";
      if (type !== undefined && types.find(type) === undefined) return "type";
      if (endpoint !== undefined) {
        const its = endpoints.tenantOf(endpoint);
        if (its === null || (tenant !== null && its !== tenant)) return "endpoint";
      }
      return event !== undefined && events.find(tenant, event) === null ? "event" : null;
    });
  }

  listTenants(query: TenantQuery, caller?: Caller): Promise<Page<TenantSummary>> {
    return this.#parts.reader.ask("listTenants", query, { caller });
  }
}
