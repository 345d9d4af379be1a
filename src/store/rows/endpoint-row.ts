/** Writes and reads a row of the endpoint table. Headers, auth and secrets are sealed. */
import { createHash } from "node:crypto";
import {
  DISABLED_REASONS,
  WHEN_DISABLED,
  type WhenDisabled,
  type DamagedTarget,
  type DisabledReason,
  type Endpoint,
  type EndpointPart,
  type EndpointSettings,
  needsPrivateKey,
  SIGNATURES,
  type Signature,
  type Target,
} from "../../domain/endpoints/endpoint.ts";
import { certificateUntil, type EndpointAuth, shownAuth, storedAuth } from "../../domain/endpoints/auth.ts";
import { BODY_FORMATS } from "../../domain/endpoints/body-format.ts";
import { AFTER_FAILURE, ORDERINGS } from "../../domain/deliveries/ordering.ts";
import { type FilterDocument, isFilter, parseFilter } from "../../domain/events/filter/filter.ts";
import type { Box } from "./box.ts";
import { nextPrivateKeyPlace, privateKeyPlace } from "./signing-key-row.ts";

export interface EndpointRow {
  readonly number: number;
  readonly id: string;
  readonly tenant: number;
  readonly uid: string | null;
  readonly url: string;
  readonly events: string;
  readonly filter: string | null;
  readonly description: string;
  readonly enabled: number;
  readonly disabled_reason: DisabledReason | null;
  readonly when_disabled: WhenDisabled;
  readonly ordering: string;
  readonly after_failure: string;
  readonly format: string;
  readonly trace_context: number;
  readonly header_names: string;
  readonly headers: string | null;
  readonly auth: string | null;
  readonly ca: string | null;
  readonly secret: string | null;
  readonly secret_version: number;
  readonly next_secret: string | null;
  readonly switches_at: number | null;
  readonly signatures: string;
  /** The tenant's keys, from `KEYS` of the query. NULL unless the endpoint chose `ed25519`. */
  readonly private_key: string | null;
  readonly next_private_key: string | null;
  readonly rate_per_second: number | null;
  readonly max_in_flight: number | null;
  readonly metadata: string;
  readonly created_at: number;
  readonly updated_at: number;
  readonly cancel_to: number | null;
}

/** A row, whatever represents its tenant. */
type AnyRow = Omit<EndpointRow, "tenant"> & { readonly tenant: unknown };

/** The places to which sealed texts are bound: a text does not open in another place. */
export const secretPlace = (endpoint: string): string => `${endpoint}:secret`;
export const nextSecretPlace = (endpoint: string): string => `${endpoint}:next_secret`;
export const headersPlace = (endpoint: string): string => `${endpoint}:headers`;
export const authPlace = (endpoint: string): string => `${endpoint}:auth`;

type Plain = Omit<EndpointSettings, "headers" | "auth">;

/** The column of each setting that is not sealed, and how its value is written. */
const COLUMNS: {
  readonly [Setting in keyof Plain]: readonly [
    keyof EndpointRow,
    write?: (value: Plain[Setting]) => string | number | null,
  ];
} = {
  uid: ["uid"],
  url: ["url"],
  events: ["events", JSON.stringify],
  filter: ["filter", (filter) => (filter === null ? null : JSON.stringify(filter))],
  description: ["description"],
  enabled: ["enabled", Number],
  whenDisabled: ["when_disabled"],
  ordering: ["ordering"],
  afterFailure: ["after_failure"],
  format: ["format"],
  traceContext: ["trace_context", Number],
  signatures: ["signatures", JSON.stringify],
  ca: ["ca"],
  ratePerSecond: ["rate_per_second"],
  maxInFlight: ["max_in_flight"],
  metadata: ["metadata", JSON.stringify],
};

/** The parts that have one of a few words. */
type Worded = "when_disabled" | "ordering" | "after_failure" | "format";

const same = (value: unknown): unknown => value;

