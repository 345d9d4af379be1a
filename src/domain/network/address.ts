/**
 * IP addresses and blocks: parsing, matching, the IPv4 addresses embedded in IPv6 ones, and which addresses a delivery
 * may go to. We keep our own table of blocks: `ipaddr.js` parses and matches, but its `range()` calls `::7f00:1`,
 * `4000::1` and Azure's `168.63.129.16` unicast.
 */
import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

/** Plain data, so that it can be sent to a thread. */
export interface AddressRules {
  /**
   * Allowed in addition to the public addresses. A metadata address, or one of this host's own, needs an entry for
   * exactly that address.
   */
  readonly allowCidrs: readonly string[];
  /** Refused, whatever else is allowed. */
  readonly denyCidrs: readonly string[];
  /** Networks allowed for some tenants only. */
  readonly tenants: readonly TenantNetworks[];
  /** `--dev` allows 127.0.0.0/8 and ::1, even as own addresses. */
  readonly allowLoopback: boolean;
  /** The port of our own API, which is never allowed on an address of this host. 0 while it is unknown. */
  readonly ownPort: number;
}

export interface TenantNetworks {
  readonly names: readonly string[];
  readonly allowCidrs: readonly string[];
}

export type AddressFault = "address_not_public" | "address_metadata" | "address_denied" | "address_self";

/** An address to be dialled, and the tenant for which it is dialled. */
export interface Call {
  readonly ip: string;
  readonly port: number;
  readonly tenant: string;
}

interface Opened {
  readonly allow: readonly Cidr[];
  /** The entries of `allow` that name a single address. */
  readonly named: readonly Cidr[];
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

/** The only block from which IANA allocates. */
const GLOBAL_V6 = cidrs(["2000::/3"]);

const NOT_PUBLIC_V6 = cidrs([
  "2001::/23", // Teredo, benchmarking, AMT, AS112, ORCHID, DRIP
  "2001:db8::/32",
  "2002::/16", // 6to4
  "2620:4f:8000::/48", // AS112
  "3ffe::/16", // returned 6bone space
  "3fff::/20", // documentation
]);

/** Cloud metadata services. Azure's WireServer and Oracle's service are in space that looks public or half public. */
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
/** Addresses that count as this host whatever the interfaces say. An unspecified address leads to this host too. */
const THIS_HOST = [...LOOPBACK, ...cidrs(["0.0.0.0/8", "::"])];

/** Judges all addresses, for registrations, deliveries, alerts and probes. Nothing else does. */
export class AddressPolicy {
  readonly #rules: AddressRules;
  readonly #deny: readonly Cidr[];
  readonly #opened: Opened;
  readonly #openedTo = new Map<string, Opened>();
  readonly #ownAddresses: () => readonly string[];
  #lastRead: readonly string[] = [];
  #own: readonly Cidr[] = THIS_HOST;

  /** `ownAddresses` is called at each check, because they change while the daemon runs. */
  constructor(rules: AddressRules, ownAddresses: () => readonly string[]) {
    this.#rules = rules;
    this.#deny = cidrs(rules.denyCidrs);
    this.#opened = opened(rules.allowCidrs);
    this.#ownAddresses = ownAddresses;
    for (const tenant of new Set(rules.tenants.flatMap(({ names }) => names))) {
      const theirs = rules.tenants.filter(({ names }) => names.includes(tenant));
      this.#openedTo.set(tenant, opened([...rules.allowCidrs, ...theirs.flatMap(({ allowCidrs }) => allowCidrs)]));
    }
  }

