/**
 * The tokens of OAuth 2.0 clients, kept in memory only. Endpoints of one tenant that have the same client share its
 * token, and one request for it at a time. Token servers are called like receivers, behind the egress guard.
 */
import type { Clock } from "../../clock.ts";
import { evidenceOf, noResponse, type Outcome } from "../../domain/deliveries/attempt.ts";
import type { OAuth2Auth } from "../../domain/endpoints/auth.ts";
import { readToken, timesOf, tokenRequest } from "../../domain/endpoints/token.ts";
import { unawaited } from "../../domain/unawaited.ts";
import type { Exchange } from "../http/exchange.ts";

/** After a failure, this long passes before the server is asked again. */
const AGAIN_AFTER_MS = 1000;
/** A receiver that refuses every token gets a new one no more often than this. */
const REFUSED_AGAIN_MS = 30_000;

export interface KeptToken {
  readonly value: string;
  /** Monotonic milliseconds. */
  readonly renewAt: number;
  readonly usableUntil: number;
}

/** The outcome of an attempt that got no token. */
export interface NoToken {
  readonly why: Outcome;
}

export interface TokensParts {
  readonly clock: Clock;
  readonly open: (url: string, tenant: string) => Pick<Exchange, "post" | "abort" | "close">;
  /** A request for a token may take at most this long. */
  readonly limitMs: number;
}

export class Tokens {
  readonly #parts: TokensParts;
  readonly #clients = new Map<string, { readonly client: TokenClient; users: number }>();

  constructor(parts: TokensParts) {
    this.#parts = parts;
  }

  /** Each call needs a `leave` with the same client. */
  join(tenant: string, auth: OAuth2Auth): TokenClient {
    const name = nameOf(tenant, auth);
    const entry = this.#clients.get(name) ?? { client: new TokenClient(this.#parts, tenant, auth), users: 0 };
    entry.users += 1;
    this.#clients.set(name, entry);
    return entry.client;
  }

  async leave(tenant: string, auth: OAuth2Auth): Promise<void> {
    const name = nameOf(tenant, auth);
    const entry = this.#clients.get(name);
    if (entry === undefined || --entry.users > 0) return;
    this.#clients.delete(name);
    await entry.client.close();
  }
}

function nameOf(tenant: string, auth: OAuth2Auth): string {
  const { tokenUrl, clientId, clientSecret, scope, audience, clientAuth } = auth;
  return JSON.stringify([tenant, tokenUrl, clientId, clientSecret, scope, audience, clientAuth]);
}

export class TokenClient {
  readonly #parts: TokensParts;
  readonly #auth: OAuth2Auth;
  readonly #path: string;
  readonly #exchange: ReturnType<TokensParts["open"]>;
  #token: KeptToken | null = null;
  #fetching: Promise<KeptToken | NoToken> | null = null;
  #failure: (NoToken & { readonly at: number }) | null = null;
  /** When a receiver's 401 last replaced the token, on the monotonic clock. */
  #refusedAt = Number.NEGATIVE_INFINITY;

  constructor(parts: TokensParts, tenant: string, auth: OAuth2Auth) {
    this.#parts = parts;
    this.#auth = auth;
    const { href, origin } = new URL(auth.tokenUrl);
    this.#path = href.slice(origin.length);
    this.#exchange = parts.open(auth.tokenUrl, tenant);
  }

  /** Returns the token in memory, or null. If it ends soon, another one is fetched meanwhile. */
  kept(): KeptToken | null {
    const token = this.#token;
    const now = this.#parts.clock.monotonic();
    if (token === null || now >= token.usableUntil) return null;
    if (now >= token.renewAt && this.#fetching === null && !this.#hasJustFailed(now)) unawaited(this.#begin());
    return token;
  }

  /** Returns a new token, or why there is none. All that ask at the same time get the same answer. */
  fetch(): Promise<KeptToken | NoToken> {
    if (this.#fetching !== null) return this.#fetching;
    const failure = this.#failure;
    const now = this.#parts.clock.monotonic();
    return failure !== null && this.#hasJustFailed(now) ? Promise.resolve(failure) : this.#begin();
  }

  /** A receiver answered 401 to this token. Returns the one that replaces it, or null if there is none. */
  async afterRefusal(refused: KeptToken): Promise<KeptToken | null> {
    if (this.#token !== null && this.#token !== refused) return this.kept();
    const now = this.#parts.clock.monotonic();
    if (this.#token === refused) {
      if (now - this.#refusedAt < REFUSED_AGAIN_MS) return null;
      this.#refusedAt = now;
      this.#token = null;
    }
    const found = await this.fetch();
    return "why" in found ? null : found;
  }

  abort(): void {
    this.#exchange.abort();
  }

  close(): Promise<void> {
    return this.#exchange.close();
  }

  #hasJustFailed(now: number): boolean {
    return this.#failure !== null && now - this.#failure.at < AGAIN_AFTER_MS;
  }

  #begin(): Promise<KeptToken | NoToken> {
    this.#fetching = this.#ask().finally(() => (this.#fetching = null));
    return this.#fetching;
  }

  async #ask(): Promise<KeptToken | NoToken> {
    const { clock, limitMs } = this.#parts;
    const askedAt = clock.monotonic();
    const { headers, body } = tokenRequest(this.#auth);
    const request = { method: "POST", path: this.#path, headers, body, keepsAll: true } as const;
    const outcome = await this.#exchange.post(request, limitMs);
    const found = tokenOf(outcome);
    if (typeof found === "string") {
      const why = noToken(found, outcome);
      // A shutdown or a shortage of this host says nothing about the server.
      this.#failure = why.ours ? null : { why, at: clock.monotonic() };
      return { why };
    }
    this.#failure = null;
    const { renewAfterMs, usableMs } = timesOf(found.lifetimeMs);
    this.#token = { value: found.value, renewAt: askedAt + renewAfterMs, usableUntil: askedAt + usableMs };
    return this.#token;
  }
}

function tokenOf({ statusCode, bodyError, detail, responseBody, responseTruncated }: Outcome) {
  // The details of attempts speak of a receiver.
  if (statusCode === null) return detail.replaceAll("the receiver", "the token server");
  return readToken({
    statusCode,
    body: responseBody,
    isWhole: bodyError === null,
    isTooLarge: responseTruncated,
  });
}

/** The evidence about this host's network counts, as it does for an attempt. */
function noToken(sentence: string, { error, evidence, ours, durationMs }: Outcome): Outcome {
  const known = evidence ?? evidenceOf(error);
  return noResponse(ours ? "interrupted" : "token_error", `no token: ${sentence}`, durationMs, { evidence: known });
}
