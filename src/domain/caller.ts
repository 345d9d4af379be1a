/**
 * Who asks, and what the audit log keeps of it. An API key is a token, scopes, a tenant and an optional expiry. The token
 * is `whk_`, the key's 26 id characters, `_`, and 32 random bytes as 52 characters. It is shown once and stored hashed.
 */
import { createHash, timingSafeEqual } from "node:crypto";
import { decodeBytes, encodeBytes, isId } from "./id.ts";
import { type ErrorCode, WebhookdError } from "./errors.ts";

export const SCOPES = ["publish", "read", "replay", "manage", "secrets", "metrics", "admin"] as const;
export type Scope = (typeof SCOPES)[number];

/** What the key of a portal link may be good for, the least first. Never publishing: a customer receives. */
export const PORTAL_SCOPES = ["read", "replay", "manage", "secrets"] as const satisfies readonly Scope[];
export type PortalScope = (typeof PORTAL_SCOPES)[number];

/** Who has one of these scopes may do what the scope before them allows. */
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

/** What the key of a portal link has beside what any key has. */
export interface PortalLink {
  /** Ids; null for all of the tenant's. */
  readonly endpoints: readonly string[] | null;
  /** The URL that the page links back to. */
  readonly returnUrl: string | null;
  /** The key that asked for it, and ends it when it is revoked; null for the unix socket. */
  readonly madeBy: string | null;
}

/** How many portal links work at some instant. */
export interface LinksAlive {
  /** Of the tenant. */
  readonly ofTenant: number;
  /** Made by the same key; 0 for the unix socket, whose caller has no limit. */
  readonly ofMaker: number;
}

/** Why there is no room for another portal link; null if there is. */
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
  /** Only of a portal link. */
  readonly portal?: PortalLink | null;
}

export interface ApiKey extends NewApiKey {
  readonly createdAt: number;
  readonly lastUsedAt: number | null;
  readonly revokedAt: number | null;
  readonly portal: PortalLink | null;
}

/** Whether the key opens something at that instant. */
export function isUsable({ revokedAt, expiresAt }: Pick<ApiKey, "revokedAt" | "expiresAt">, now: number): boolean {
  return revokedAt === null && (expiresAt === null || expiresAt > now);
}

/** What the account of a caller follows from. */
export interface Paying {
  /** Null for whoever may open the unix socket. */
  readonly keyId: string | null;
  /** One tenant's name, or `*`. */
  readonly tenant: string;
  readonly isPortal: boolean;
  /** The key that made the portal link; null for the unix socket, and for any other key. */
  readonly madeBy: string | null;
}

/** Whose limits a call counts against. Every limit is kept by one of these names. */
export interface Account {
  /** Has `rate_limit` requests a second: the key, or for a portal link the key that made it. */
  readonly payer: string;
  /** Takes its turn among others: the key, or all links that one key made for one tenant. */
  readonly caller: string;
  /** Has a share of what may be under way: the tenant, or a key of every tenant. */
  readonly share: string;
}

/** Null for the operator, who has no limit. Links can be made by the thousand, so none of them counts for itself alone. */
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

/** Null for anything `createToken` does not make. The length is looked at first, so a long header costs nothing. */
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

/** In constant time. */
export function matchesHash(secret: Uint8Array, hash: Uint8Array): boolean {
  const digest = hashSecret(secret);
  return digest.length === hash.length && timingSafeEqual(digest, hash);
}

/**
 * A route that changes something, or shows a secret, names one of these. Publishes are not audited. The log says who asked
 * for what change, and what came of it; never what the change held: no secret, no payload.
 */
export const AUDIT_ACTIONS = [
  "endpoint.register",
  "endpoint.update",
  "endpoint.disable",
  "endpoint.enable",
  "endpoint.put",
  "endpoint.delete",
  "endpoint.test",
  "secret.read",
  "secret.rotate",
  "secret.complete",
  "secret.abandon",
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
  "backup.create",
  "secret_key.rekey",
] as const;

export type AuditAction = (typeof AUDIT_ACTIONS)[number];

export interface AuditEntry {
  /** `key_…`, or `socket` for whoever opened the unix socket. */
  readonly actor: string;
  /** Of a caller over the unix socket, as the kernel says it; null of a key, and where the kernel cannot be asked. */
  readonly uid: number | null;
  /** The login name of that uid, as it was then; null without one. */
  readonly user: string | null;
  /** Whose data it was about, one name or `*`; null where only the object can tell. */
  readonly tenant: string | null;
  readonly action: AuditAction;
  /** The id of what it was done to; null for the daemon as a whole, and for what never came to be. */
  readonly object: string | null;
  readonly requestId: string;
  /** `repeated`: an idempotency key had been used before, so nothing was done. Else the code of the refusal. */
  readonly outcome: "ok" | "repeated" | ErrorCode;
}

/** As it was written down. */
export interface AuditRecord extends AuditEntry {
  /** `*` where nobody could tell. */
  readonly tenant: string;
  /** Of the first call. */
  readonly at: number;
  readonly lastAt: number;
  /** How many calls of the kind it stands for (audit-fold.ts). */
  readonly count: number;
}
