/**
 * The facts about endpoints that every publish and attempt needs, kept in memory so that no event reads them from the
 * disk.
 */
import type { Database, Statement } from "better-sqlite3";
import type { AfterFailure, Ordering } from "../../../domain/deliveries/ordering.ts";
import { type WhenDisabled, whenDisabledOf } from "../../../domain/endpoints/endpoint.ts";
import { CompiledFilters } from "../../../domain/events/filter/compiled.ts";
import type { Filter } from "../../../domain/events/filter/filter.ts";
import { namesThatMatch } from "../../../domain/events/pattern.ts";
import { recipientsOf } from "../../../domain/events/routing.ts";
import type { Interned } from "./names.ts";

export interface EndpointEntry {
  readonly number: number;
  readonly id: string;
  readonly tenant: number;
  readonly enabled: boolean;
  readonly deleted: boolean;
  readonly whenDisabled: WhenDisabled;
  readonly ordering: Ordering;
  readonly afterFailure: AfterFailure;
  readonly filter: Filter | null;
  readonly secretVersion: number;
  /** Open deliveries of events up to this key count as cancelled. Null once a sweep has rewritten them all. */
  readonly cancelTo: number | null;
}

/** The recipients of one event type of one tenant. */
export interface Route {
  readonly tenant: number;
  readonly type: number;
  readonly recipients: readonly EndpointEntry[];
}

interface Row {
  readonly number: number;
  readonly id: string;
  readonly tenant: number;
  readonly enabled: number;
  readonly deleted_at: number | null;
  readonly when_disabled: WhenDisabled;
  readonly ordering: string;
  readonly after_failure: string;
  readonly filter: string | null;
  readonly secret_version: number;
  readonly cancel_to: number | null;
}

/** The number of tenants whose routes are cached. */
const MAX_TENANTS = 10_000;

const COLUMNS =
  "e.number, e.id, e.tenant, e.enabled, e.deleted_at, e.when_disabled, e.ordering, e.after_failure, e.filter, e.secret_version, e.cancel_to";

export class EndpointIndex {
  readonly #tenants: Interned;
  readonly #types: Interned;
  readonly #selectById: Statement<[string], Row>;
  readonly #selectByNumber: Statement<[number], Row>;
  readonly #selectRoute: Statement<[number, string], Row>;
  readonly #countRoute: Statement<[string, string], number>;
  readonly #filters = new CompiledFilters();
  readonly #byId = new Map<string, EndpointEntry>();
  readonly #byNumber = new Map<number, EndpointEntry>();
  /** Routes by tenant, then by type. */
  readonly #routes = new Map<string, Map<string, Route>>();

  constructor(db: Database, tenants: Interned, types: Interned) {
    this.#tenants = tenants;
    this.#types = types;
    this.#selectById = db.prepare(`SELECT ${COLUMNS} FROM endpoint e WHERE e.id = ?`);
    this.#selectByNumber = db.prepare(`SELECT ${COLUMNS} FROM endpoint e WHERE e.number = ?`);
    this.#selectRoute = db.prepare(
      `SELECT ${COLUMNS} FROM endpoint e
       WHERE e.number IN (SELECT endpoint FROM subscription WHERE tenant = ? AND type IN (SELECT value FROM json_each(?)))
         AND e.deleted_at IS NULL ORDER BY e.number`,
    );
    this.#countRoute = db
      .prepare<[string, string], number>(
        `SELECT count(DISTINCT s.endpoint) FROM subscription s JOIN endpoint e ON e.number = s.endpoint
         WHERE s.tenant = (SELECT num FROM tenant WHERE name = ?)
           AND s.type IN (SELECT num FROM event_type WHERE name IN (SELECT value FROM json_each(?)))
           AND e.deleted_at IS NULL`,
      )
      .pluck();
  }

  byId(id: string): EndpointEntry | undefined {
    return this.#byId.get(id) ?? this.#remember(this.#selectById.get(id));
  }

  byNumber(number: number): EndpointEntry {
    const entry = this.#byNumber.get(number) ?? this.#remember(this.#selectByNumber.get(number));
    if (entry === undefined) throw new Error(`no endpoint has the number ${number}`);
    return entry;
  }

  /** Finds deleted endpoints too. Returns null if the tenant never had such an endpoint. */
  numberOf(tenant: string | null, id: string): number | null {
    const entry = this.byId(id);
    if (entry === undefined || (tenant !== null && this.#tenants.name(entry.tenant) !== tenant)) return null;
    return entry.number;
  }

  /** Call it only inside a transaction, because the names may be new. */
  route(tenant: string, type: string): Route {
    let routes = this.#routes.get(tenant);
    if (routes === undefined) {
      if (this.#routes.size >= MAX_TENANTS) this.#routes.clear();
      this.#routes.set(tenant, (routes = new Map()));
    }
    let route = routes.get(type);
    if (route === undefined) routes.set(type, (route = this.#readRoute(tenant, type)));
    return route;
  }

  /**
   * Returns an approximate upper bound on the endpoints that an event could go to, before filters. May be called
   * outside a transaction.
   */
  about(tenant: string, type: string): number {
    const known = this.#routes.get(tenant)?.get(type);
    return known?.recipients.length ?? this.#countRoute.get(tenant, JSON.stringify(namesThatMatch(type)))!;
  }

  /** Called when the endpoint's row, or its choice of types, has changed. */
  changed(tenant: string, id: string): void {
    this.#routes.delete(tenant);
    const entry = this.#byId.get(id);
    if (entry === undefined) return;
    this.#byId.delete(id);
    this.#byNumber.delete(entry.number);
  }

  forget(): void {
    this.#byId.clear();
    this.#byNumber.clear();
    this.#routes.clear();
  }

  #readRoute(tenant: string, type: string): Route {
    const numbers = { tenant: this.#tenants.number(tenant), type: this.#types.number(type) };
    // A pattern that nobody has chosen has no number.
    const chosen = [...this.#types.findSome(namesThatMatch(type))];
    const rows = this.#selectRoute.all(numbers.tenant, JSON.stringify(chosen));
    const subscribers = rows.map((row) => this.#byNumber.get(row.number) ?? this.#remember(row)!);
    return { ...numbers, recipients: recipientsOf(subscribers) };
  }

  #remember(row: Row | undefined): EndpointEntry | undefined {
    if (row === undefined) return undefined;
    const entry: EndpointEntry = {
      number: row.number,
      id: row.id,
      tenant: row.tenant,
      enabled: row.enabled === 1,
      deleted: row.deleted_at !== null,
      whenDisabled: whenDisabledOf(row.when_disabled),
      ordering: row.ordering === "by_key" ? "by_key" : "none",
      afterFailure: row.after_failure === "hold" ? "hold" : "continue",
      filter: this.#filters.of(row.filter),
      secretVersion: row.secret_version,
      cancelTo: row.cancel_to,
    };
    this.#byId.set(entry.id, entry);
    this.#byNumber.set(entry.number, entry);
    return entry;
  }
}
