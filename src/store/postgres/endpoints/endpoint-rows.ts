/** Adds and changes rows of endpoints, and decides who may see them. */
import type { Receiving } from "../../../domain/deliveries/withdrawal.ts";
import { createHash } from "node:crypto";
import { ALERT_TENANT } from "../../../domain/alert.ts";
import type { Endpoint, NewEndpoint } from "../../../domain/endpoints/endpoint.ts";
import { WebhookdError } from "../../../domain/errors.ts";
import type { ChangeSettings } from "../../store.ts";
import type { Queries } from "../engine/database.ts";
import type { Engine } from "../engine/engine.ts";
import {
  columnsOf,
  readRow,
  secretPlace,
  type EndpointRow as AnyEndpointRow,
  type ReadRow,
} from "../../rows/endpoint-row.ts";
import { KEYS } from "../../rows/signing-key-row.ts";
import { noteChoice } from "./choices.ts";
import { makeFirstKey } from "./first-keys.ts";
import { requireThere } from "./types.ts";

/** The number of slots, by which endpoints are divided among nodes. */
export const SLOTS = 1024;

export function slotOf(endpoint: string): number {
  return createHash("sha256").update(endpoint).digest().readUInt16BE(0) % SLOTS;
}

export type EndpointRow = Omit<AnyEndpointRow, "tenant"> & { readonly tenant: string };

/**
 * A delivery may be added to an endpoint `e` while another node deletes it. With this lock, the addition makes the
 * deletion wait, or sees it. The deletion cancels all deliveries that exist by then, and nobody would look at later
 * ones.
 */
export const KEPT = "FOR KEY SHARE OF e";

export const LIVE_ENDPOINT = `SELECT e.*, ${KEYS} FROM endpoint e WHERE e.id = $1 AND e.deleted_at IS NULL`;

/**
 * Failures from before an endpoint was enabled say nothing about it now. Writes this to the disk, because another node
 * may get the endpoint next.
 */
const RESTART = "UPDATE health SET consecutive_failures = 0, failing_since = NULL WHERE endpoint = $1";

