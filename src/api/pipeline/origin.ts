/**
 * Where a request comes from, before any key is looked at: from which client behind which proxies, called by which host
 * name, and sent by which web page. Strange pages and confused proxies are kept out here. Pages of `[server]
 * allowed_origins` call with a key that they hold, never with cookies (WHATWG Fetch 3.3).
 */
import type { IncomingMessage } from "node:http";
import { BlockList, isIP } from "node:net";
import type { Config } from "../../config.ts";
import { isLoopback } from "../../domain/network/url.ts";
import { WebhookdError } from "../../domain/errors.ts";
import { isAuthority, targetOf } from "../server/request-head.ts";
import type { Header, Reply } from "./reply.ts";

/**
 * Whether the path has a segment of dots. URL readers resolve it, `%2e%2e` too, so that a proxy in front, which does
 * not, would let through what it was told to keep out: there is nothing at such a path.
 */
export function hasDots(path: string): boolean {
  return /[/\\](?:\.|%2e){1,2}(?:[/\\]|$)/i.test(path);
}

/**
 * Throws `misdirected` for a name that is not ours (DNS rebinding makes a page's own name resolve to 127.0.0.1). A
 * loopback bind knows its names; any other is reached by names that only `allowed_hosts` can tell. Of the names that a
 * chain of proxies was called by, each must be ours: nobody says which of them added which.
 */
export function hostCheck(
  { listen, allowedHosts }: Config["server"],
  proxies: Proxies,
): (req: IncomingMessage, open: boolean) => void {
  const loopback = isLoopback(listen.host);
  if (!loopback && allowedHosts.length === 0) return () => {};
  const known = new Set(["localhost", "127.0.0.1", "[::1]", bracketed(listen.host), ...allowedHosts.map(lower)]);
  /** As it was last given: clients seldom change the name that they call. */
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
    // A load balancer that speaks HTTP/1.0 has no name to give, and a browser, whom this is about, always gives one.
    if (open && forwarded === null && authority === null && req.httpVersion === "1.0") return;
    if (forwarded === null ? isOurs(authority ?? "") : forwarded.every(isOurs)) return;
    throw new WebhookdError("misdirected", "this host name is not served here; see [server] allowed_hosts");
  };
}

/** In an absolute-form target the authority replaces what Host says (RFC 9112 3.2.2). Null where neither names one. */
function authorityOf(req: IncomingMessage): string | null {
  const { authority } = targetOf(req.url ?? "");
  return authority ?? req.headers.host ?? null;
}

/** The origin that the caller named, as browsers write it; null where it named none that could be one. */
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

function lower(text: string): string {
  return text.toLowerCase();
}

/**
 * Who a request comes from, and by which name it was called, when the operator's proxies stand between. What
 * `X-Forwarded-*` says counts only from `[server] trusted_proxies`: anybody can send these headers.
 */
export class Proxies {
  readonly #trusted: BlockList | null;

  /** Networks as `10.0.0.0/8`; an IPv4 network also holds its addresses as an IPv6 socket spells them. */
  constructor(networks: readonly string[]) {
    this.#trusted = networks.length === 0 ? null : new BlockList();
    for (const network of networks) {
      const [address = "", bits] = network.split("/");
      this.#trusted!.addSubnet(address, Number(bits), familyOf(address));
    }
  }

  /**
   * The nearest address that is no trusted proxy. Read from the right, because every proxy adds the address it saw
   * behind what it was told; what is not an address ends the search. Empty for the unix socket.
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

  /** The names that a trusted proxy was called by; null when there is none, so that `Host` says it. */
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

/** Some proxies add the port: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
function addressIn(entry: string): string {
  const [, address] = /^\[([^\]]*)\](?::\d+)?$/.exec(entry) ?? /^([^:]*):\d+$/.exec(entry) ?? [];
  return address ?? entry;
}

function familyOf(address: string): "ipv4" | "ipv6" {
  return isIP(address) === 6 ? "ipv6" : "ipv4";
}

/** Throws `browser_origin`: a request that carries an Origin comes from a page. `own` are those that we serve ourselves. */
export function originCheck(
  allowed: readonly string[],
  own: (req: IncomingMessage) => readonly unknown[],
): (req: IncomingMessage, isTrusted: boolean) => void {
  return (req, isTrusted) => {
    const { origin } = req.headers;
    if (origin === undefined || allowed.includes(origin)) return;
    // Browsers do not speak to the unix socket: what puts it behind a name of its own has to say so.
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

/** What every answer carries where pages are allowed, errors as well: a page has to be able to read why it was refused. */
export function pageHeaders(allowed: readonly string[], { headers: { origin } }: IncomingMessage): readonly Header[] {
  if (origin === undefined || !allowed.includes(origin)) return [VARY];
  return [VARY, ["access-control-allow-origin", origin], ["access-control-expose-headers", ANSWER_HEADERS]];
}
