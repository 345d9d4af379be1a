/**
 * Who a request comes from, and by which name it was called, when the operator's proxies stand between. What
 * `X-Forwarded-*` says counts only from `[server] trusted_proxies`: anybody can send these headers.
 */
import type { IncomingMessage } from "node:http";
import { BlockList, isIP } from "node:net";

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
  clientOf(req: IncomingMessage): string {
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
