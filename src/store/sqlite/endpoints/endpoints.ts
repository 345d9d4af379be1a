/** The rows of endpoints, with their sealed secrets. */
import type { Database, Statement } from "better-sqlite3";
import { ALERT_TENANT } from "../../../domain/alert.ts";
import type {
  DamagedTarget,
  DisabledReason,
  Endpoint,
  EndpointSettings,
  NewEndpoint,
  Target,
} from "../../../domain/endpoints/endpoint.ts";
import type { ExpiringCertificate } from "../../../domain/endpoints/auth.ts";
import { WebhookdError } from "../../../domain/errors.ts";
import { isPattern } from "../../../domain/events/pattern.ts";
import type { ChangeSettings, EndpointQuery, TypeInUse } from "../../store.ts";
import type { EndpointIndex } from "../numbers/endpoint-index.ts";
import { type Walk, walkOf } from "../engine/page.ts";
import { Statements } from "../engine/statements.ts";
import { endpointList, type StoredStreak } from "../../lists/endpoints.ts";
import type { Box } from "../../rows/box.ts";
import type { Interned } from "../numbers/names.ts";
import { columnsOf, readRow, secretPlace, targetOf, type EndpointRow, type ReadRow } from "../../rows/endpoint-row.ts";
import { SET } from "../../rows/endpoint-row.ts";
import { KEYS } from "../../rows/signing-key-row.ts";
import type { Choices } from "./choices.ts";
import type { FirstKeys } from "./first-keys.ts";
import type { TypeRows } from "./types.ts";

/** The number of endpoints to name if a type is still in use. */
const NAMED = 3;

interface Updated {
  readonly endpoint: Endpoint;
  /** True if it was disabled before. */
  readonly resumed: boolean;
}

const INSERT = `INSERT INTO endpoint (id, tenant, secret, created_at, updated_at, ${SET.join(", ")})
  VALUES (@id, @tenant, @secret, @now, @now, ${SET.map((column) => `@${column}`).join(", ")})`;

const UPDATE = `UPDATE endpoint SET ${SET.map((column) => `${column} = @${column}`).join(", ")},
  disabled_reason = @disabled_reason, cancel_to = @cancel_to, updated_at = @now
  WHERE number = @number`;

/** An endpoint, and the settings that it may have from now on. */
interface Judged {
  readonly row: EndpointRow;
  readonly endpoint: Endpoint;
  readonly after: EndpointSettings;
}

interface Parts {
  readonly tenants: Interned;
  readonly types: Interned;
  readonly typeRows: TypeRows;
  readonly index: EndpointIndex;
  readonly box: Box;
  readonly firstKeys: FirstKeys;
  readonly choices: Choices;
}

interface ListedRow extends EndpointRow, StoredStreak {
  readonly place: number | null;
}

export class Endpoints {
  readonly #db: Database;
  readonly #tenants: Interned;
  readonly #types: Interned;
  readonly #typeRows: TypeRows;
  readonly #index: EndpointIndex;
  readonly #box: Box;
  readonly #firstKeys: FirstKeys;
  readonly #choices: Choices;
  readonly #insert: Statement<[Record<string, unknown>]>;
  readonly #update: Statement<[Record<string, unknown>]>;
  readonly #subscribe: Statement<[number, number, number]>;
  readonly #unsubscribe: Statement<[number]>;
  readonly #count: Statement<[number], number>;
  readonly #selectUid: Statement<[string, number], string>;
  readonly #select: Statement<[string], EndpointRow>;
  readonly #selectEver: Statement<[string], Pick<EndpointRow, "number" | "tenant">>;
  readonly #lastEvent: Statement<[], number | null>;
  readonly #disable: Statement<[string, number, number]>;
  readonly #softDelete: Statement<[number, number]>;
  readonly #leaveUrl: Statement<[string]>;
  readonly #expiring: Statement<[number, number], Omit<ExpiringCertificate, "tenant"> & Pick<EndpointRow, "tenant">>;
  readonly #lists: Statements;

