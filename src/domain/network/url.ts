/**
 * Checks which URLs may be registered. The WHATWG parser repairs its input: it drops tabs and newlines inside a host,
 * turns `\` into `/`, decodes percent signs, and reads `0x7f.1` as an address. So this checks the raw text before
 * parsing and the parsed form after it, in the order of `docs/interface.md` (Codes), and reports the first fault. The
 * network itself is protected by the egress guard at the connection.
 */
import { isIP } from "node:net";
import type { AddressFault, AddressPolicy, Call } from "./address.ts";
import type { FieldCode } from "../errors.ts";

export interface UrlPolicy {
  /** Allows `http://` too, on port 80 or an allowed one. */
  readonly allowHttp: boolean;
  /** `"any"` still excludes the Fetch standard's bad ports. */
  readonly ports: readonly number[] | "any";
  readonly allowIpHosts: boolean;
  /** Names of private networks, in addition to the public ones: `hook`, or `*.internal` for all names below it. */
  readonly allowHosts: readonly string[];
  readonly address: AddressPolicy;
  /** The tenant of the endpoint to be registered. */
  readonly tenant: string;
  /** `--dev` allows the host name `localhost` and any port. */
  readonly dev: boolean;
}

export interface UrlFault {
  readonly code: FieldCode;
  readonly detail: string;
  /** The setting that causes the refusal. Shown only to operators, because a customer cannot change it. */
  readonly setting?: string;
}

export const MAX_URL_BYTES = 2048;
const TOO_LONG = fault("url_too_long", `the URL is longer than ${MAX_URL_BYTES} bytes`);

/**
 * Controls, white space, characters that are invisible or that the parser drops (soft hyphen, zero width, bidi), lone
 * surrogates.
 */
const FORBIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{White_Space}\p{Default_Ignorable_Code_Point}\p{Noncharacter_Code_Point}\\]/u;
/** Characters that join emoji and some scripts. In a path or query they are percent-encoded, and so harmless. */
const JOINING = /\u200c|\u200d|[\ufe00-\ufe0f]/gu;
const SCHEME = /^([a-z][a-z0-9+.-]*):/i;
/** The text from its beginning to the end of the host, however that is written. */
const HOST_PART = /^[^/?#\\]*[/\\]*[^/?#\\]*/;
const AUTHORITY = /^[a-z]+:\/\/([^/?#]+)/i;

const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
/** No public name has an underscore, but Compose makes such names. */
const PRIVATE_LABEL = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/;
const MAX_NAME = 253;

/** Public names of cloud metadata services. */
const METADATA = [
  "metadata.goog",
  "metadata.tencentyun.com",
  "api.metadata.cloud.ibm.com",
  "metadata.platformequinix.com",
  "metadata.packet.net",
];

/** Private names of these services, which nothing allows. */
const PRIVATE_METADATA = ["metadata", "metadata.google.internal", "instance-data", "instance-data.ec2.internal"];

/** RFC 6761 and its registry, and the suffixes that private networks use. */
const SPECIAL_USE = [
  "localhost",
  "local",
  "internal",
  "intranet",
  "private",
  "corp",
  "home",
  "lan",
  "localdomain",
  "home.arpa",
  "in-addr.arpa",
  "ip6.arpa",
  "test",
  "invalid",
  "example",
  "onion",
  "alt",
];

/** The Fetch standard's "bad ports": other protocols listen there, and a crafted request could speak to them. */
const BAD_PORTS = new Set([
  0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109, 110,
  111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532,
  540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061,
  6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
]);

const ADDRESS_FAULT: Record<AddressFault, string> = {
  address_not_public: "the address is not public",
  address_metadata: "the address belongs to a cloud metadata service",
  address_denied: "the address is not allowed",
  address_self: "the address belongs to this host",
};

/** Returns the URL in its WHATWG form, which is the one stored and used, or its first fault. */
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
  const [host = ""] = HOST_PART.exec(raw) ?? [];
  if (FORBIDDEN.test(host + raw.slice(host.length).replace(JOINING, ""))) {
    return fault(
      "url_forbidden_char",
      "the URL contains white space, a backslash, a control character or an invisible character",
    );
  }
  const scheme = SCHEME.exec(raw)?.[1]?.toLowerCase();
  if (scheme !== undefined && scheme !== "https" && !(scheme === "http" && policy.allowHttp)) {
    const setting = scheme === "http" ? "--dev or [egress] allow_http = true allows http://" : undefined;
    return fault("url_scheme", "the URL must begin with https://", setting);
  }
  const authority = AUTHORITY.exec(raw)?.[1];
  if (authority === undefined) return fault("url_invalid", "the URL must be https:// followed by a host");
  if (authority.includes("@")) return fault("url_userinfo", "the URL contains credentials; put them in a header");
  if (raw.includes("#")) return fault("url_fragment", "the URL has a fragment, which is never sent");
  if (authority.includes("%")) return fault("host_invalid", "the host is percent-encoded or has a zone id");
  return null;
}

function checkHost(url: URL, written: string, policy: UrlPolicy): UrlFault | null {
  const literal = url.hostname.replace(/^\[(.*)\]$/, "$1");
  if (isIP(literal) === 0) {
    const isAllowed = (policy.dev && url.hostname === "localhost") || isPrivate(url.hostname, policy.allowHosts);
    return isAllowed ? null : checkHostName(url.hostname);
  }
  const call = { ip: literal, port: portOf(url), tenant: policy.tenant };
  const code = policy.address.check(call);
  if (code !== null) return fault(code, ADDRESS_FAULT[code], addressSetting(code, call, policy));
  if (written.toLowerCase() !== url.hostname) {
    return fault("host_noncanonical", `the address is written in an unusual form; write ${url.hostname}`);
  }
  if (!policy.allowIpHosts)
    return fault("host_is_ip", "use a host name, not an address", "[egress] allow_ip_hosts is off");
  return null;
}

function addressSetting(code: AddressFault, { ip, port }: Call, { address, dev }: UrlPolicy): string | undefined {
  const block = `"${ip}/${isIP(ip) === 4 ? 32 : 128}"`;
  switch (code) {
    case "address_denied":
      return "it is in [egress] deny_cidrs";
    case "address_metadata":
      return undefined;
    case "address_self":
    case "address_not_public":
      if (address.isOwnPort(port) && (code === "address_self" || isLoopback(ip)))
        return "no setting allows webhookd's own port on this host";
      if (isLoopback(ip) && !dev) return `--dev allows it, and so does [egress] allow_cidrs = [${block}]`;
      return `[egress] allow_cidrs = [${block}] allows it`;
  }
}

function isPrivate(name: string, patterns: readonly string[]): boolean {
  return isPrivateName(name) && patterns.some((pattern) => matches(name, pattern));
}

function matches(name: string, pattern: string): boolean {
  return pattern.startsWith("*.") ? name.endsWith(pattern.slice(1)) : name === pattern;
}

/** True if a setting may allow the name. */
function isPrivateName(name: string): boolean {
  const isName = name.length <= MAX_NAME && name.split(".").every((label) => PRIVATE_LABEL.test(label));
  return isName && !isMetadata(name);
}

function isMetadata(name: string): boolean {
  return isUnder(name, METADATA) || isUnder(name, PRIVATE_METADATA);
}

/** Returns why `allowHosts` cannot have the text, as the end of "is not …". Null if it can. */
export function hostPatternFault(pattern: string): string | null {
  const name = pattern.replace(/^\*\./, "");
  const form = 'a list of host names such as "hook", "app.internal" or "*.svc.cluster.local"';
  if (parseAddressLike(name)) return `${form}; addresses belong in allow_cidrs`;
  // Names in URLs come in the form of the URL parser, so an entry in any other form would never match.
  if (!isHostOfUrl(name) || !name.split(".").every((label) => PRIVATE_LABEL.test(label)) || name.length > MAX_NAME)
    return form;
  return isMetadata(name) ? `${form}; nothing allows cloud metadata services` : null;
}

/** True for an address or a block of addresses. */
function parseAddressLike(text: string): boolean {
  return isIP(text.replace(/\/\d+$/, "").replace(/^\[|\]$/g, "")) !== 0;
}

function isHostOfUrl(name: string): boolean {
  return URL.parse(`https://${name}/`)?.hostname === name;
}

/**
 * Judges a name only by its spelling, because registration does no DNS look-up. `name` is the output of the URL parser:
 * ASCII, lower case, no address literal.
 */
function checkHostName(name: string): UrlFault | null {
  if (name.endsWith(".")) return fault("host_trailing_dot", "the host name ends with a dot");
  if (name.length > MAX_NAME || !name.split(".").every((label) => LABEL.test(label))) {
    const detail = "the host is not a DNS name of letters, digits and hyphens";
    return fault("host_invalid", detail, hostSetting(name));
  }
  if (isUnder(name, METADATA)) return fault("host_metadata", "the host is a cloud metadata service");
  if (isUnder(name, SPECIAL_USE)) {
    const setting = name === "localhost" ? "--dev allows it" : hostSetting(name);
    return fault("host_special_use", "the host is under a special-use or private suffix", setting);
  }
  if (!name.includes(".")) return fault("host_single_label", "the host name is a single label", hostSetting(name));
  return null;
}

function hostSetting(name: string): string | undefined {
  if (!isPrivateName(name)) return undefined;
  return `[egress] allow_hosts = ["${name}"] allows the name, and allow_cidrs the network that it leads to`;
}

function isUnder(name: string, suffixes: readonly string[]): boolean {
  return suffixes.some((suffix) => name === suffix || name.endsWith(`.${suffix}`));
}

function checkPort(url: URL, policy: UrlPolicy): UrlFault | null {
  const port = portOf(url);
  // Allowing http without its port would allow nothing.
  const plain = url.protocol === "http:" && port === 80;
  if (plain || isPortAllowed(port, policy.dev ? "any" : policy.ports)) return null;
  return fault("port_not_allowed", `port ${port} is not allowed`, "[egress] ports lists the allowed ones");
}

function isPortAllowed(port: number, allowed: readonly number[] | "any"): boolean {
  return allowed === "any" ? !BAD_PORTS.has(port) : allowed.includes(port);
}

export function portOf(url: URL): number {
  if (url.port !== "") return Number(url.port);
  return url.protocol === "https:" ? 443 : 80;
}

/** True if a host name or address can only be this host. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."));
}

/** Returns the host as it was written, without the port. */
function rawHost(raw: string): string {
  return (AUTHORITY.exec(raw)?.[1] ?? "").replace(/:\d*$/, "");
}

function fault(code: FieldCode, detail: string, setting: string | undefined = undefined): UrlFault {
  return setting === undefined ? { code, detail } : { code, detail, setting };
}

/** Returns the full detail, for operators. */
export function wholeDetail({ detail, setting }: UrlFault): string {
  return setting === undefined ? detail : `${detail}; ${setting}`;
}
