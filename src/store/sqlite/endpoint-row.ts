/** A row of the endpoint table: what is written into it, and what is read out of it. Headers and secrets are sealed. */
import type { DisabledReason, Endpoint, EndpointSettings, Target } from "../../domain/endpoint.ts";
import type { Box } from "./box.ts";
import { nextSecretPlace, secretPlace } from "./rotation.ts";

export interface EndpointRow {
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
  readonly switches_at: number | null;
  readonly rate_per_second: number | null;
  readonly max_in_flight: number | null;
  readonly metadata: string;
  readonly created_at: number;
  readonly updated_at: number;
  readonly cancel_to: number | null;
}

export const INSERT = `INSERT INTO endpoint
  (id, tenant, uid, url, events, description, enabled, when_disabled, header_names, headers, secret,
   rate_per_second, max_in_flight, metadata, created_at, updated_at)
  VALUES (@id, @tenant, @uid, @url, @events, @description, @enabled, @when_disabled, @header_names, @headers, @secret,
   @rate_per_second, @max_in_flight, @metadata, @now, @now)`;

export const UPDATE = `UPDATE endpoint SET
  uid = @uid, url = @url, events = @events, description = @description, enabled = @enabled,
  disabled_reason = @disabled_reason, when_disabled = @when_disabled, header_names = @header_names, headers = @headers,
  rate_per_second = @rate_per_second, max_in_flight = @max_in_flight, metadata = @metadata, cancel_to = @cancel_to,
  updated_at = @now
  WHERE number = @number`;

/** The columns of `INSERT` and `UPDATE` that a caller sets. */
export function columnsOf(id: string, settings: EndpointSettings, box: Box): Record<string, unknown> {
  return {
    uid: settings.uid,
    url: settings.url,
    events: JSON.stringify(settings.events),
    description: settings.description,
    enabled: settings.enabled ? 1 : 0,
    when_disabled: settings.whenDisabled,
    header_names: JSON.stringify(Object.keys(settings.headers)),
    headers: box.seal(JSON.stringify(settings.headers), `${id}:headers`),
    rate_per_second: settings.ratePerSecond,
    max_in_flight: settings.maxInFlight,
    metadata: JSON.stringify(settings.metadata),
  };
}

export function headersOf(row: EndpointRow, box: Box): Record<string, string> {
  return JSON.parse(box.open(row.headers!, `${row.id}:headers`)) as Record<string, string>;
}

export function viewOf(row: EndpointRow, tenant: string): Endpoint {
  return {
    id: row.id,
    tenant,
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
    secretSwitchesAt: row.switches_at,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

/** As the sender needs it. Of one that is not deleted. */
export function targetOf(row: EndpointRow, tenant: string, box: Box): Target {
  return {
    endpoint: row.id,
    tenant,
    url: row.url,
    enabled: row.enabled === 1,
    headers: headersOf(row, box),
    signingSecret: box.open(row.secret!, secretPlace(row.id)),
    secretVersion: row.secret_version,
    nextSigningSecret: row.next_secret === null ? null : box.open(row.next_secret, nextSecretPlace(row.id)),
    ratePerSecond: row.rate_per_second,
    maxInFlight: row.max_in_flight,
  };
}
