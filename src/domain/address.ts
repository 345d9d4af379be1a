/**
 * Which addresses a delivery may go to. The table is ours: `ipaddr.js` parses and matches, but its `range()` calls
 * `::7f00:1`, `4000::1` and Azure's `168.63.129.16` unicast.
 */
import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

export interface AddressPolicy {
  /** Opened beside the public addresses. A metadata or own address needs an entry of exactly that address. */
  readonly allowCidrs: readonly string[];
  /** Refused before everything else. */
  readonly denyCidrs: readonly string[];
  /** The addresses of this host, to keep deliveries from our own services. */
  readonly ownAddresses: readonly string[];
  /** `--dev`: 127.0.0.0/8 and ::1 are open, own addresses or not. */
  readonly allowLoopback: boolean;
}

export type AddressFault = "address_not_public" | "address_metadata" | "address_denied" | "address_self";

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Cidr = readonly [network: Address, prefix: number];

interface CompiledPolicy {
  readonly allow: readonly Cidr[];
  /** The entries of `allow` that name one address. */
  readonly named: readonly Cidr[];
  readonly deny: readonly Cidr[];
  readonly own: readonly Cidr[];
  readonly allowLoopback: boolean;
}

/** IANA's special-purpose blocks (RFC 6890 and its registry), and multicast. */
const NOT_PUBLIC_V4 = cidrs([
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.31.196.0/24",
  "192.52.193.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "192.175.48.0/24",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/4",
  "240.0.0.0/4",
]);

/** The only block IANA allocates from; what embeds IPv4 addresses (mapped, compatible, NAT64) lies outside. */
const GLOBAL_V6 = cidrs(["2000::/3"]);

const NOT_PUBLIC_V6 = cidrs([
  "2001::/23", // Teredo, benchmarking, AMT, AS112, ORCHID, DRIP
  "2001:db8::/32",
  "2002::/16", // 6to4
  "2620:4f:8000::/48", // AS112
  "3ffe::/16", // returned 6bone space
  "3fff::/20", // documentation
]);

/** Cloud metadata services; Azure's WireServer and Oracle's stand in space that looks public or half public. */
const METADATA = cidrs([
  "169.254.169.254",
  "169.254.170.2",
  "169.254.170.23",
  "169.254.169.253",
  "169.254.42.42",
  "169.254.0.23",
  "100.100.100.200",
  "168.63.129.16",
  "192.0.0.192",
  "fd00:ec2::254",
  "fd00:ec2::23",
  "fd20:ce::254",
]);

const LOOPBACK = cidrs(["127.0.0.0/8", "::1"]);

const compiled = new WeakMap<AddressPolicy, CompiledPolicy>();

/** Null when a delivery may go to this address. Text that is no address is not public. */
export function checkAddress(ip: string, policy: AddressPolicy): AddressFault | null {
  const address = parseAddress(ip);
  if (address === null) return "address_not_public";
  const { allow, named, deny, own, allowLoopback } = compile(policy);
  const target = unmapped(address);
  if (within(address, deny) || within(target, deny)) return "address_denied";
  if (within(address, named)) return null;
  if (within(target, METADATA)) return "address_metadata";
  if (allowLoopback && within(address, LOOPBACK)) return null;
  if (!isPublic(address) && !within(address, allow)) return "address_not_public";
  return within(target, own) ? "address_self" : null;
}

/** Whether a host, by its name or address, can be nobody but this one. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."));
}

/** Whether the text can stand in `allowCidrs` or `denyCidrs`: an address, or an address and a prefix length. */
export function isCidr(text: string): boolean {
  return parseCidr(text) !== null;
}

function compile(policy: AddressPolicy): CompiledPolicy {
  let entry = compiled.get(policy);
  if (entry === undefined) {
    const allow = cidrs(policy.allowCidrs);
    entry = {
      allow,
      named: allow.filter(([network, prefix]) => prefix === bitsOf(network)),
      deny: cidrs(policy.denyCidrs),
      own: cidrs(policy.ownAddresses),
      allowLoopback: policy.allowLoopback,
    };
    compiled.set(policy, entry);
  }
  return entry;
}

function isPublic(address: Address): boolean {
  return isV4(address)
    ? !within(address, NOT_PUBLIC_V4)
    : within(address, GLOBAL_V6) && !within(address, NOT_PUBLIC_V6);
}

function within(address: Address, list: readonly Cidr[]): boolean {
  return list.some(
    // `match` throws on a network of the other family.
    ([network, prefix]) =>
      network.kind() === address.kind() && (address as ipaddr.IPv6).match(network as ipaddr.IPv6, prefix),
  );
}

/** The IPv4 address inside `::ffff:0:0/96`, so that neither deny-list nor metadata list is passed by in that spelling. */
function unmapped(address: Address): Address {
  return !isV4(address) && address.isIPv4MappedAddress() ? address.toIPv4Address() : address;
}

function bitsOf(address: Address): number {
  return isV4(address) ? 32 : 128;
}

function isV4(address: Address): address is ipaddr.IPv4 {
  return address.kind() === "ipv4";
}

/** Null for zones and for the octal, hex and short spellings that `ipaddr.js` also reads. */
function parseAddress(text: string): Address | null {
  return isIP(text) === 0 || text.includes("%") ? null : ipaddr.parse(text);
}

function parseCidr(text: string): Cidr | null {
  const [, host = "", digits] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const address = parseAddress(host);
  if (address === null) return null;
  const prefix = digits === undefined ? bitsOf(address) : Number(digits);
  return prefix <= bitsOf(address) ? [address, prefix] : null;
}

function cidrs(list: readonly string[]): Cidr[] {
  return list.map((text) => {
    const cidr = parseCidr(text);
    if (cidr === null) throw new RangeError(`not an address or CIDR block: ${text}`);
    return cidr;
  });
}
