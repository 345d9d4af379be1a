/**
 * Which URLs may be registered. The WHATWG parser repairs what it reads: it drops tabs and newlines inside a host, turns
 * `\` into `/`, decodes percent signs, reads `0x7f.1` as an address. So the raw text is judged before it, the parsed form
 * after it, in the order of `docs/interface.md` (Codes); the first fault wins. The guard that counts stands at the
 * connection.
 */
import { isIP } from "node:net";
import type { AddressFault, AddressPolicy } from "./address.ts";
import type { FieldCode } from "../errors.ts";
import { checkHostName } from "./host.ts";
import { isPortAllowed } from "./port.ts";

export interface UrlPolicy {
  /** `http://` too, on port 80 or an allowed one. */
  readonly allowHttp: boolean;
  /** `"any"` still leaves out the Fetch standard's bad ports. */
  readonly ports: readonly number[] | "any";
  readonly allowIpHosts: boolean;
  readonly address: AddressPolicy;
  /** Whose endpoint it is to be. */
  readonly tenant: string;
  /** `--dev`: the host name `localhost` and any port. */
  readonly dev: boolean;
}

export interface UrlFault {
  readonly code: FieldCode;
  readonly detail: string;
}

export const MAX_URL_BYTES = 2048;
const TOO_LONG = fault("url_too_long", `the URL is longer than ${MAX_URL_BYTES} bytes`);

/** Controls, white space, what is invisible or dropped by the parser (soft hyphen, zero width, bidi), lone surrogates. */
const FORBIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{White_Space}\p{Default_Ignorable_Code_Point}\p{Noncharacter_Code_Point}\\]/u;
const SCHEME = /^([a-z][a-z0-9+.-]*):/i;
const AUTHORITY = /^[a-z]+:\/\/([^/?#]+)/i;

const ADDRESS_DETAIL: Record<AddressFault, string> = {
  address_not_public: "the address is not public; [egress] allow_cidrs can open it",
  address_metadata: "the address is a cloud metadata service",
  address_denied: "the address is in [egress] deny_cidrs",
  address_self: "the address is one of this host",
};

/** The URL in its WHATWG form, which is what is stored and used, or its first fault. */
export function checkEndpointUrl(raw: string, policy: UrlPolicy): { readonly url: string } | UrlFault {
  const rawFault = checkRaw(raw, policy);
  if (rawFault !== null) return rawFault;
  if (!URL.canParse(raw)) return fault("url_invalid", "this is not a valid URL");
  const url = new URL(raw);
  const parsedFault = checkHost(url, rawHost(raw), policy) ?? checkPort(url, policy);
  if (parsedFault !== null) return parsedFault;
  // Percent-encoding can triple the length.
  return url.href.length > MAX_URL_BYTES ? TOO_LONG : { url: url.href };
}

function checkRaw(raw: string, policy: UrlPolicy): UrlFault | null {
  if (Buffer.byteLength(raw) > MAX_URL_BYTES) return TOO_LONG;
  if (FORBIDDEN.test(raw)) {
    return fault("url_forbidden_char", "the URL holds white space, a backslash, a control or an invisible character");
  }
  const scheme = SCHEME.exec(raw)?.[1]?.toLowerCase();
  if (scheme !== undefined && scheme !== "https" && !(scheme === "http" && policy.allowHttp)) {
    return fault("url_scheme", "the URL must begin with https://");
  }
  const authority = AUTHORITY.exec(raw)?.[1];
  if (authority === undefined) return fault("url_invalid", "the URL must be https:// and a host");
  if (authority.includes("@")) return fault("url_userinfo", "the URL holds credentials; use headers for them");
  if (raw.includes("#")) return fault("url_fragment", "the URL has a fragment, which is never sent");
  if (authority.includes("%")) return fault("host_invalid", "the host is percent-encoded or has a zone");
  return null;
}

function checkHost(url: URL, written: string, policy: UrlPolicy): UrlFault | null {
  const literal = url.hostname.replace(/^\[(.*)\]$/, "$1");
  if (isIP(literal) === 0) return policy.dev && url.hostname === "localhost" ? null : checkHostName(url.hostname);
  const code = policy.address.check({ ip: literal, port: portOf(url), tenant: policy.tenant });
  if (code !== null) return fault(code, ADDRESS_DETAIL[code]);
  if (written.toLowerCase() !== url.hostname) {
    return fault("host_noncanonical", `the address is spelled unusually; write ${url.hostname}`);
  }
  if (!policy.allowIpHosts) return fault("host_is_ip", "[egress] allow_ip_hosts is off: name the host");
  return null;
}

function checkPort(url: URL, policy: UrlPolicy): UrlFault | null {
  const port = portOf(url);
  // Allowing http without its port would allow nothing.
  const plain = url.protocol === "http:" && port === 80;
  if (plain || isPortAllowed(port, policy.dev ? "any" : policy.ports)) return null;
  return fault("port_not_allowed", `port ${port} is not allowed; [egress] ports names those that are`);
}

export function portOf(url: URL): number {
  if (url.port !== "") return Number(url.port);
  return url.protocol === "https:" ? 443 : 80;
}

/** The host as it was written, without the port. */
function rawHost(raw: string): string {
  return (AUTHORITY.exec(raw)?.[1] ?? "").replace(/:\d*$/, "");
}

function fault(code: FieldCode, detail: string): UrlFault {
  return { code, detail };
}
