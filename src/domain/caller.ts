/**
 * Defines API keys, the limits of callers, and audit entries. An API key is a token, scopes, a tenant and an optional
 * expiry. The token is `whk_`, the key's 26 id characters, `_`, and 32 random bytes as 52 characters. It is shown once
 * and stored hashed.
 */
import { createHash, timingSafeEqual } from "node:crypto";
import { decodeBytes, encodeBytes, isId } from "./id.ts";
import { type ErrorCode, WebhookdError } from "./errors.ts";

export const SCOPES = ["publish", "read", "replay", "manage", "secrets", "metrics", "admin"] as const;
export type Scope = (typeof SCOPES)[number];

/**
 * The scopes that the key of a portal link may have, the narrowest first. `publish` is not among them, because a
 * customer only receives.
 */
export const PORTAL_SCOPES = ["read", "replay", "manage", "secrets"] as const satisfies readonly Scope[];
export type PortalScope = (typeof PORTAL_SCOPES)[number];

/** The wider scopes that include each scope. */
const WIDER: Readonly<Record<Scope, readonly Scope[]>> = {
  publish: ["admin"],
  read: ["replay", "manage", "admin"],
  replay: ["manage", "admin"],
  manage: ["admin"],
  secrets: ["admin"],
  metrics: ["admin"],
  admin: [],
};

export function includesScope(scopes: readonly Scope[], wanted: Scope): boolean {
  return scopes.includes(wanted) || WIDER[wanted].some((wider) => scopes.includes(wider));
}

/** The additional fields of a portal link's key. */
export interface PortalLink {
  /** Endpoint ids; null for all of the tenant's endpoints. */
  readonly endpoints: readonly string[] | null;
  /** The URL that the page links back to. */
  readonly returnUrl: string | null;
  /** The key that created the link. Revoking it ends the link. Null for the unix socket. */
  readonly madeBy: string | null;
}

/** The number of portal links that are valid at some instant. */
export interface LinksAlive {
  /** Links of the same tenant. */
  readonly ofTenant: number;
  /** Links created by the same key; 0 for the unix socket, whose caller has no limit. */
  readonly ofMaker: number;
}

/** Returns the reason why no further portal link may be created, or null. */
export function linksRefusal({ ofTenant, ofMaker }: LinksAlive, most: number): WebhookdError | null {
  const whose = ofTenant >= most ? "its tenant" : ofMaker >= most ? "the key that asks for it" : null;
  if (whose === null) return null;
  const detail =
    `${whose} has ${most} portal links that work; give links a shorter expires_in, use one again until it expires, ` +
    "or revoke some; see [limits] portal_links";
  return new WebhookdError("rate_limited", detail, { retryAfterSeconds: 60 });
}

export interface NewApiKey {
  /** `key_…`; the token holds the same 26 characters. */
  readonly id: string;
  readonly name: string;
  /** SHA-256 of the token's secret part: 256 random bits need no slow hash (ASVS 6.5.2). */
  readonly hash: Uint8Array;
  readonly scopes: readonly Scope[];
  /** One tenant's name, or `*`. */
  readonly tenant: string;
  readonly expiresAt: number | null;
  /** Set only for a portal link. */
  readonly portal?: PortalLink | null;
}

export interface ApiKey extends NewApiKey {
  readonly createdAt: number;
  readonly lastUsedAt: number | null;
  readonly revokedAt: number | null;
  readonly portal: PortalLink | null;
}

/** True if the key is valid at that instant. */
export function isUsable({ revokedAt, expiresAt }: Pick<ApiKey, "revokedAt" | "expiresAt">, now: number): boolean {
  return revokedAt === null && (expiresAt === null || expiresAt > now);
}

/** The facts that determine a caller's account. */
export interface Paying {
  /** Null for a caller on the unix socket. */
  readonly keyId: string | null;
  /** One tenant's name, or `*`. */
  readonly tenant: string;
  readonly isPortal: boolean;
  /** The key that created the portal link; null for the unix socket, and for any other key. */
  readonly madeBy: string | null;
}

/** The names under which a call's limits are counted. */
export interface Account {
  /** Has `rate_limit` requests a second: the key, or for a portal link the key that created it. */
  readonly payer: string;
  /** Takes turns with other callers: the key, or all links that one key created for one tenant. */
  readonly caller: string;
  /** Has a share of the requests in progress: the tenant, or a key for every tenant. */
  readonly share: string;
}

