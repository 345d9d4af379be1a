/**
 * Authenticates requests by a bearer key in the `Authorization` header, or by the unix socket. Decides what the caller
 * may do and for which tenant: the key's own, or for a key of `*` the one that the request names.
 */
import { hash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Clock } from "../../clock.ts";
import { ALERT_TENANT } from "../../domain/alert.ts";
import { WebhookdError } from "../../domain/errors.ts";
import {
  type Account,
  accountOf,
  type ApiKey,
  includesScope,
  isUsable,
  matchesHash,
  parseToken,
  type Scope,
} from "../../domain/caller.ts";
import { TENANT, DEFAULT_TENANT, EVERY_TENANT } from "../../domain/id.ts";
import type { Log } from "../../log.ts";
import type { Store } from "../../store/store.ts";
import type { ApiParts } from "../parts.ts";
import type { PlainHead } from "../server/plain-head.ts";
import { PlainRequest } from "../server/plain-requests.ts";
import { FailureThrottle } from "./limits.ts";
import type { Proxies } from "./origin.ts";
import { textParameter, type Query } from "./query.ts";
import { validationFailed } from "./body.ts";

export interface Principal {
  /** Null for callers over the unix socket. */
  readonly keyId: string | null;
  /** One tenant's name, or `*`. */
  readonly tenant: string;
  readonly scopes: readonly Scope[];
  /** True if the key belongs to a portal link. Such a key may not create further access. */
  readonly isPortal: boolean;
  /** The endpoints that the key is limited to (reach.ts). Null for all of the tenant's. */
  readonly endpoints: readonly string[] | null;
  /** The account whose limits the caller counts against. Null for no limits. */
  readonly account: Account | null;
}

const NO_PORTAL = { isPortal: false, endpoints: null, account: null };
/** The caller over the unix socket. Its mode is 0600, so the file system has already allowed this caller everything. */
export const OPERATOR: Principal = { keyId: null, tenant: "*", scopes: ["admin"], ...NO_PORTAL };
/** The caller of a route that needs no key. */
export const ANYONE: Principal = { keyId: null, tenant: "", scopes: [], ...NO_PORTAL };

/** Compared when no key matches, so that an unknown id takes as long as a known one. */
const NO_HASH = new Uint8Array(32);

/** The cache of headers is emptied when it holds this many keys. */
const MAX_KNOWN = 10_000;

/** A key that a header matched: its id, and the stored hash that agreed with the header's secret. */
interface Known {
  readonly keyId: string;
  readonly hash: Uint8Array;
}

export class Authentication {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #proxies: Proxies;
  readonly #throttle = new FailureThrottle();
  /**
   * Known keys by the digest of their header. A publisher sends the same header each time, and decoding and hashing it
   * costs more than the rest of this class. The key itself is still read each time: only the store knows if it was
   * revoked.
   */
  readonly #known = new Map<string, Known>();
  readonly #digests = new WeakMap<PlainHead, string>();

  constructor({ store, clock, log }: Pick<ApiParts, "store" | "clock" | "log">, proxies: Proxies) {
    this.#store = store;
    this.#clock = clock;
    this.#log = log;
    this.#proxies = proxies;
  }

  /** Throws `unauthorized`, or `rate_limited` for a peer that failed too often; a valid key is never throttled. */
  async authenticate(req: IncomingMessage | PlainRequest): Promise<Principal> {
    const header = req.headers.authorization;
    if (header === undefined) throw unauthorized();
    const digest = this.#digestOf(req, header);
    const known = this.#known.get(digest);
    const key = known === undefined ? null : await this.#store.keys.get(known.keyId);
    // A store that keeps keys in memory returns the same object; a database returns only equal bytes.
    const agrees = key !== null && (key.hash === known!.hash || Buffer.compare(key.hash, known!.hash) === 0);
    const opened = agrees ? key : await this.#open(header, digest);
    const now = this.#clock.now();
    if (opened === null || !isUsable(opened, now)) throw this.#failure(req);
    this.#store.keys.touch(opened.id, now);
    const { id: keyId, tenant, scopes, portal } = opened;
    const isPortal = portal !== null;
    const account = accountOf({ keyId, tenant, isPortal, madeBy: portal?.madeBy ?? null });
    return { keyId, tenant, scopes, isPortal, endpoints: portal?.endpoints ?? null, account };
  }

