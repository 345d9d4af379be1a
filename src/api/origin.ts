/** What keeps web pages and confused proxies out, before any key is looked at. */
import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";
import type { Config } from "../config.ts";
import { isLoopback } from "../domain/address.ts";
import { WebhookdError } from "../domain/errors.ts";
import type { Proxies } from "./proxies.ts";

/** Given twice, two readers could choose different ones (RFC 9110 5.3); Node itself refuses a second content-length. */
const SINGLE = new Set(["host", "authorization", "content-type", "content-encoding", "origin"]);

export function checkFraming(req: IncomingMessage): void {
  const seen = new Set<string>();
  for (let index = 0; index < req.rawHeaders.length; index += 2) {
    const name = lower(req.rawHeaders[index]!);
    if (!SINGLE.has(name)) continue;
    if (seen.has(name)) throw new WebhookdError("bad_request", `there are two ${name} headers`);
    seen.add(name);
  }
  if (req.httpVersion === "1.1" && !seen.has("host")) throw new WebhookdError("bad_request", "there is no host header");
}

/**
 * Whether the path has a segment of dots. URL readers resolve it, `%2e%2e` too, so that a proxy in front, which does
 * not, would let through what it was told to keep out: there is nothing at such a path.
 */
export function hasDots({ url = "" }: IncomingMessage): boolean {
  return /[/\\](?:\.|%2e){1,2}(?:[/\\]|$)/i.test(url.split(/[?#]/, 1)[0]!);
}

/** Throws `browser_origin`: a request that carries an Origin comes from a page. */
export function originCheck(allowed: readonly string[]): (req: IncomingMessage) => void {
  return (req) => {
    const { origin } = req.headers;
    if (origin === undefined || allowed.includes(origin)) return;
    throw new WebhookdError("browser_origin", "requests from web pages are refused; see [server] allowed_origins");
  };
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
  const isOurs = (host: string) => {
    const authority = lower(host);
    return known.has(authority) || known.has(authority.replace(/:\d+$/, ""));
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
  const target = req.url ?? "";
  if (target.startsWith("/") || !URL.canParse(target)) return req.headers.host ?? null;
  return new URL(target).host;
}

function bracketed(host: string): string {
  return isIP(host) === 6 ? `[${host}]` : lower(host);
}

function lower(text: string): string {
  return text.toLowerCase();
}