/**
 * Null for the operator, who has no limit. Links of one key share an account, because a key can create thousands of
 * them.
 */
export function accountOf({ keyId, tenant, isPortal, madeBy }: Paying): Account | null {
  if (keyId === null) return null;
  const caller = isPortal ? `links of ${madeBy ?? "socket"} for ${tenant}` : keyId;
  const payer = isPortal ? (madeBy ?? caller) : keyId;
  return { payer, caller, share: tenant === "*" ? `key ${payer}` : `tenant ${tenant}` };
}

const LENGTH = "whk_".length + 26 + 1 + 52;

export interface Token {
  /** `key_…` */
  readonly keyId: string;
  readonly secret: Uint8Array;
}

/** `idChars` are the 26 characters after `key_`; `random` is 32 bytes from a cryptographic source. */
export function createToken(idChars: string, random: Uint8Array): string {
  if (!isId("key", `key_${idChars}`)) throw new RangeError("not the 26 characters of an id");
  if (random.length !== 32) throw new RangeError("a token needs 32 random bytes");
  return `whk_${idChars}_${encodeBytes(random)}`;
}

/**
 * Returns null for anything that `createToken` would not return. Checks the length first, so that a long header costs
 * nothing.
 */
export function parseToken(text: string): Token | null {
  if (text.length !== LENGTH || !text.startsWith("whk_") || text[30] !== "_") return null;
  const keyId = `key_${text.slice(4, 30)}`;
  const secret = decodeBytes(text.slice(31));
  return secret !== null && isId("key", keyId) ? { keyId, secret } : null;
}

/** SHA-256: 256 random bits need no slow hash. */
export function hashSecret(secret: Uint8Array): Uint8Array {
  return createHash("sha256").update(secret).digest();
}

/** Compares in constant time. */
export function matchesHash(secret: Uint8Array, hash: Uint8Array): boolean {
  const digest = hashSecret(secret);
  return digest.length === hash.length && timingSafeEqual(digest, hash);
}

/**
 * A route that changes something, or shows a secret, names one of these. Publishes are not audited. The log records the
 * caller, the change and its outcome, but never the content: no secret, no payload.
 */
export const AUDIT_ACTIONS = [
  "endpoint.register",
  "endpoint.update",
  "endpoint.disable",
  "endpoint.enable",
  "endpoint.put",
  "endpoint.delete",
  "endpoint.test",
  "event_type.create",
  "event_type.put",
  "event_type.import",
  "event_type.delete",
  "secret.read",
  "secret.rotate",
  "secret.complete",
  "secret.abandon",
  "signing_key.rotate",
  "signing_key.complete",
  "signing_key.abandon",
  "signing_key.publish",
  "event.retry",
  "event.cancel",
  "event.erase",
  "delivery.attempt",
  "job.create",
  "job.pause",
  "job.resume",
  "job.cancel",
  "key.create",
  "key.revoke",
  "portal_link.create",
  "daemon.pause",
  "daemon.resume",
  "node.drain",
  "node.resume",
  "outbox.retry",
  "outbox.drop",
  "backup.create",
  "secret_key.rekey",
] as const;

export type AuditAction = (typeof AUDIT_ACTIONS)[number];

export interface AuditEntry {
  /** `key_…`, or `socket` for a caller on the unix socket. */
  readonly actor: string;
  /**
   * The uid of a caller on the unix socket, as the kernel reports it; null for a key, and if the kernel cannot be
   * asked.
   */
  readonly uid: number | null;
  /** The login name of that uid at the time; null if it has none. */
  readonly user: string | null;
  /** The tenant whose data it was about, or `*`. Null if only the object tells. */
  readonly tenant: string | null;
  readonly action: AuditAction;
  /** The id of the object. Null for the daemon as a whole, and for an object that was not created. */
  readonly object: string | null;
  readonly requestId: string;
  /**
   * `repeated` means that the idempotency key had been used before, so nothing was done. Anything except `ok` and
   * `repeated` is the code of the refusal.
   */
  readonly outcome: "ok" | "repeated" | ErrorCode;
}

/** An audit entry as it is stored. */
export interface AuditRecord extends AuditEntry {
  /** `*` if the tenant could not be determined. */
  readonly tenant: string;
  /** The time of the first call. */
  readonly at: number;
  readonly lastAt: number;
  /** The number of calls that this entry stands for (audit-fold.ts). */
  readonly count: number;
}
