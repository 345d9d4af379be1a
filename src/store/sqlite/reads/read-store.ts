/** What may be asked of events and of what became of them, without changing it. */
import type { Database, Statement } from "better-sqlite3";
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
import type { Walk } from "../engine/page.ts";
import type { Events } from "../events/events.ts";
import type { Interned } from "../numbers/codes.ts";
import { AttemptLists } from "./attempt-lists.ts";

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

interface TenantRow {
  readonly num: number;
  readonly name: string;
}

/** Names that somebody has published or registered under. */
class Tenants {
  readonly #db: Database;
  readonly #endpoints: Statement<[number], number>;
  readonly #lists = new Map<string, Statement<unknown[], TenantRow>>();

  constructor(db: Database) {
    this.#db = db;
    this.#endpoints = db
      .prepare<[number], number>(
        "SELECT count(*) FROM endpoint INDEXED BY endpoint_tenant WHERE tenant = ? AND deleted_at IS NULL",
      )
      .pluck();
  }

  list(query: PageQuery): Walk<TenantRow, TenantSummary> {
    const statement = this.#listStatement(query.order);
    return {
      list: "tenants",
      start: [query.order === "oldest" ? 0 : Number.MAX_SAFE_INTEGER],
      rows: ([num], limit) => statement.all({ num, limit, tenant: query.tenant }),
      keysOf: ({ num }) => [num],
      look: ({ num, name }) => {
        const endpoints = this.#endpoints.get(num)!;
        return { item: { name, endpoints }, rows: endpoints };
      },
    };
  }

  #listStatement(order: PageQuery["order"]): Statement<unknown[], TenantRow> {
    let statement = this.#lists.get(order);
    if (statement === undefined) {
      const [beyond, direction] = order === "oldest" ? [">", "ASC"] : ["<", "DESC"];
      statement = this.#db.prepare<unknown[], TenantRow>(
        `SELECT num, name FROM tenant WHERE num ${beyond} @num AND (@tenant IS NULL OR name = @tenant)
         ORDER BY num ${direction} LIMIT @limit`,
      );
      this.#lists.set(order, statement);
    }
    return statement;
  }
}
