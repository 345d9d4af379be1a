/** Addresses and blocks of them: reading, matching, and the IPv4 addresses that IPv6 addresses carry. */
import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

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

/** Null for zones and for the octal, hex and short spellings that `ipaddr.js` also reads. */
export function parseAddress(text: string): Address | null {
  return isIP(text) === 0 || text.includes("%") ? null : ipaddr.parse(text);
}

/** Whether it is an ordinary address of the public network; false for what is no address. */
export function isGlobal(text: string): boolean {
  return parseAddress(text)?.range() === "unicast";
}

/** From its 4 or 16 bytes, as the kernel spells it. */
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

/** Whether a block is a single address. */
export function isSingle([network, prefix]: Cidr): boolean {
  return prefix === bitsOf(network);
}

function bitsOf(address: Address): number {
  return isV4(address) ? 32 : 128;
}

interface Carrier {
  readonly blocks: readonly Cidr[];
  /** The IPv4 addresses in the sixteen bytes. */
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
/** They lie within the compatible addresses, and carry nothing. */
const NO_CARRIERS = cidrs(["::", "::1"]);

/** The IPv4 addresses that an IPv6 address stands for on its way, if any. */
export function carriedBy(address: Address): Address[] {
  if (isV4(address) || within(address, NO_CARRIERS)) return [];
  const carrier = CARRIERS.find(({ blocks }) => within(address, blocks));
  return carrier === undefined ? [] : carrier.read(address.toByteArray()).map((bytes) => new ipaddr.IPv4(bytes));
}

/**
 * NAT64 by a prefix of the operator's own (RFC 8215), whose length does not show: 96, 64, 56 or 48 bits (RFC 6052 §2.2).
 * Each reading counts that is an address which a host can have.
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