  /** Digests the header once for all requests of a connection that have the same head. */
  #digestOf(req: IncomingMessage | PlainRequest, header: string): string {
    const head = req instanceof PlainRequest ? req.head : null;
    const before = head === null ? undefined : this.#digests.get(head);
    if (before !== undefined) return before;
    const digest = hash("sha256", header, "base64");
    if (head !== null) this.#digests.set(head, digest);
    return digest;
  }

  /** Returns the key that matches the header, even one that is expired or revoked. */
  async #open(header: string, digest: string): Promise<ApiKey | null> {
    const [, written] = /^bearer[\t ]+(.*)$/i.exec(header) ?? [];
    const token = written === undefined ? null : parseToken(written);
    const key = token === null ? null : await this.#store.keys.get(token.keyId);
    const matches = token !== null && matchesHash(token.secret, key?.hash ?? NO_HASH);
    if (key === null || !matches) return null;
    if (this.#known.size >= MAX_KNOWN) this.#known.clear();
    this.#known.set(digest, { keyId: key.id, hash: key.hash });
    return key;
  }

  #failure(req: IncomingMessage | PlainRequest): WebhookdError {
    const client = this.#proxies.clientOf(req);
    const throttled = this.#throttle.fail(client, this.#clock.monotonic());
    if (throttled === null) return unauthorized();
    const detail = "too many failed authentications from this address";
    if (throttled.isNews) this.#log.warn({ client }, detail);
    return new WebhookdError("rate_limited", detail, { retryAfterSeconds: throttled.seconds });
  }
}

export function allows(principal: Principal, scope: Scope | "any" | "open"): boolean {
  return scope === "any" || scope === "open" || includesScope(principal.scopes, scope);
}

/** Every reason gets the same text, so nobody learns whether a key exists, is revoked or has expired. */
function unauthorized(): WebhookdError {
  return new WebhookdError("unauthorized", "send a valid key: Authorization: Bearer whk_…");
}

export const TenantParameter = textParameter(
  "tenant",
  "With a key for every tenant: the tenant to act for. Any other key may name only its own tenant.",
  TENANT,
  "is not a tenant name",
);

/** Returns the tenant that a new endpoint or event belongs to. */
export function tenantToWrite(principal: Principal, named: string | undefined): string {
  const tenant = oneTenantOf(principal, named);
  if (tenant !== ALERT_TENANT) return tenant;
  throw new WebhookdError("forbidden", `${ALERT_TENANT} is reserved for the daemon's own events`);
}

/** Returns the one tenant that the request means, even if a key of `*` names none. */
export function oneTenantOf(principal: Principal, named: string | undefined): string {
  if (principal.tenant === EVERY_TENANT) return named ?? DEFAULT_TENANT;
  if (named !== undefined && named !== principal.tenant) {
    throw new WebhookdError("forbidden", "this key belongs to another tenant");
  }
  return principal.tenant;
}

/** Throws `forbidden` unless the caller may see the daemon as a whole. */
export function requireEveryTenant(principal: Principal): void {
  if (principal.tenant === EVERY_TENANT) return;
  throw new WebhookdError(
    "forbidden",
    "this concerns every tenant, but the key belongs to one: use a key for tenant *",
  );
}

/** Returns the tenant to search. Null means every tenant, for a key of `*` that names none. */
export function tenantToRead(principal: Principal, named: string | undefined): string | null {
  return principal.tenant === EVERY_TENANT && named === undefined ? null : oneTenantOf(principal, named);
}

/** Returns the tenant named by the query or the body. Throws `validation_failed` if they name two. */
export function oneTenant(query: string | undefined, body: string | undefined, pointer: string): string | undefined {
  if (query === undefined || body === undefined || query === body) return body ?? query;
  const detail = "differs from ?tenant=; give only one of the two";
  throw validationFailed([{ pointer, code: "conflicting_fields", detail }]);
}

export function namedTenant(query: Query): string | undefined {
  return query.size === 0 ? undefined : TenantParameter.read(query);
}
