/** Endpoints: their rows, and their secrets sealed. */
import type { Database, Statement } from "better-sqlite3";
import { ALERT_TENANT } from "../../domain/alert.ts";
import type { DisabledReason, Endpoint, EndpointSettings, NewEndpoint, Target } from "../../domain/endpoint.ts";
import { WebhookdError } from "../../domain/errors.ts";
import type { ChangeSettings, EndpointQuery, TypeInUse } from "../store.ts";
import type { Box } from "./box.ts";
import type { EndpointIndex } from "./endpoint-index.ts";
import type { Interned } from "./interned.ts";
import type { Walk } from "./page.ts";
import { nextSecretPlace, secretPlace } from "./rotation.ts";

interface Row {
  readonly number: number;
  readonly id: string;
  readonly tenant: number;
  readonly uid: string | null;
  readonly url: string;
  readonly events: string;
  readonly description: string;
  readonly enabled: number;
  readonly disabled_reason: DisabledReason | null;
  readonly when_disabled: "hold" | "skip";
  readonly header_names: string;
  readonly headers: string | null;
  readonly secret: string | null;
  readonly secret_version: number;
  readonly next_secret: string | null;
  readonly rate_per_second: number | null;
  readonly max_in_flight: number | null;
  readonly metadata: string;
  readonly created_at: number;
  readonly updated_at: number;
  readonly cancel_to: number | null;
}

/** Endpoints that are named where a type is still in use. */
const NAMED = 3;

const INSERT = `INSERT INTO endpoint
  (id, tenant, uid, url, events, description, enabled, when_disabled, header_names, headers, secret,
   rate_per_second, max_in_flight, metadata, created_at, updated_at)
  VALUES (@id, @tenant, @uid, @url, @events, @description, @enabled, @when_disabled, @header_names, @headers, @secret,
   @rate_per_second, @max_in_flight, @metadata, @now, @now)`;

interface Updated {
  readonly endpoint: Endpoint;
  /** It was disabled before. */
  readonly resumed: boolean;
}

const UPDATE = `UPDATE endpoint SET
  uid = @uid, url = @url, events = @events, description = @description, enabled = @enabled,
  disabled_reason = @disabled_reason, when_disabled = @when_disabled, header_names = @header_names, headers = @headers,
  rate_per_second = @rate_per_second, max_in_flight = @max_in_flight, metadata = @metadata, cancel_to = @cancel_to,
  updated_at = @now
  WHERE number = @number`;

export class Endpoints {
  readonly #db: Database;
  readonly #tenants: Interned;
  readonly #types: Interned;
  readonly #index: EndpointIndex;
  readonly #box: Box;
  readonly #insert: Statement<[Record<string, unknown>]>;
  readonly #update: Statement<[Record<string, unknown>]>;
  readonly #subscribe: Statement<[number, number, number]>;
  readonly #unsubscribe: Statement<[number]>;
  readonly #count: Statement<[number], number>;
  readonly #selectUid: Statement<[string, number], string>;
  readonly #select: Statement<[string], Row>;
  readonly #selectEver: Statement<[string], Pick<Row, "number" | "tenant">>;
  readonly #lastEvent: Statement<[], number | null>;
  readonly #disable: Statement<[string, number, number]>;
  readonly #softDelete: Statement<[number, number]>;
  readonly #lists = new Map<string, Statement<unknown[], Row>>();