  /** Returns null if a delivery may go there. Text that is not an address counts as not public. */
  check(call: Call): AddressFault | null {
    const address = parseAddress(call.ip);
    if (address === null) return "address_not_public";
    // A gateway forwards to the embedded address, so check that too.
    const ways = [address, ...carriedBy(address)];
    if (ways.some((each) => within(each, this.#deny))) return "address_denied";
    const { allow, named } = this.#openedFor(call.tenant);
    const isOwn = ways.some((each) => within(each, this.#ownBlocks()));
    if (!within(address, named)) {
      if (ways.some((each) => within(each, METADATA))) return "address_metadata";
      if (!this.#opensLoopback(address)) {
        if (!ways.every((each) => isPublic(each) || within(each, allow))) return "address_not_public";
        if (isOwn) return "address_self";
      }
    }
    return isOwn && call.port === this.#rules.ownPort ? "address_self" : null;
  }

  isOwnPort(port: number): boolean {
    return port === this.#rules.ownPort;
  }

  /**
   * Checks an open connection. If both ends have the same address, it did not leave this host, whatever was known of
   * the host's addresses.
   */
  checkEnds(call: Call, localAddress: string): AddressFault | null {
    const address = parseAddress(call.ip);
    const local = parseAddress(localAddress);
    if (address === null || local === null || address.toString() !== local.toString()) return null;
    const isOpen = within(address, this.#openedFor(call.tenant).named) || this.#opensLoopback(address);
    return isOpen && call.port !== this.#rules.ownPort ? null : "address_self";
  }

  #openedFor(tenant: string): Opened {
    return this.#openedTo.get(tenant) ?? this.#opened;
  }

  #opensLoopback(address: Address): boolean {
    return this.#rules.allowLoopback && within(address, LOOPBACK);
  }

  #ownBlocks(): readonly Cidr[] {
    const read = this.#ownAddresses();
    if (read !== this.#lastRead) {
      this.#lastRead = read;
      this.#own = [...THIS_HOST, ...cidrs(read)];
    }
    return this.#own;
  }
}

/** True if the text may be an entry of `allowCidrs` or `denyCidrs`: an address, or an address and a prefix length. */
export function isCidr(text: string): boolean {
  return parseCidr(text) !== null;
}

function opened(allowCidrs: readonly string[]): Opened {
  const allow = cidrs(allowCidrs);
  return { allow, named: allow.filter(isSingle) };
}

function isPublic(address: Address): boolean {
  return isV4(address)
    ? !within(address, NOT_PUBLIC_V4)
    : within(address, GLOBAL_V6) && !within(address, NOT_PUBLIC_V6);
}

export type Address = ipaddr.IPv4 | ipaddr.IPv6;
export type Cidr = readonly [network: Address, prefix: number];

export function within(address: Address, list: readonly Cidr[]): boolean {
  return list.some(
    // `match` throws on a network of the other family.
    ([network, prefix]) =>
      network.kind() === address.kind() && (address as ipaddr.IPv6).match(network as ipaddr.IPv6, prefix),
  );
}

export function isV4(address: Address): address is ipaddr.IPv4 {
  return address.kind() === "ipv4";
}

/** Null for zones, and for the octal, hex and short spellings that `ipaddr.js` also reads. */
export function parseAddress(text: string): Address | null {
  return isIP(text) === 0 || text.includes("%") ? null : ipaddr.parse(text);
}

/** True for an ordinary address of the public network. False for text that is not an address. */
export function isGlobal(text: string): boolean {
  return parseAddress(text)?.range() === "unicast";
}

/** Formats an address from its 4 or 16 bytes, as the kernel does. */
export function addressOf(bytes: Uint8Array): string {
  return ipaddr.fromByteArray([...bytes]).toString();
}

export function parseCidr(text: string): Cidr | null {
  const [, host = "", digits] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const address = parseAddress(host);
  if (address === null) return null;
  const prefix = digits === undefined ? bitsOf(address) : Number(digits);
  return prefix <= bitsOf(address) ? [address, prefix] : null;
}

export function cidrs(list: readonly string[]): Cidr[] {
  return list.map((text) => {
    const cidr = parseCidr(text);
    if (cidr === null) throw new RangeError(`not an address or CIDR block: ${text}`);
    return cidr;
  });
}

/** True if a block is a single address. */
export function isSingle([network, prefix]: Cidr): boolean {
  return prefix === bitsOf(network);
}

function bitsOf(address: Address): number {
  return isV4(address) ? 32 : 128;
}

interface Carrier {
  readonly blocks: readonly Cidr[];
  /** Reads the IPv4 addresses from the sixteen bytes. */
  readonly read: (bytes: readonly number[]) => number[][];
}

const CARRIERS: readonly Carrier[] = [
  {
    // Mapped, compatible, translated (RFC 6145), and NAT64 by its well-known prefix (RFC 6052).
    blocks: cidrs(["::ffff:0:0/96", "::/96", "::ffff:0:0:0/96", "64:ff9b::/96"]),
    read: (bytes) => [bytes.slice(12)],
  },
  { blocks: cidrs(["64:ff9b:1::/48"]), read: readLocalNat64 },
  // 6to4 (RFC 3056).
  { blocks: cidrs(["2002::/16"]), read: (bytes) => [bytes.slice(2, 6)] },
  // Teredo (RFC 4380): the server, and the client with its bits inverted.
  {
    blocks: cidrs(["2001::/32"]),
    read: (bytes) => [bytes.slice(4, 8), bytes.slice(12).map((byte) => byte ^ 0xff)],
  },
];
/** These lie within the block of compatible addresses, but embed nothing. */
const NO_CARRIERS = cidrs(["::", "::1"]);

/** Returns the IPv4 addresses embedded in an IPv6 address, to which a gateway would forward. */
export function carriedBy(address: Address): Address[] {
  if (isV4(address) || within(address, NO_CARRIERS)) return [];
  const carrier = CARRIERS.find(({ blocks }) => within(address, blocks));
  return carrier === undefined ? [] : carrier.read(address.toByteArray()).map((bytes) => new ipaddr.IPv4(bytes));
}

/**
 * Reads NAT64 with the operator's own prefix (RFC 8215), whose length cannot be seen: 96, 64, 56 or 48 bits (RFC 6052
 * §2.2). Every reading counts that yields an address which a host can have.
 */
function readLocalNat64(bytes: readonly number[]): number[][] {
  const readings = [
    [12, 13, 14, 15],
    [9, 10, 11, 12],
    [7, 9, 10, 11],
    [6, 7, 9, 10],
  ].map((at) => at.map((index) => bytes[index]!));
  const possible = readings.filter(([first]) => first! > 0 && first! < 224);
  return possible.length > 0 ? possible : [bytes.slice(12)];
}