export class EndpointRows {
  readonly #engine: Engine;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  async add(tx: Queries, endpoint: NewEndpoint, maxPerTenant: number, now: number): Promise<Endpoint> {
    const { id, tenant } = endpoint;
    // Nodes that add endpoints to a tenant at the same time wait for each other.
    await addNames(tx, [tenant], [], () => this.#engine.numbers.next(now));
    await tx.rows("SELECT num FROM tenant WHERE name = $1 FOR UPDATE", [tenant]);
    const number = await this.requireRoom(tx, endpoint, maxPerTenant);
    await makeFirstKey(tx, this.#engine, endpoint, tenant);
    const columns = columnsOf(id, endpoint, this.#engine.box);
    const secret = this.#engine.box.seal(endpoint.signingSecret, secretPlace(id));
    const own = ["number", "slot", "id", "tenant", "secret", "created_at", "updated_at"];
    const names = [...own, ...Object.keys(columns)];
    const values = [number, slotOf(id), id, tenant, secret, now, now, ...Object.values(columns)];
    const places = values.map((_, at) => `$${at + 1}`);
    await tx.change(`INSERT INTO endpoint (${names.join()}) VALUES (${places.join()})`, values);
    await this.#subscribe(tx, endpoint.events, tenant, number, now);
    await noteChoice(tx, number, "registered", now);
    const [row] = await tx.rows<EndpointRow>(LIVE_ENDPOINT, [id]);
    return this.read(row!).endpoint;
  }

  /** Throws if the endpoint must not be added. Returns the number that it gets. */
  async requireRoom(tx: Queries, { id, tenant, uid, events }: NewEndpoint, maxPerTenant: number): Promise<number> {
    const [found] = await tx.rows<{ count: number; next: number }>(
      `SELECT (SELECT count(*) FROM endpoint WHERE tenant = $1 AND deleted_at IS NULL) AS count,
         (SELECT coalesce(max(number), 0) + 1 FROM endpoint) AS next`,
      [tenant],
    );
    if (found!.count >= maxPerTenant) {
      throw new WebhookdError("endpoint_limit", `the tenant has ${maxPerTenant} endpoints already`);
    }
    await requireFree(tx, uid, tenant, id);
    await requireThere(tx, events);
    return found!.next;
  }

  async update(
    tx: Queries,
    tenant: string | null,
    id: string,
    change: ChangeSettings,
    held: "release" | "cancel",
    now: number,
  ) {
    const judged = await this.judge(tx, tenant, id, change);
    if (judged === null) return null;
    const { row, endpoint, after: changed } = judged;
    await makeFirstKey(tx, this.#engine, changed, row.tenant);
    const enabled = row.enabled === 1;
    const resumed = changed.enabled && !enabled;
    const [last] = await tx.rows<{ key: number | null }>("SELECT max(key) AS key FROM event");
    const columns = columnsOf(id, changed, this.#engine.box);
    const values = [
      row.number,
      changed.enabled === enabled ? endpoint.disabledReason : null,
      resumed && held === "cancel" ? last!.key : row.cancel_to,
      now,
      ...Object.values(columns),
    ];
    await tx.change(
      `UPDATE endpoint SET disabled_reason = $2, cancel_to = $3, updated_at = $4,
         ${Object.keys(columns)
           .map((name, at) => `${name} = $${at + 5}`)
           .join()} WHERE number = $1`,
      values,
    );
    if (resumed) await tx.change(RESTART, [row.number]);
    await tx.change("DELETE FROM subscription WHERE endpoint = $1", [row.number]);
    await this.#subscribe(tx, changed.events, row.tenant, row.number, now);
    if (enabled && !changed.enabled) await dropRequestsOf(tx, row.number);
    await noteChoice(tx, row.number, "changed", now);
    const [written] = await tx.rows<EndpointRow>(LIVE_ENDPOINT, [id]);
    return { endpoint: this.read(written!).endpoint, number: row.number, resumed };
  }

  /** Returns what `update` would write, or null if there is no such endpoint. Throws if it would be refused. */
  async judge(tx: Queries, tenant: string | null, id: string, change: ChangeSettings) {
    const [row] = await tx.rows<EndpointRow>(`${LIVE_ENDPOINT} FOR UPDATE`, [id]);
    if (row === undefined || !isOf(tenant, row)) return null;
    const { endpoint, headers, auth } = this.read(row);
    const after = change({ ...endpoint, headers, auth }, endpoint);
    await requireFree(tx, after.uid, row.tenant, id);
    await requireThere(tx, after.events);
    return { row, endpoint, after };
  }

  async #subscribe(tx: Queries, types: readonly string[], tenant: string, endpoint: number, now: number) {
    await addNames(tx, [tenant], types, () => this.#engine.numbers.next(now));
    await tx.change(
      "INSERT INTO subscription (tenant, type, endpoint) SELECT $1::text, type, $3::integer FROM unnest($2::text[]) AS type",
      [tenant, types, endpoint],
    );
  }

  async find(queries: Queries, tenant: string | null, id: string): Promise<EndpointRow | null> {
    const [row] = await queries.rows<EndpointRow>(LIVE_ENDPOINT, [id]);
    return row === undefined || !isOf(tenant, row) ? null : row;
  }

  read(row: EndpointRow): ReadRow {
    return readRow(row, row.tenant, this.#engine.box);
  }
}

/** The daemon's own endpoint is visible only under the name of its tenant. */
export function isOf(tenant: string | null, row: Pick<EndpointRow, "tenant">): boolean {
  return tenant === null ? row.tenant !== ALERT_TENANT : row.tenant === tenant;
}

export async function idOf(queries: Queries, tenant: string, uid: string): Promise<string | null> {
  const sql = "SELECT id FROM endpoint WHERE uid = $1 AND tenant = $2 AND deleted_at IS NULL";
  return (await queries.rows<{ id: string }>(sql, [uid, tenant]))[0]?.id ?? null;
}

async function requireFree(tx: Queries, uid: string | null, tenant: string, id: string): Promise<void> {
  const owner = uid === null ? null : await idOf(tx, tenant, uid);
  if (owner !== null && owner !== id) {
    throw new WebhookdError("already_created", `the uid belongs to endpoint ${owner}`);
  }
}

/** Drops attempts that were requested before an endpoint was disabled or deleted. */
export async function dropRequestsOf(tx: Queries, endpoint: number): Promise<void> {
  await tx.change("DELETE FROM manual_attempt WHERE endpoint = $1", [endpoint]);
}

export async function addNames(
  tx: Queries,
  tenants: readonly string[],
  types: readonly string[],
  nextNumber: () => number,
): Promise<void> {
  if (tenants.length === 0 && types.length === 0) return;
  await Promise.all([
    tx.change(
      "INSERT INTO tenant (name, num) SELECT * FROM unnest($1::text[], $2::bigint[]) ON CONFLICT (name) DO NOTHING",
      [tenants, tenants.map(nextNumber)],
    ),
    tx.change("INSERT INTO event_type (name) SELECT unnest($1::text[]) ON CONFLICT DO NOTHING", [types]),
  ]);
}

interface ReceivingRow {
  readonly enabled: number;
  readonly deleted: boolean;
  readonly cancel_to: number | null;
}

export function receivingOf({ enabled, deleted, cancel_to: cancelTo }: ReceivingRow): Receiving {
  return { enabled: enabled === 1, deleted, cancelTo };
}
