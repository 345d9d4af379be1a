/**
 * Checks where a request comes from before looking at any key: its client and proxies, its host name, and the web page
 * that sent it. Foreign pages and misconfigured proxies are refused here. Pages in `[server] allowed_origins` call with
 * a key that they hold, never with cookies (WHATWG Fetch 3.3).
 */
import type { IncomingMessage } from "node:http";
import { BlockList, isIP } from "node:net";
import type { Config } from "../../config.ts";
import { isLoopback } from "../../domain/network/url.ts";
import { WebhookdError } from "../../domain/errors.ts";
import { isAuthority, targetOf } from "../server/request-head.ts";
import type { Header, Reply } from "./reply.ts";

/**
 * True if the path has a dot segment. URL parsers resolve `..` and `%2e%2e`, so a proxy in front of us that does not
 * would let through a path that it should block. We serve nothing at such a path.
 */
export function hasDots(path: string): boolean {
  return /[/\\](?:\.|%2e){1,2}(?:[/\\]|$)/i.test(path);
}

/**
 * Throws `misdirected` for a host name that is not ours, because DNS rebinding makes a page's own name resolve to
 * 127.0.0.1. A loopback bind knows its names; for any other, only `allowed_hosts` can list them. Addresses need not be
 * listed: nobody can rebind one, and it is all that the probes of a cluster and Prometheus name. If a chain of proxies
 * gives several names, each must be ours, since nothing says which proxy added which.
 */
export function hostCheck(
  { listen, allowedHosts }: Config["server"],
  proxies: Proxies,
): (req: IncomingMessage, open: boolean) => void {
  const loopback = isLoopback(listen.host);
  if (!loopback && allowedHosts.length === 0) return () => {};
  const known = new Set(["localhost", "127.0.0.1", "[::1]", bracketed(listen.host), ...allowedHosts.map(lower)]);
  /** The name in the last request. Keep it, because clients seldom change it. */
  let last = "";
  const isOurs = (host: string) => {
    if (host !== "" && host === last) return true;
    const authority = lower(host);
    if (!known.has(authority) && !known.has(authority.replace(/:\d+$/, ""))) return false;
    last = host;
    return true;
  };
  return (req, open) => {
    const forwarded = proxies.hostsOf(req);
    const authority = authorityOf(req);
    // A load balancer that speaks HTTP/1.0 sends no Host. Browsers, which this check is about, always send one.
    if (open && forwarded === null && authority === null && req.httpVersion === "1.0") return;
    if (forwarded === null ? isOurs(authority ?? "") : forwarded.every(isOurs)) return;
    if (forwarded === null && authority !== null && !loopback && isAddress(authority)) return;
    throw new WebhookdError("misdirected", "this host name is not served here; see [server] allowed_hosts");
  };
}

/** Returns the host that the request names. In an absolute-form target the authority replaces Host (RFC 9112 3.2.2). */
function authorityOf(req: IncomingMessage): string | null {
  const { authority } = targetOf(req.url ?? "");
  return authority ?? req.headers.host ?? null;
}

/** Returns the origin that the caller used, as browsers write it, or null if it named no valid one. */
export function originOf(
  req: IncomingMessage,
  { tls, behindProxy }: Pick<Config["server"], "tls" | "behindProxy">,
  proxies: Proxies,
): string | null {
  const host = proxies.hostsOf(req)?.[0] ?? authorityOf(req);
  if (host === null || !isAuthority(host)) return null;
  return URL.parse(`${tls === null && !behindProxy ? "http" : "https"}://${host}`)?.origin ?? null;
}

function bracketed(host: string): string {
  return isIP(host) === 6 ? `[${host}]` : lower(host);
}

/** True for an address as `Host` has it: with or without a port, and IPv6 in brackets. */
function isAddress(authority: string): boolean {
  const host = authority.replace(/:\d+$/, "");
  return host.startsWith("[") ? isIP(host.slice(1, -1)) === 6 : isIP(host) === 4;
}

function lower(text: string): string {
  return text.toLowerCase();
}

/**
 * Finds the client of a request and the host name that it used, behind the operator's proxies. Only `[server]
 * trusted_proxies` are believed about `X-Forwarded-*`, because anybody can send these headers.
 */
