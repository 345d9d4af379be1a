/**
 * Checks the head of a request before anything else happens with it: its framing, its Host and its target. All of it is
 * outside text, so nothing here throws, and no later step builds a URL from unchecked text.
 */
import type { IncomingMessage } from "node:http";

type Head = Pick<IncomingMessage, "method" | "url" | "httpVersion" | "headers" | "rawHeaders">;

export interface Target {
  readonly path: string;
  /** Includes the question mark. Empty if there is no query. */
  readonly search: string;
  /** The authority of an absolute-form target, as it was written. Null for other forms. */
  readonly authority: string | null;
}

const ABSOLUTE = /^https?:\/\/([^/?#]*)([^?]*)(\?.*)?$/is;

/** Accepts any text. An invalid target becomes a path at which nothing is served, and `headFault` says why. */
export function targetOf(text: string): Target {
  const [, authority = null, path = text, query = ""] = text.startsWith("/") ? [] : (ABSOLUTE.exec(text) ?? []);
  if (authority !== null) return { authority, path: path === "" ? "/" : path, search: query };
  const end = text.indexOf("?");
  return end < 0
    ? { path: text, search: "", authority }
    : { path: text.slice(0, end), search: text.slice(end), authority };
}

/** Returns a sentence about what is wrong and how to write it, or null. Over the unix socket, any Host is accepted. */
export function headFault(head: Head, isTrusted: boolean): string | null {
  const { httpVersion, headers } = head;
  const doubled = doubledHeader(head);
  if (doubled !== null) return `there are two ${doubled} headers; send one`;
  if (httpVersion === "1.1" && headers.host === undefined) return "there is no host header; HTTP/1.1 requires one";
  if (!isTrusted && headers.host !== undefined && headers.host !== "" && !isAuthority(headers.host)) {
    return "the host header is not a host name or address, with or without a port; send the one of this daemon's URL";
  }
  return targetFault(head);
}

/**
 * If one of these were sent twice, two readers could choose different values (RFC 9110 5.3). Node refuses a second
 * content-length by itself.
 */
const SINGLE = ["host", "authorization", "content-type", "content-encoding", "origin"];
/** Most headers differ in length from these. Comparing names would take longer than all the rest of this function. */
const SINGLE_LENGTHS = new Set(SINGLE.map(({ length }) => length));

function doubledHeader({ rawHeaders }: Head): string | null {
  let seen = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!;
    if (!SINGLE_LENGTHS.has(name.length)) continue;
    const single = SINGLE.indexOf(name.toLowerCase());
    if (single < 0) continue;
    const bit = 1 << single;
    if ((seen & bit) !== 0) return SINGLE[single]!;
    seen |= bit;
  }
  return null;
}

const AUTHORITY = /^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d{0,5})?$/i;

/** True for a host with an optional port that URLs accept, so false for `256.1.1.1` or `a:99999`. */
export function isAuthority(text: string): boolean {
  return AUTHORITY.test(text) && URL.canParse(`http://${text}`);
}

/** RFC 9112 3.2 allows a path, a whole URL as proxies send it, or the asterisk of OPTIONS. */
function targetFault({ method, url = "" }: Head): string | null {
  if (/[^!-~]/.test(url)) return "the request target has a byte that is not visible ASCII; percent-encode it";
  if (url.includes("#")) return "the request target has a fragment; write # as %23, or leave it out";
  if (url === "*" && method === "OPTIONS") return null;
  const { path, authority } = targetOf(url);
  if (!path.startsWith("/")) return "the request target must be a path that begins with /, or a URL of http or https";
  if (authority !== null && !isAuthority(authority)) {
    return "the request target is a URL without a valid host; send the path alone";
  }
  return canDecode(path) ? null : "the path of the request target is not percent-encoded UTF-8; encode % as %25";
}

function canDecode(path: string): boolean {
  if (!path.includes("%")) return true;
  try {
    decodeURI(path);
    return true;
  } catch {
    return false;
  }
}
