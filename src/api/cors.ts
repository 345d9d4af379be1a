/**
 * Pages of `[server] allowed_origins` calling the API (WHATWG Fetch 3.3): with a key that they hold, never with cookies.
 * Whether a page may call at all is origin.ts; what is here lets its browser hand over the answer.
 */
import type { IncomingMessage } from "node:http";
import type { Header, Reply } from "./route.ts";

const METHODS = "GET, HEAD, POST, PUT, PATCH, DELETE";
const REQUEST_HEADERS = [
  "Authorization",
  "Content-Type",
  "Idempotency-Key",
  "If-Match",
  "If-None-Match",
  "Last-Event-ID",
  "traceparent",
  "tracestate",
].join(", ");
const ANSWER_HEADERS = [
  "X-Request-Id",
  "Location",
  "Link",
  "ETag",
  "Allow",
  "Retry-After",
  "RateLimit",
  "RateLimit-Policy",
  "Idempotency-Replayed",
  "WWW-Authenticate",
].join(", ");
/** A browser asks again after so long, so that an origin that was taken away is soon refused. */
const KNOWN_FOR_SECONDS = "600";

/** Also of answers that have no word for the page: a cache must not give one page what was said to another. */
const VARY: Header = ["vary", "Origin"];

/** The answer to a browser that asks whether a page may send a request; null for what is no such question. */
export function preflight({ method, headers }: IncomingMessage): Reply | null {
  if (method !== "OPTIONS" || headers.origin === undefined) return null;
  if (headers["access-control-request-method"] === undefined) return null;
  // The same for every path and method: whoever has no key learns nothing of what there is.
  const allowed: Header[] = [
    ["access-control-allow-methods", METHODS],
    ["access-control-allow-headers", REQUEST_HEADERS],
    ["access-control-max-age", KNOWN_FOR_SECONDS],
  ];
  return { status: 204, type: "", body: null, headers: allowed };
}

/** What every answer carries, errors as well: a page has to be able to read why it was refused. */
export function pageHeaders(allowed: readonly string[], { headers: { origin } }: IncomingMessage): readonly Header[] {
  if (allowed.length === 0) return [];
  if (origin === undefined || !allowed.includes(origin)) return [VARY];
  return [VARY, ["access-control-allow-origin", origin], ["access-control-expose-headers", ANSWER_HEADERS]];
}