  constructor(db: Database, parts: { tenants: Interned; types: Interned; index: EndpointIndex; box: Box }) {
    this.#db = db;
    this.#tenants = parts.tenants;
    this.#types = parts.types;
    this.#index = parts.index;
    this.#box = parts.box;
    this.#insert = db.prepare(INSERT);
    this.#update = db.prepare(UPDATE);
    this.#subscribe = db.prepare("INSERT INTO subscription (tenant, type, endpoint) VALUES (?, ?, ?)");
    this.#unsubscribe = db.prepare("DELETE FROM subscription WHERE endpoint = ?");
    this.#count = db
      .prepare<[number], number>("SELECT count(*) FROM endpoint WHERE tenant = ? AND deleted_at IS NULL")
      .pluck();
    this.#selectUid = db
      .prepare<[string, number], string>("SELECT id FROM endpoint WHERE uid = ? AND tenant = ? AND deleted_at IS NULL")
      .pluck();
    this.#select = db.prepare("SELECT * FROM endpoint WHERE id = ? AND deleted_at IS NULL");
    this.#selectEver = db.prepare("SELECT number, tenant FROM endpoint WHERE id = ?");
    this.#lastEvent = db.prepare<[], number | null>("SELECT max(key) FROM event").pluck();
    this.#disable = db.prepare("UPDATE endpoint SET enabled = 0, disabled_reason = ?, updated_at = ? WHERE number = ?");
    this.#softDelete = db.prepare(
      `UPDATE endpoint SET deleted_at = ?, cancel_to = ${Number.MAX_SAFE_INTEGER}, headers = NULL, secret = NULL, next_secret = NULL,
       switches_at = NULL WHERE number = ?`,
    );
  }

  /** A refusal is answered, not thrown: it must not undo the work of others in the transaction. */
  add(endpoint: NewEndpoint, maxPerTenant: number, now: number): Endpoint | WebhookdError {
    const tenant = this.#tenants.number(endpoint.tenant);
    if (this.#count.get(tenant)! >= maxPerTenant) {
      return new WebhookdError("endpoint_limit", `the tenant has ${maxPerTenant} endpoints already`);
    }
    const taken = this.#otherOfUid(endpoint.uid, tenant, endpoint.id);
    if (taken !== null) return taken;
    const { lastInsertRowid } = this.#insert.run({
      ...this.#columnsOf(endpoint.id, endpoint),
      id: endpoint.id,
      tenant,
      secret: this.#box.seal(endpoint.signingSecret, secretPlace(endpoint.id)),
      now,
    });
    this.#subscribeTo(endpoint.events, tenant, Number(lastInsertRowid));
    this.#index.changed(endpoint.tenant, endpoint.id);
    return this.#view(this.#select.get(endpoint.id)!);
  }

  /** As `add` answers a refusal. Null when there is no such endpoint. */
  update(
    tenant: string | null,
    id: string,
    change: ChangeSettings,
    held: "release" | "cancel",
    now: number,
  ): Updated | WebhookdError | null {
    const row = this.#select.get(id);
    if (row === undefined || !this.#isOf(tenant, row)) return null;
    const changed = attempt(() => change(this.#settings(row)));
    if (changed instanceof WebhookdError) return changed;
    const taken = this.#otherOfUid(changed.uid, row.tenant, id);
    if (taken !== null) return taken;
    const enabled = row.enabled === 1;
    const resumed = changed.enabled && !enabled;
    const disabled_reason = changed.enabled === enabled ? row.disabled_reason : null;
    const cancel_to = resumed && held === "cancel" ? this.#lastEvent.get()! : row.cancel_to;
    this.#update.run({ ...this.#columnsOf(id, changed), disabled_reason, cancel_to, number: row.number, now });
    this.#unsubscribe.run(row.number);
    this.#subscribeTo(changed.events, row.tenant, row.number);
    this.#index.changed(this.#tenants.name(row.tenant), id);
    return { endpoint: this.#view(this.#select.get(id)!), resumed };
  }

  disable(id: string, url: string, reason: DisabledReason, now: number): boolean {
    const row = this.#select.get(id);
    if (row === undefined || row.enabled === 0 || row.url !== url) return false;
    this.#disable.run(reason, now, row.number);
    this.#index.changed(this.#tenants.name(row.tenant), id);
    return true;
  }

  get(tenant: string | null, id: string): Endpoint | null {
    const row = this.#select.get(id);
    return row === undefined || !this.#isOf(tenant, row) ? null : this.#view(row);
  }

  tenantOf(id: string): string | null {
    const row = this.#selectEver.get(id);
    return row === undefined ? null : this.#tenants.name(row.tenant);
  }

  /** Of a deleted one too: its history stays. */
  numberOf(tenant: string | null, id: string): number | null {
    const row = this.#selectEver.get(id);
    return row === undefined || !this.#isOf(tenant, row) ? null : row.number;
  }

  /** Null when there is no such tenant. */
  list(query: EndpointQuery): Walk<Row, Endpoint> | null {
    const tenant = query.tenant === null ? null : this.#tenants.find(query.tenant);
    if (tenant === undefined) return null;
    const statement = this.#listStatement(query);
    const uid = query.uid ?? null;
    return {
      list: "endpoints",
      start: [query.order === "oldest" ? 0 : Number.MAX_SAFE_INTEGER],
      rows: ([key], limit) => statement.all({ key, limit, tenant, uid }),
      keysOf: (row) => [row.number],
      look: (row) => {
        const endpoint = this.#view(row);
        const wanted =
          this.#isOf(query.tenant, row) &&
          (query.enabled === undefined || query.enabled === endpoint.enabled) &&
          (query.url === undefined || query.url === endpoint.url) &&
          (query.eventType === undefined || endpoint.events.includes(query.eventType));
        return { item: wanted ? endpoint : null, rows: 0 };
      },
    };
  }

  /** Makes it as if it were not there, but for its history; its number, or null when there is no such endpoint. */
  softDelete(tenant: string | null, id: string, now: number): number | null {
    const row = this.#select.get(id);
    if (row === undefined || !this.#isOf(tenant, row)) return null;
    this.#softDelete.run(now, row.number);
    this.#unsubscribe.run(row.number);
    this.#index.changed(this.#tenants.name(row.tenant), id);
    return row.number;
  }

  /** Looks through all subscriptions, but only for a type that was removed from the configuration. */
  typesInUse(known: readonly string[]): TypeInUse[] {
    const names = this.#db.prepare<[], string>("SELECT name FROM event_type ORDER BY name").pluck().all();
    const chosenBy = this.#db
      .prepare<[string], string>(
        `SELECT e.id FROM subscription s JOIN endpoint e ON e.number = s.endpoint
         WHERE s.type = (SELECT num FROM event_type WHERE name = ?) AND e.deleted_at IS NULL ORDER BY e.number`,
      )
      .pluck();
    return names
      .filter((name) => !known.includes(name))
      .map((type) => ({ type, ids: chosenBy.all(type) }))
      .filter(({ ids }) => ids.length > 0)
      .map(({ type, ids }) => ({ type, endpoints: ids.length, some: ids.slice(0, NAMED) }));
  }

  target(id: string): Target | null {
    const row = this.#select.get(id);
    if (row === undefined) return null;
    return {
      endpoint: row.id,
      tenant: this.#tenants.name(row.tenant),
      url: row.url,
      enabled: row.enabled === 1,
      headers: this.#headers(row),
      signingSecret: this.#box.open(row.secret!, secretPlace(row.id)),
      secretVersion: row.secret_version,
      nextSigningSecret: row.next_secret === null ? null : this.#box.open(row.next_secret, nextSecretPlace(row.id)),
      ratePerSecond: row.rate_per_second,
      maxInFlight: row.max_in_flight,
    };
  }

  #listStatement(query: EndpointQuery): Statement<unknown[], Row> {
    const oldest = query.order === "oldest";
    const sql = `SELECT * FROM endpoint WHERE number ${oldest ? ">" : "<"} @key AND deleted_at IS NULL
      ${query.tenant === null ? "" : "AND tenant = @tenant"} ${query.uid === undefined ? "" : "AND uid = @uid"}
      ORDER BY number ${oldest ? "ASC" : "DESC"} LIMIT @limit`;
    let statement = this.#lists.get(sql);
    if (statement === undefined) this.#lists.set(sql, (statement = this.#db.prepare<unknown[], Row>(sql)));
    return statement;
  }

  #columnsOf(id: string, settings: EndpointSettings): Record<string, unknown> {
    return {
      uid: settings.uid,
      url: settings.url,
      events: JSON.stringify(settings.events),
      description: settings.description,
      enabled: settings.enabled ? 1 : 0,
      when_disabled: settings.whenDisabled,
      header_names: JSON.stringify(Object.keys(settings.headers)),
      headers: this.#box.seal(JSON.stringify(settings.headers), `${id}:headers`),
      rate_per_second: settings.ratePerSecond,
      max_in_flight: settings.maxInFlight,
      metadata: JSON.stringify(settings.metadata),
    };
  }

  #subscribeTo(events: readonly string[], tenant: number, endpoint: number): void {
    for (const type of events) this.#subscribe.run(tenant, this.#types.number(type), endpoint);
  }

  #otherOfUid(uid: string | null, tenant: number, id: string): WebhookdError | null {
    const owner = uid === null ? undefined : this.#selectUid.get(uid, tenant);
    if (owner === undefined || owner === id) return null;
    return new WebhookdError("already_created", `the uid belongs to endpoint ${owner}`);
  }

  #headers(row: Row): Record<string, string> {
    return JSON.parse(this.#box.open(row.headers!, `${row.id}:headers`)) as Record<string, string>;
  }

  #settings(row: Row): EndpointSettings {
    return { ...this.#view(row), headers: this.#headers(row) };
  }

  /** The daemon's own endpoint is found by its tenant's name alone. */
  #isOf(tenant: string | null, row: Pick<Row, "tenant">): boolean {
    const owner = this.#tenants.name(row.tenant);
    return tenant === null ? owner !== ALERT_TENANT : owner === tenant;
  }

  #view(row: Row): Endpoint {
    return {
      id: row.id,
      tenant: this.#tenants.name(row.tenant),
      uid: row.uid,
      url: row.url,
      events: JSON.parse(row.events) as string[],
      description: row.description,
      enabled: row.enabled === 1,
      disabledReason: row.disabled_reason,
      whenDisabled: row.when_disabled,
      headerNames: JSON.parse(row.header_names) as string[],
      ratePerSecond: row.rate_per_second,
      maxInFlight: row.max_in_flight,
      metadata: JSON.parse(row.metadata) as Record<string, unknown>,
      createdAt: row.created_at,
      updatedAt: row.updated_at,
    };
  }
}

/** A refusal as a value; anything else that is thrown is a bug. */
function attempt<T>(run: () => T): T | WebhookdError {
  try {
    return run();
  } catch (error) {
    if (error instanceof WebhookdError) return error;
    throw error;
  }
}
