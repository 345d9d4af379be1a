/** Names for tests: a list of answers to inject, and a DNS server on its own port for the real resolver. */
import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import { isIPv6, SocketAddress } from "node:net";
import type { AddressInfo } from "node:net";
import { dnsFault, type Resolve } from "../../src/delivery/http/resolver.ts";

/** The result of one lookup. An empty list means that the name does not exist. */
export type Answer = readonly string[] | "servfail" | "stall";

/** Gives one answer per lookup of a name and repeats the last one. It records every lookup. */
export class FakeDns {
  readonly lookups: string[] = [];
  readonly #answers: Readonly<Record<string, readonly Answer[]>>;

  constructor(answers: Readonly<Record<string, readonly Answer[]>>) {
    this.#answers = answers;
  }

  readonly resolve: Resolve = (hostname) => {
    const seen = this.lookups.filter((name) => name === hostname).length;
    this.lookups.push(hostname);
    const answers = this.#answers[hostname] ?? [[]];
    const answer = answers[Math.min(seen, answers.length - 1)] ?? [];
    if (answer === "stall") return new Promise(() => {});
    if (answer === "servfail") return Promise.reject(dnsFault(["ESERVFAIL"]));
    return answer.length === 0 ? Promise.reject(dnsFault(["ENOTFOUND"])) : Promise.resolve(answer);
  };
}

const TYPE_A = 1;
const TYPE_AAAA = 28;
const SERVFAIL = 2;
const NXDOMAIN = 3;

/** A name server on UDP that knows only the given names. */
export class DnsServer {
  readonly questions: string[] = [];
  readonly #socket: Socket;
  readonly #zone: Readonly<Record<string, Answer>>;
  #open = true;

  private constructor(socket: Socket, zone: Readonly<Record<string, Answer>>) {
    this.#socket = socket;
    this.#zone = zone;
    socket.on("message", (query, from) => {
      const reply = this.#reply(query);
      if (reply !== null) socket.send(reply, from.port, from.address);
    });
  }

  static async start(zone: Readonly<Record<string, Answer>>, host = "127.0.0.1", port = 0): Promise<DnsServer> {
    const socket = createSocket("udp4");
    socket.bind(port, host);
    await once(socket, "listening");
    return new DnsServer(socket, zone);
  }

  get address(): string {
    return `127.0.0.1:${(this.#socket.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    if (!this.#open) return;
    this.#open = false;
    await new Promise<void>((resolve) => this.#socket.close(() => resolve()));
  }

  /**
   * Builds a response as in RFC 1035, section 4: the header, the question, then one record per address of the asked
   * type.
   */
  #reply(query: Buffer): Buffer | null {
    const { name, end } = readName(query);
    const type = query.readUInt16BE(end);
    this.questions.push(`${name} ${type === TYPE_AAAA ? "AAAA" : "A"}`);
    const answer = this.#zone[name] ?? [];
    if (answer === "stall") return null;
    const ips = answer === "servfail" ? [] : answer.filter((ip) => isIPv6(ip) === (type === TYPE_AAAA));
    const code = answer === "servfail" ? SERVFAIL : answer.length === 0 ? NXDOMAIN : 0;
    const header = Buffer.alloc(12);
    query.copy(header, 0, 0, 2);
    header.writeUInt16BE(0x8180 | code, 2);
    header.writeUInt16BE(1, 4);
    header.writeUInt16BE(ips.length, 6);
    return Buffer.concat([header, query.subarray(12, end + 4), ...ips.map((ip) => record(ip, type))]);
  }
}

function readName(query: Buffer): { name: string; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at]!; length !== 0; length = query[at]!) {
    labels.push(query.toString("latin1", at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join(".").toLowerCase(), end: at + 1 };
}

function record(ip: string, type: number): Buffer {
  const bytes = type === TYPE_A ? Buffer.from(ip.split(".").map(Number)) : ipv6Bytes(ip);
  const head = Buffer.alloc(12);
  // A pointer to the question's name; class IN; TTL 0.
  head.writeUInt16BE(0xc00c, 0);
  head.writeUInt16BE(type, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt16BE(bytes.length, 10);
  return Buffer.concat([head, bytes]);
}

function ipv6Bytes(ip: string): Buffer {
  const [head = "", tail = ""] = new SocketAddress({ address: ip, family: "ipv6" }).address.split("::");
  const zeros = Array.from({ length: 8 - groups(head).length - groups(tail).length }, () => "0");
  return Buffer.from(
    [...groups(head), ...zeros, ...groups(tail)].map((group) => group.padStart(4, "0")).join(""),
    "hex",
  );
}

function groups(text: string): string[] {
  return text === "" ? [] : text.split(":");
}
