/**
 * The head of a request, judged before anything is done with it: its framing, its Host and its target. All of it is
 * outside text, so nothing here throws, and no later step builds a URL from what was not judged.
 */
import type { IncomingMessage } from "node:http";

type Head = Pick<IncomingMessage, "method" | "url" | "httpVersion" | "headers" | "rawHeaders">;

export interface Target {
  readonly path: string;
  /** With its question mark; empty if there is none. */
  readonly search: string;
  /** Of an absolute-form target, as it was written; null for any other. */
  readonly authority: string | null;
}

const ABSOLUTE = /^https?:\/\/([^/?#]*)([^?]*)(\?.*)?$/is;

/** Reads any text: what is no target is a path where there is nothing, and `headFault` says why. */
export function targetOf(text: string): Target {
  const [, authority = null, path = text, query = ""] = text.startsWith("/") ? [] : (ABSOLUTE.exec(text) ?? []);
  if (authority !== null) return { authority, path: path === "" ? "/" : path, search: query };
  const end = text.indexOf("?");
  return end < 0
    ? { path: text, search: "", authority }
    : { path: text.slice(0, end), search: text.slice(end), authority };
}

/** Says what is wrong and how to write it; null when nothing is. Over the unix socket no Host is read, so any will do. */
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

/** Given twice, two readers could choose different ones (RFC 9110 5.3); Node itself refuses a second content-length. */
const SINGLE = ["host", "authorization", "content-type", "content-encoding", "origin"];
/** Most headers have another length than these. To compare names takes longer than all the rest of this. */
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

/** A host and perhaps a port, as URLs have them: `256.1.1.1` and `a:99999` look like it and are not. */
export function isAuthority(text: string): boolean {
  return AUTHORITY.test(text) && URL.canParse(`http://${text}`);
}

/** RFC 9112 3.2: a path, a whole URL as proxies send it, or the asterisk of OPTIONS. */
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