export const SET = [
  ...Object.values(COLUMNS).map(([column]) => column),
  "header_names",
  "headers",
  "auth",
  "certificate_until",
];

/** Returns the columns that a caller sets, with their values. */
export function columnsOf(id: string, settings: EndpointSettings, box: Box): Record<string, unknown> {
  const { headers, auth } = settings;
  const written = Object.entries(COLUMNS).map(([setting, [column, write = same]]) => {
    return [column, (write as (value: unknown) => unknown)(settings[setting as keyof Plain])];
  });
  return {
    ...Object.fromEntries(written),
    header_names: JSON.stringify(Object.keys(headers)),
    headers: box.seal(JSON.stringify(headers), headersPlace(id)),
    auth: auth === null ? null : box.seal(JSON.stringify(auth), authPlace(id)),
    certificate_until: certificateUntil(auth),
  };
}

/**
 * The contents of a row, with its secrets in the clear. A part that cannot be read has its default, and `damaged` names
 * it.
 */
export interface ReadRow {
  readonly endpoint: Endpoint;
  readonly headers: Readonly<Record<string, string>>;
  readonly auth: EndpointAuth | null;
  readonly signingSecret: string;
  readonly nextSigningSecret: string | null;
  readonly privateKeys: readonly string[];
}

/**
 * Never throws, whatever the row contains, because a damaged row must affect only one endpoint. `tenant` is undefined
 * if its name is lost.
 */
