/**
 * Which addresses a delivery may go to. The table is ours: `ipaddr.js` parses and matches, but its `range()` calls
 * `::7f00:1`, `4000::1` and Azure's `168.63.129.16` unicast.
 */
import { carriedBy, cidrs, isSingle, isV4, parseAddress, parseCidr, within } from "./address-blocks.ts";
import type { Address, Cidr } from "./address-blocks.ts";

/** Plain data, so that it can be sent to a thread. */
export interface AddressRules {
  /** Opened beside the public addresses. A metadata or own address needs an entry of exactly that address. */
  readonly allowCidrs: readonly string[];
  /** Refused before everything else. */
  readonly denyCidrs: readonly string[];
  /** Opened to some tenants alone. */
  readonly tenants: readonly TenantNetworks[];
  /** `--dev`: 127.0.0.0/8 and ::1 are open, own addresses or not. */
  readonly allowLoopback: boolean;
  /** The port of our own API, which nothing opens on an address of this host. 0 while it is not known. */
  readonly ownPort: number;
}

export interface TenantNetworks {
  readonly names: readonly string[];
  readonly allowCidrs: readonly string[];
}

export type AddressFault = "address_not_public" | "address_metadata" | "address_denied" | "address_self";

/** What is to be dialled, and on behalf of which tenant. */
export interface Call {
  readonly ip: string;
  readonly port: number;
  readonly tenant: string;
}

interface Opened {
  readonly allow: readonly Cidr[];
  /** The entries of `allow` that name one address. */
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

/** The only block IANA allocates from. */
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
/** Whatever the interfaces say; an unspecified address leads to this host too. */
const THIS_HOST = [...LOOPBACK, ...cidrs(["0.0.0.0/8", "::"])];

/** The one place that judges addresses, for registrations, deliveries, alerts and probes. */
export class AddressPolicy {
  readonly #rules: AddressRules;
  readonly #deny: readonly Cidr[];
  readonly #opened: Opened;
  readonly #openedTo = new Map<string, Opened>();
  readonly #ownAddresses: () => readonly string[];
  #lastRead: readonly string[] = [];
  #own: readonly Cidr[] = THIS_HOST;

  /** `ownAddresses` is asked at each check, because they change while the daemon runs. */
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

  /** Null when a delivery may go there. Text that is no address is not public. */
  check(call: Call): AddressFault | null {
    const address = parseAddress(call.ip);
    if (address === null) return "address_not_public";
    // A gateway sends on to the address inside.
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

  /** Of a connection: one that begins where it ends did not leave this host, whatever was known of its addresses. */
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

/** Whether the text can stand in `allowCidrs` or `denyCidrs`: an address, or an address and a prefix length. */
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