export class Proxies {
  readonly #trusted: BlockList | null;

  /** Networks such as `10.0.0.0/8`. An IPv4 network also matches IPv4-mapped IPv6 addresses. */
  constructor(networks: readonly string[]) {
    this.#trusted = networks.length === 0 ? null : new BlockList();
    for (const network of networks) {
      const [address = "", bits] = network.split("/");
      this.#trusted!.addSubnet(address, Number(bits), familyOf(address));
    }
  }

  /**
   * Returns the nearest address that is not a trusted proxy. The list is read from the right, because each proxy
   * appends the address it saw. An entry that is not an address ends the search. Empty for the unix socket.
   */
  clientOf(req: Pick<IncomingMessage, "socket" | "headers">): string {
    let client = req.socket.remoteAddress ?? "";
    if (this.#trusted === null || !this.#trusts(client)) return client;
    for (const entry of listOf(req.headers["x-forwarded-for"]).toReversed()) {
      const address = addressIn(entry);
      if (isIP(address) === 0) break;
      client = address;
      if (!this.#trusts(client)) break;
    }
    return client;
  }

  /** Returns the host names that a trusted proxy reports, or null if there are none and `Host` counts. */
  hostsOf(req: IncomingMessage): readonly string[] | null {
    if (this.#trusted === null) return null;
    const hosts = listOf(req.headers["x-forwarded-host"]);
    return hosts.length > 0 && this.#trusts(req.socket.remoteAddress ?? "") ? hosts : null;
  }

  #trusts(address: string): boolean {
    return isIP(address) !== 0 && this.#trusted!.check(address, familyOf(address));
  }
}

function listOf(header: string | string[] | undefined): string[] {
  return String(header ?? "")
    .split(",")
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "");
}

/** Removes the port that some proxies add: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
function addressIn(entry: string): string {
  const [, address] = /^\[([^\]]*)\](?::\d+)?$/.exec(entry) ?? /^([^:]*):\d+$/.exec(entry) ?? [];
  return address ?? entry;
}

function familyOf(address: string): "ipv4" | "ipv6" {
  return isIP(address) === 6 ? "ipv6" : "ipv4";
}

/**
 * Throws `browser_origin` for a request with an Origin header, which comes from a page, unless the page is allowed.
 * `own` returns the origins of pages that we serve.
 */
export function originCheck(
  allowed: readonly string[],
  own: (req: IncomingMessage) => readonly unknown[],
): (req: IncomingMessage, isTrusted: boolean) => void {
  return (req, isTrusted) => {
    const { origin } = req.headers;
    if (origin === undefined || allowed.includes(origin)) return;
    // Browsers cannot use the unix socket, so a server in front of it must be listed in allowed_origins.
    if (!isTrusted && own(req).includes(origin)) return;
    throw new WebhookdError("browser_origin", "requests from web pages are refused; see [server] allowed_origins");
  };
}

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
  "Deprecation",
  "Sunset",
].join(", ");
/** The browser asks again after this time, so that an origin is refused soon after it is removed. */
const KNOWN_FOR_SECONDS = "600";

/** Sent with every answer, since a cache must not give one page the answer for another. */
const VARY: Header = ["vary", "Origin"];

/** Answers a browser's preflight request, or returns null if the request is something else. */
export function preflight({ method, headers }: IncomingMessage): Reply | null {
  if (method !== "OPTIONS" || headers.origin === undefined) return null;
  if (headers["access-control-request-method"] === undefined) return null;
  // Every path and method gets the same answer, so that a caller without a key learns nothing about the routes.
  const allowed: Header[] = [
    ["access-control-allow-methods", METHODS],
    ["access-control-allow-headers", REQUEST_HEADERS],
    ["access-control-max-age", KNOWN_FOR_SECONDS],
  ];
  return { status: 204, type: "", body: null, headers: allowed };
}

/** Headers of every answer if pages are allowed, errors included: a page must be able to read why it was refused. */
export function pageHeaders(allowed: readonly string[], { headers: { origin } }: IncomingMessage): readonly Header[] {
  if (origin === undefined || !allowed.includes(origin)) return [VARY];
  return [VARY, ["access-control-allow-origin", origin], ["access-control-expose-headers", ANSWER_HEADERS]];
}