export function readRow(row: AnyRow, tenant: string | undefined, box: Box): ReadRow {
  const damage = new Map<EndpointPart, string>();
  const or = <T>(part: EndpointPart, value: T | null | undefined, instead: T, why = "is corrupted"): T => {
    if (value !== null && value !== undefined) return value;
    damage.set(part, why);
    return instead;
  };
  const wordOr = <T extends string>(part: Worded, words: readonly T[], instead: T): T =>
    or(
      part,
      words.find((word) => word === row[part]),
      instead,
    );
  const opened = <T>(part: EndpointPart, value: T | null, instead: T) => or(part, value, instead, "cannot be unsealed");
  const secret = opened("signing_secret", secretOf(row.secret, secretPlace(row.id), box), "");
  const next =
    row.next_secret === null
      ? null
      : opened("next_signing_secret", secretOf(row.next_secret, nextSecretPlace(row.id), box), null);
  const headers = headersOf(row, box);
  const auth = row.auth === null ? null : opened("auth", authOf(row.auth, row.id, box), null);
  const signatures = or("signatures", signaturesOf(row.signatures), ["hmac"] as const);
  const privateKeys = needsPrivateKey({ signatures }) ? opened("signing_key", privateKeysOf(row, tenant, box), []) : [];
  const endpoint = {
    id: row.id,
    tenant: or("tenant", tenant, "unknown"),
    uid: row.uid,
    url: or("url", isAddress(row.url) ? row.url : null, String(row.url)),
    events: or("events", stringsOf(row.events), []),
    filter: row.filter === null ? null : or("filter", filterOf(row.filter), null),
    description: row.description,
    enabled: row.enabled === 1,
    disabledReason: DISABLED_REASONS.find((reason) => reason === row.disabled_reason) ?? null,
    whenDisabled: wordOr("when_disabled", WHEN_DISABLED, "hold"),
    ordering: wordOr("ordering", ORDERINGS, "none"),
    afterFailure: wordOr("after_failure", AFTER_FAILURE, "continue"),
    format: wordOr("format", BODY_FORMATS, "envelope"),
    traceContext: row.trace_context === 1,
    signatures,
    headerNames: headers === null ? (stringsOf(row.header_names) ?? []) : Object.keys(headers),
    auth: auth === null ? null : shownAuth(auth),
    ca: row.ca,
    ratePerSecond: limit(row.rate_per_second) ? row.rate_per_second : or("rate_per_second", null, null),
    maxInFlight: limit(row.max_in_flight) ? row.max_in_flight : or("max_in_flight", null, null),
    metadata: or("metadata", objectOf(row.metadata), {}),
    secretSwitchesAt: row.switches_at,
    revision: revisionOf(row),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
  const sealed = { headers: opened("headers", headers, {}), auth, signingSecret: secret, nextSigningSecret: next };
  const parts = [...damage.keys()];
  const reason = [...damage].map(([part, why]) => `its ${part.replaceAll("_", " ")} ${why}`).join("; ");
  return { ...sealed, privateKeys, endpoint: { ...endpoint, damaged: parts.length === 0 ? null : { parts, reason } } };
}

/**
 * Each change of the settings seals the headers anew, so no two changes have the same revision, not even in the same
 * millisecond.
 */
function revisionOf(row: AnyRow): string {
  // A sweep clears this mark when it is done, which does not change the endpoint.
  const text = JSON.stringify({ ...row, cancel_to: null });
  return createHash("sha256").update(text).digest("base64url").slice(0, 16);
}

/** Returns the endpoint as the sender needs it. The endpoint must not be deleted. */
export function targetOf(row: AnyRow, read: ReadRow): Target | DamagedTarget {
  const { endpoint, headers, auth, signingSecret, nextSigningSecret, privateKeys } = read;
  const { id, tenant, url, enabled, damaged, ca, format, traceContext, signatures, ratePerSecond, maxInFlight } =
    endpoint;
  if (damaged !== null) return { endpoint: id, tenant, url, enabled: false, damaged };
  return {
    endpoint: id,
    tenant,
    url,
    enabled,
    headers,
    auth,
    ca,
    signingSecret,
    secretVersion: row.secret_version,
    nextSigningSecret,
    format,
    traceContext,
    signatures,
    privateKeys,
    ratePerSecond,
    maxInFlight,
  };
}

/** Returns null if there is no text, or if it does not open. */
export function secretOf(sealed: string | null, place: string, box: Box): string | null {
  return sealed === null ? null : box.open(sealed, place);
}

function signaturesOf(text: string): readonly Signature[] | null {
  const found = stringsOf(text)?.map((word) => SIGNATURES.find((one) => one === word));
  return found === undefined || found.length === 0 || found.includes(undefined) ? null : (found as Signature[]);
}

/** Null if the tenant has no key, or one of its keys does not open. */
function privateKeysOf(row: AnyRow, tenant: string | undefined, box: Box): string[] | null {
  if (tenant === undefined || row.private_key === null) return null;
  const keys = [box.open(row.private_key, privateKeyPlace(tenant))];
  if (row.next_private_key !== null) keys.push(box.open(row.next_private_key, nextPrivateKeyPlace(tenant)));
  return keys.every((key) => key !== null) ? keys : null;
}

export function stringsOf(text: string): string[] | null {
  const found = jsonOf(text);
  return Array.isArray(found) && found.every((one) => typeof one === "string") ? found : null;
}

export function filterOf(text: string): FilterDocument | null {
  const found = objectOf(text);
  return found !== null && isFilter(parseFilter(found)) ? found : null;
}

function headersOf(row: AnyRow, box: Box): Record<string, string> | null {
  const text = row.headers === null ? null : box.open(row.headers, headersPlace(row.id));
  const found = text === null ? null : objectOf(text);
  const areValues = found !== null && Object.values(found).every((value) => typeof value === "string");
  return areValues ? (found as Record<string, string>) : null;
}

function authOf(sealed: string, endpoint: string, box: Box): EndpointAuth | null {
  const text = box.open(sealed, authPlace(endpoint));
  return text === null ? null : storedAuth(text);
}

function objectOf(text: string): Record<string, unknown> | null {
  const found = jsonOf(text);
  return typeof found === "object" && found !== null && !Array.isArray(found) ? { ...found } : null;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isAddress(url: string): boolean {
  return /^https?:$/.test(URL.parse(url)?.protocol ?? "");
}

function limit(value: number | null): boolean {
  return value === null || value > 0;
}
