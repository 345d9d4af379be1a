/**
 * Who is asking (bearer keys from the `Authorization` header alone, and the unix socket's owner), what they may do, and
 * whose data it is about: the key's tenant, or, for a key of `*`, the tenant that the request names.
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
import { TENANT } from "../../domain/id.ts";
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
  /** Null for whoever may open the unix socket. */
  readonly keyId: string | null;
  /** One tenant's name, or `*`. */
  readonly tenant: string;
  readonly scopes: readonly Scope[];
  /** Whether the key is a portal link's: it hands nothing on. */
  readonly isPortal: boolean;
  /** The only endpoints that it is for (reach.ts); null for all of the tenant's. */
  readonly endpoints: readonly string[] | null;
  /** Whose limits it counts against; null for no limits. */
  readonly account: Account | null;
}

const NO_PORTAL = { isPortal: false, endpoints: null, account: null };
/** The file system said that this caller may do anything: the socket is 0600. */
export const OPERATOR: Principal = { keyId: null, tenant: "*", scopes: ["admin"], ...NO_PORTAL };
/** Whoever asks for an open route. */
export const ANYONE: Principal = { keyId: null, tenant: "", scopes: [], ...NO_PORTAL };

/** Compared with when there is no such key, so that a known id takes no longer than an unknown one. */
const NO_HASH = new Uint8Array(32);

/** Past this many keys the memory of their headers starts anew. */
const MAX_KNOWN = 10_000;

/** A key that a header opened: its id, and the stored hash that agreed with the header's secret. */
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
   * By the digest of their header. A publisher sends the same one each time, and to decode and hash it costs more than
   * all the rest of this. The key itself is asked for each time: only the store knows whether it was revoked.
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
    // A store that keeps keys in memory gives the very same hash, a database the same bytes.
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

  /** Once for all requests of a connection that have the same head. */
  #digestOf(req: IncomingMessage | PlainRequest, header: string): string {
    const head = req instanceof PlainRequest ? req.head : null;
    const before = head === null ? undefined : this.#digests.get(head);
    if (before !== undefined) return before;
    const digest = hash("sha256", header, "base64");
    if (head !== null) this.#digests.set(head, digest);
    return digest;
  }

  /** The key that the header opens, whether it may still be used or not. */
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

/** One text for every reason: whether a key exists, is revoked or expired is nobody's business. */
function unauthorized(): WebhookdError {
  return new WebhookdError("unauthorized", "send a valid key: Authorization: Bearer whk_…");
}

export const DEFAULT_TENANT = "default";
export const EVERY_TENANT = "*";

export const TenantParameter = textParameter(
  "tenant",
  "With a key for every tenant: the tenant to act for. Any other key may name only its own tenant.",
  TENANT,
  "is not a tenant name",
);

/** Where something new belongs. */
export function tenantToWrite(principal: Principal, named: string | undefined): string {
  const tenant = oneTenantOf(principal, named);
  if (tenant !== ALERT_TENANT) return tenant;
  throw new WebhookdError("forbidden", `${ALERT_TENANT} is reserved for the daemon's own events`);
}

/** The one tenant that is meant, also where a key of `*` names none. */
export function oneTenantOf(principal: Principal, named: string | undefined): string {
  if (principal.tenant === EVERY_TENANT) return named ?? DEFAULT_TENANT;
  if (named !== undefined && named !== principal.tenant) {
    throw new WebhookdError("forbidden", "this key belongs to another tenant");
  }
  return principal.tenant;
}

/** For what is about the daemon as a whole. */
export function requireEveryTenant(principal: Principal): void {
  if (principal.tenant === EVERY_TENANT) return;
  throw new WebhookdError(
    "forbidden",
    "this concerns every tenant, but the key belongs to one: use a key for tenant *",
  );
}

/** Where to look: null means everywhere, for a key of `*` that names no tenant. */
export function tenantToRead(principal: Principal, named: string | undefined): string | null {
  return principal.tenant === EVERY_TENANT && named === undefined ? null : oneTenantOf(principal, named);
}

/** The one that the query or the body names; throws `validation_failed` when they name two. */
export function oneTenant(query: string | undefined, body: string | undefined, pointer: string): string | undefined {
  if (query === undefined || body === undefined || query === body) return body ?? query;
  const detail = "differs from ?tenant=; give only one of the two";
  throw validationFailed([{ pointer, code: "conflicting_fields", detail }]);
}

export function namedTenant(query: Query): string | undefined {
  return query.size === 0 ? undefined : TenantParameter.read(query);
}