  constructor(db: Database, parts: Parts) {
    this.#db = db;
    this.#lists = new Statements(db);
    this.#tenants = parts.tenants;
    this.#types = parts.types;
    this.#typeRows = parts.typeRows;
    this.#index = parts.index;
    this.#box = parts.box;
    this.#firstKeys = parts.firstKeys;
    this.#choices = parts.choices;
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
    this.#select = db.prepare(`SELECT e.*, ${KEYS} FROM endpoint e WHERE e.id = ? AND e.deleted_at IS NULL`);
    this.#selectEver = db.prepare("SELECT number, tenant FROM endpoint WHERE id = ?");
    this.#lastEvent = db.prepare<[], number | null>("SELECT max(key) FROM event").pluck();
    this.#disable = db.prepare("UPDATE endpoint SET enabled = 0, disabled_reason = ?, updated_at = ? WHERE number = ?");
    this.#leaveUrl = db.prepare("UPDATE url SET left_at = (SELECT coalesce(max(key), 0) FROM event) WHERE name = ?");
    this.#expiring = db.prepare(
      `SELECT id AS endpoint, tenant, url, certificate_until AS notAfter FROM endpoint
       WHERE certificate_until < ? ORDER BY certificate_until, number LIMIT ?`,
    );
    this.#softDelete = db.prepare(
      `UPDATE endpoint SET deleted_at = ?, cancel_to = ${Number.MAX_SAFE_INTEGER}, headers = NULL, auth = NULL, certificate_until = NULL, secret = NULL, next_secret = NULL,
       switches_at = NULL WHERE number = ?`,
    );
  }

  /** Returns a refusal instead of throwing it, because that would undo the work of others in the transaction. */
  add(endpoint: NewEndpoint, maxPerTenant: number, now: number): Endpoint | WebhookdError {
    const refused = this.refusalOf(endpoint, maxPerTenant);
    if (refused !== null) return refused;
    const tenant = this.#tenants.number(endpoint.tenant);
    this.#firstKeys.makeFor(endpoint, endpoint.tenant);
    const { lastInsertRowid } = this.#insert.run({
      ...columnsOf(endpoint.id, endpoint, this.#box),
      id: endpoint.id,
      tenant,
      secret: this.#box.seal(endpoint.signingSecret, secretPlace(endpoint.id)),
      now,
    });
    this.#subscribeTo(endpoint.events, tenant, Number(lastInsertRowid));
    this.#choices.note(Number(lastInsertRowid), "registered", now);
    this.#index.changed(endpoint.tenant, endpoint.id);
    return this.#view(this.#select.get(endpoint.id)!);
  }

  /** Returns null if the endpoint may be added. */
  refusalOf({ id, tenant, uid, events }: NewEndpoint, maxPerTenant: number): WebhookdError | null {
    const number = this.#tenants.find(tenant);
    const count = number === undefined ? 0 : this.#count.get(number)!;
    if (count >= maxPerTenant) {
      return new WebhookdError("endpoint_limit", `the tenant has ${maxPerTenant} endpoints already`);
    }
    return this.#otherOfUid(uid, number, id) ?? this.#typeRows.deletedFault(events);
  }

  /** Returns a refusal like `add`, or null if there is no such endpoint. */
  update(
    tenant: string | null,
    id: string,
    change: ChangeSettings,
    held: "release" | "cancel",
    now: number,
  ): Updated | WebhookdError | null {
    const judged = this.judge(tenant, id, change);
    if (judged === null || judged instanceof WebhookdError) return judged;
    const { row, endpoint, after: changed } = judged;
    this.#firstKeys.makeFor(changed, this.#tenants.name(row.tenant));
    const enabled = row.enabled === 1;
    const resumed = changed.enabled && !enabled;
    const disabled_reason = changed.enabled === enabled ? endpoint.disabledReason : null;
    const cancel_to = resumed && held === "cancel" ? this.#lastEvent.get()! : row.cancel_to;
    this.#update.run({ ...columnsOf(id, changed, this.#box), disabled_reason, cancel_to, number: row.number, now });
    if (changed.url !== row.url) this.#leaveUrl.run(row.url);
    this.#unsubscribe.run(row.number);
    this.#subscribeTo(changed.events, row.tenant, row.number);
    this.#choices.note(row.number, "changed", now);
    this.#changed(row);
    return { endpoint: this.#view(this.#select.get(id)!), resumed };
  }

  /** Returns what `update` would write, or why it would not. */
  judge(tenant: string | null, id: string, change: ChangeSettings): Judged | WebhookdError | null {
    const row = this.#select.get(id);
    if (row === undefined || !this.#isOf(tenant, row)) return null;
    const { endpoint, headers, auth } = this.#read(row);
    const after = attempt(() => change({ ...endpoint, headers, auth }, endpoint));
    if (after instanceof WebhookdError) return after;
    const refused = this.#otherOfUid(after.uid, row.tenant, id) ?? this.#typeRows.deletedFault(after.events);
    return refused ?? { row, endpoint, after };
  }

  disable(id: string, url: string, reason: DisabledReason, now: number): boolean {
    const row = this.#select.get(id);
    if (row === undefined || row.enabled === 0 || row.url !== url) return false;
    this.#disable.run(reason, now, row.number);
    this.#choices.note(row.number, "changed", now);
    this.#changed(row);
    return true;
  }

  get(tenant: string | null, id: string): Endpoint | null {
    const row = this.#select.get(id);
    return row === undefined || !this.#isOf(tenant, row) ? null : this.#view(row);
  }

  idOf(tenant: string, uid: string): string | null {
    const number = this.#tenants.find(tenant);
    return (number === undefined ? undefined : this.#selectUid.get(uid, number)) ?? null;
  }

  tenantOf(id: string): string | null {
    const row = this.#selectEver.get(id);
    return row === undefined ? null : (this.#tenants.nameIfAny(row.tenant) ?? null);
  }

  /** Finds a deleted endpoint too, because its history stays. */
  numberOf(tenant: string | null, id: string): number | null {
    const row = this.#selectEver.get(id);
    return row === undefined || !this.#isOf(tenant, row) ? null : row.number;
  }

  /** Returns null if there is no such tenant. */
  list(query: EndpointQuery): Walk<ListedRow, Endpoint> | null {
    const tenant = query.tenant === null ? null : this.#tenants.find(query.tenant);
    if (tenant === undefined) return null;
    const list = endpointList<ListedRow>(query, {
      host: (url) => `substr(${url}, instr(${url}, '://') + 3)`,
      tenant,
      isOf: (row) => this.#isOf(query.tenant, row),
      tenantOf: (row) => this.#tenants.nameIfAny(row.tenant),
      isDamaged: (row) => this.#view(row).damaged !== null,
    });
    return walkOf(this.#lists, list, (row) => this.#view(row));
  }

  /** Hides the endpoint but keeps its history. Returns its number, or null if there is no such endpoint. */
  softDelete(tenant: string | null, id: string, now: number): number | null {
    const row = this.#select.get(id);
    if (row === undefined || !this.#isOf(tenant, row)) return null;
    this.#softDelete.run(now, row.number);
    this.#leaveUrl.run(row.url);
    this.#unsubscribe.run(row.number);
    this.#choices.note(row.number, "deleted", now);
    this.#changed(row);
    return row.number;
  }

  /** Searches all subscriptions, but only for a type that was removed from the configuration. */
  typesInUse(known: readonly string[]): TypeInUse[] {
    const names = this.#db.prepare<[], string>("SELECT name FROM event_type ORDER BY name").pluck().all();
    const chosenBy = this.#db
      .prepare<[string], string>(
        `SELECT e.id FROM subscription s JOIN endpoint e ON e.number = s.endpoint
         WHERE s.type = (SELECT num FROM event_type WHERE name = ?) AND e.deleted_at IS NULL ORDER BY e.number`,
      )
      .pluck();
    return names
      .filter((name) => !known.includes(name) && !isPattern(name))
      .map((type) => ({ type, ids: chosenBy.all(type) }))
      .filter(({ ids }) => ids.length > 0)
      .map(({ type, ids }) => ({ type, endpoints: ids.length, some: ids.slice(0, NAMED) }));
  }

  expiring(before: number, limit: number): ExpiringCertificate[] {
    return this.#expiring
      .all(before, limit)
      .map(({ tenant, ...found }) => ({ ...found, tenant: this.#tenants.nameIfAny(tenant) ?? "unknown" }));
  }

  target(id: string): Target | DamagedTarget | null {
    const row = this.#select.get(id);
    return row === undefined ? null : targetOf(row, this.#read(row));
  }

  #subscribeTo(events: readonly string[], tenant: number, endpoint: number): void {
    for (const type of events) this.#subscribe.run(tenant, this.#types.number(type), endpoint);
  }

  #otherOfUid(uid: string | null, tenant: number | undefined, id: string): WebhookdError | null {
    const owner = uid === null || tenant === undefined ? undefined : this.#selectUid.get(uid, tenant);
    if (owner === undefined || owner === id) return null;
    return new WebhookdError("already_created", `the uid belongs to endpoint ${owner}`);
  }

  /** The daemon's own endpoint is visible only under the name of its tenant. */
  #isOf(tenant: string | null, row: Pick<EndpointRow, "tenant">): boolean {
    const owner = this.#tenants.nameIfAny(row.tenant);
    return tenant === null ? owner !== ALERT_TENANT : owner === tenant;
  }

  #changed({ id, tenant }: EndpointRow): void {
    this.#index.changed(this.#tenants.nameIfAny(tenant) ?? "", id);
  }

  #view(row: EndpointRow): Endpoint {
    return this.#read(row).endpoint;
  }

  #read(row: EndpointRow): ReadRow {
    return readRow(row, this.#tenants.nameIfAny(row.tenant), this.#box);
  }
}

/** Returns a refusal as a value. Anything else that is thrown is a bug. */
export function attempt<T>(run: () => T): T | WebhookdError {
  try {
    return run();
  } catch (error) {
    if (error instanceof WebhookdError) return error;
    throw error;
  }
}
