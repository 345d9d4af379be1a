/**
 * The request for a token of an OAuth 2.0 server with client credentials (RFC 6749, 4.4), and how its answer is read.
 */
import { utf8Of } from "../utf8.ts";
import { basicAuthorization, type OAuth2Auth } from "./auth.ts";

export interface TokenRequest {
  /** Names and values alternate. */
  readonly headers: string[];
  readonly body: Uint8Array;
}

export function tokenRequest({ clientId, clientSecret, scope, audience, clientAuth }: OAuth2Auth): TokenRequest {
  const form = new URLSearchParams({ grant_type: "client_credentials" });
  if (scope !== null) form.set("scope", scope);
  if (audience !== null) form.set("audience", audience);
  const headers = ["content-type", "application/x-www-form-urlencoded", "accept", "application/json"];
  if (clientAuth === "basic")
    headers.push("authorization", basicAuthorization(formEncoded(clientId), formEncoded(clientSecret)));
  else {
    form.set("client_id", clientId);
    form.set("client_secret", clientSecret);
  }
  return { headers, body: Buffer.from(form.toString()) };
}

/** RFC 6749, 2.3.1, asks for this encoding inside basic auth. */
function formEncoded(text: string): string {
  return new URLSearchParams({ _: text }).toString().slice(2);
}

export interface Token {
  readonly value: string;
  readonly lifetimeMs: number;
}

/** An answer of a token server, as far as it was read. */
export interface TokenAnswer {
  readonly statusCode: number;
  readonly body: Uint8Array;
  /** True if the whole body was read. */
  readonly isWhole: boolean;
  readonly isTooLarge: boolean;
}

/** The lifetime of a token whose server does not say how long it lasts. A 401 renews it sooner. */
const UNKNOWN_LIFETIME_MS = 300_000;
const MAX_LIFETIME_MS = 86_400_000;
const MAX_TOKEN = 8192;

/** RFC 6749, 5.2. Any other code is text from outside, and is not repeated. */
const ERROR_CODES = [
  "invalid_request",
  "invalid_client",
  "invalid_grant",
  "unauthorized_client",
  "unsupported_grant_type",
  "invalid_scope",
];

/** Returns the token, or a sentence that says why there is none. The sentence has no text from outside. */
export function readToken({ statusCode, body, isWhole, isTooLarge }: TokenAnswer): Token | string {
  const fields = fieldsOf(body);
  if (statusCode < 200 || statusCode > 299) {
    const code = ERROR_CODES.find((known) => known === fields?.error);
    return `the token server answered ${statusCode}${code === undefined ? "" : ` (${code})`}`;
  }
  if (isTooLarge) return "the answer of the token server is larger than 16 KiB";
  if (!isWhole) return "the answer of the token server ended too early";
  if (fields === null) return "the answer of the token server is not a JSON object";
  const { access_token: value, token_type: type = "bearer", expires_in: seconds } = fields;
  if (typeof value !== "string" || value === "") return "the answer of the token server has no access_token";
  if (value.length > MAX_TOKEN || !/^[\x21-\x7e]+$/.test(value))
    return "the token server gave a token that cannot be sent in a header";
  if (typeof type !== "string" || type.toLowerCase() !== "bearer")
    return "the token server gave a token of another type than Bearer";
  return { value, lifetimeMs: lifetimeOf(seconds) };
}

function lifetimeOf(seconds: unknown): number {
  const ms = Number(seconds) * 1000;
  return seconds !== null && ms > 0 ? Math.min(ms, MAX_LIFETIME_MS) : UNKNOWN_LIFETIME_MS;
}

function fieldsOf(body: Uint8Array): Readonly<Record<string, unknown>> | null {
  try {
    const found: unknown = JSON.parse(utf8Of(body));
    return typeof found === "object" && found !== null && !Array.isArray(found) ? { ...found } : null;
  } catch {
    return null;
  }
}

/** A token is replaced in the background in the last quarter of its lifetime, and not used in the last tenth. */
export function timesOf(lifetimeMs: number): { readonly renewAfterMs: number; readonly usableMs: number } {
  return { renewAfterMs: lifetimeMs * 0.75, usableMs: lifetimeMs * 0.9 };
}
