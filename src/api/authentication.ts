/** Who is asking: bearer keys from the `Authorization` header alone, and the unix socket's owner. */
import type { IncomingMessage } from "node:http";
import type { Clock } from "../clock.ts";
import { WebhookdError } from "../domain/errors.ts";
import { isUsable, type Scope } from "../domain/key.ts";
import { matchesHash, parseToken } from "../domain/token.ts";
import type { Log } from "../log.ts";
import type { Store } from "../store/store.ts";
import type { ApiParts } from "./parts.ts";
import type { Proxies } from "./proxies.ts";
import { FailureThrottle } from "./throttle.ts";

export interface Principal {
  /** Null for whoever may open the unix socket. */
  readonly keyId: string | null;
  /** One tenant's name, or `*`. */
  readonly tenant: string;
  readonly scopes: readonly Scope[];
}

/** The file system said that this caller may do anything: the socket is 0600. */
export const OPERATOR: Principal = { keyId: null, tenant: "*", scopes: ["admin"] };
/** Whoever asks for an open route. */
export const ANYONE: Principal = { keyId: null, tenant: "", scopes: [] };

/** Compared with when there is no such key, so that a known id takes no longer than an unknown one. */
const NO_HASH = new Uint8Array(32);

export class Authentication {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #proxies: Proxies;
  readonly #throttle = new FailureThrottle();

  constructor({ store, clock, log }: Pick<ApiParts, "store" | "clock" | "log">, proxies: Proxies) {
    this.#store = store;
    this.#clock = clock;
    this.#log = log;
    this.#proxies = proxies;
  }

  /** Throws `unauthorized`, or `rate_limited` for a peer that failed too often; a valid key is never throttled. */
  async authenticate(req: IncomingMessage): Promise<Principal> {
    const header = req.headers.authorization;
    if (header === undefined) throw unauthorized();
    const token = /^bearer /i.test(header) ? parseToken(header.slice(7)) : null;
    const key = token === null ? null : await this.#store.getKey(token.keyId);
    const matches = token !== null && matchesHash(token.secret, key?.hash ?? NO_HASH);
    const now = this.#clock.now();
    if (key === null || !matches || !isUsable(key, now)) {
      throw this.#failure(req);
    }
    this.#store.touchKey(key.id, now);
    return { keyId: key.id, tenant: key.tenant, scopes: key.scopes };
  }

  #failure(req: IncomingMessage): WebhookdError {
    const client = this.#proxies.clientOf(req);
    const throttled = this.#throttle.fail(client, this.#clock.monotonic());
    if (throttled === null) return unauthorized();
    const detail = "too many failed authentications from this address";
    if (throttled.isNews) this.#log.warn({ client }, detail);
    return new WebhookdError("rate_limited", detail, { retryAfterSeconds: throttled.seconds });
  }
}

export function allows(principal: Principal, scope: Scope | "any" | "open"): boolean {
  if (scope === "any" || scope === "open") return true;
  const { scopes } = principal;
  if (scopes.includes(scope) || scopes.includes("admin")) return true;
  return scope === "read" && scopes.includes("manage");
}

/** One text for every reason: whether a key exists, is revoked or expired is nobody's business. */
function unauthorized(): WebhookdError {
  return new WebhookdError("unauthorized", "send a valid key: Authorization: Bearer whk_…");
}
