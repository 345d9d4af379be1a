import { readFileSync } from "node:fs";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { createServer, type SecureContext, type TLSSocket } from "node:tls";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { AddressPolicy } from "../../../src/domain/network/address.ts";
import type { Dial } from "../../../src/delivery/http/dial.ts";
import { trust } from "../../../src/delivery/http/egress.ts";
import { Exchange } from "../../../src/delivery/http/exchange.ts";
import { DialSpy, type Route } from "../../harness/dial.ts";
import { FakeDns, type Answer } from "../../harness/dns.ts";
import {
  anAddressPolicy,
  LOOPBACK_TOO,
  PUBLIC_ONLY,
  signedRequest,
  testEgress,
  testTrust,
} from "../../harness/egress.ts";
import { TestReceiver } from "../../harness/receiver.ts";
import { certificate } from "../../harness/tls.ts";

const PUBLIC = "93.184.216.34";
const PUBLIC_V6 = "2606:2800:220:1:248:1893:25c8:1946";

const closers: (() => unknown)[] = [];
afterEach(async () => {
  vi.unstubAllEnvs();
  for (const close of closers.splice(0).toReversed()) await close();
});

interface Case {
  readonly exchange: Exchange;
  readonly spy: DialSpy;
  readonly dns: FakeDns;
  readonly receiver: TestReceiver;
}

/** Returns an endpoint's exchange. All addresses that it dials lead to one receiver on this host. */
async function wayTo(
  url: string,
  options: {
    answers?: Record<string, readonly Answer[]>;
    policy?: AddressPolicy;
    route?: Route;
    trust?: SecureContext;
    tenant?: string;
  } = {},
): Promise<Case> {
  const receiver = await TestReceiver.start([], { tls: url.startsWith("https:") });
  const dns = new FakeDns(options.answers ?? {});
  const spy = new DialSpy(options.route ?? receiver.port);
  const egress = testEgress({
    policy: options.policy ?? PUBLIC_ONLY,
    resolve: dns.resolve,
    dial: spy.dial,
    secureContext: options.trust ?? testTrust,
    restMs: 0,
  });
  const exchange = new Exchange(egress, url, options.tenant ?? "default");
  closers.push(async () => {
    await exchange.close();
    egress.close();
    await receiver.close();
  });
  return { exchange, spy, dns, receiver };
}

interface Entry {
  readonly id: string;
  readonly input: {
    readonly url: string;
    readonly dns?: readonly string[][];
    readonly config?: { allow_cidrs?: string[]; deny_cidrs?: string[]; own_addresses?: string[] };
    readonly env?: Readonly<Record<string, string>>;
  };
  readonly expect: { readonly verdict: "accept" | "refuse"; readonly stage: string; readonly code: string | null };
  readonly why: string;
}

const corpus = JSON.parse(readFileSync(new URL("../../corpora/ssrf-corpus.json", import.meta.url), "utf8")) as Entry[];

describe("the egress guard on the corpus", () => {
  const entries = corpus.filter((entry) => entry.expect.stage === "connect");
  it.each(entries.map((entry) => [entry.id, entry.why, entry] as const))("%s %s", async (_id, _why, entry) => {
    const { input, expect: wanted } = entry;
    for (const [name, value] of Object.entries(input.env ?? {})) vi.stubEnv(name, value);
    const { hostname } = new URL(input.url);
    const { exchange, spy, dns, receiver } = await wayTo(input.url, {
      answers: { [hostname]: input.dns ?? [] },
      policy: anAddressPolicy(
        { allowCidrs: input.config?.allow_cidrs ?? [], denyCidrs: input.config?.deny_cidrs ?? [] },
        input.config?.own_addresses,
      ),
    });
    const outcome = await exchange.post(signedRequest());

    expect(dns.lookups).toEqual([hostname]);
    if (wanted.verdict === "refuse") {
      expect(outcome).toMatchObject({ outcome: "failed", error: wanted.code });
      expect(spy.dialled).toEqual([]);
    } else {
      // Our certificates are not those that the corpus assumes, so only the dialled address counts.
      expect(input.dns![0]).toContain(spy.dialled[0]);
      expect(spy.dialled.length).toBe(1);
      expect(outcome.remoteAddress).toBe(spy.dialled[0]);
      if (outcome.outcome === "succeeded") expect(receiver.requests.length).toBe(1);
    }
  });
});

describe("the egress guard", () => {
  it.each([
    "http://127.0.0.1/",
    "http://[::1]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[64:ff9b::a00:1]/",
    "http://[fd00::1]/",
    "http://2130706433/",
    "http://0x7f.1/",
    "http://0/",
    "http://10.0.0.1/",
    "http://169.254.169.254/",
  ])("checks the literal address of %s, for which no look-up is made", async (url) => {
    const { exchange, spy, dns } = await wayTo(url);
    const outcome = await exchange.post(signedRequest());
    expect(outcome.error).toMatch(/^address_/);
    expect([spy.dialled, dns.lookups]).toEqual([[], []]);
  });

  it("dials a public literal address as it stands", async () => {
    const { exchange, spy, dns } = await wayTo(`http://[${PUBLIC_V6}]/`);
    expect(await exchange.post(signedRequest())).toMatchObject({ outcome: "succeeded", remoteAddress: PUBLIC_V6 });
    expect([spy.dialled, dns.lookups]).toEqual([[PUBLIC_V6], []]);
  });

  it("looks a name up once per connection, and not at all for a kept one", async () => {
    const { exchange, spy, dns } = await wayTo("http://rebind.example/", {
      answers: { "rebind.example": [[PUBLIC], ["127.0.0.1"]] },
    });
    await exchange.post(signedRequest());
    await exchange.post(signedRequest());
    expect([spy.dialled, dns.lookups]).toEqual([[PUBLIC], ["rebind.example"]]);
  });

  it("sends nothing to a socket that leads elsewhere than was vetted", async () => {
    const receiver = await TestReceiver.start();
    const dial = () => connect({ host: "127.0.0.1", port: receiver.port });
    const egress = testEgress({ policy: PUBLIC_ONLY, dial, resolve: () => Promise.resolve([PUBLIC]) });
    const exchange = new Exchange(egress, "http://hooks.example.com/", "default");
    expect(await exchange.post(signedRequest())).toMatchObject({ outcome: "failed", error: "address_not_public" });
    egress.close();
    await receiver.close();
    expect(receiver.requests).toEqual([]);
  });

  it("sends nothing over a connection whose two ends are the same address", async () => {
    const receiver = await TestReceiver.start();
    const spy = new DialSpy(receiver.port);
    const dial: Dial = (ip, port) =>
      Object.defineProperty(spy.dial(ip, port), "localAddress", { get: () => PUBLIC }) as Socket;
    const egress = testEgress({ policy: PUBLIC_ONLY, dial, resolve: () => Promise.resolve([PUBLIC]) });
    const exchange = new Exchange(egress, "http://hooks.example.com/", "default");
    expect(await exchange.post(signedRequest())).toMatchObject({ outcome: "failed", error: "address_self" });
    expect(spy.sockets.map(({ bytesWritten }) => bytesWritten)).toEqual([0]);
    egress.close();
    await receiver.close();
    expect(receiver.requests).toEqual([]);
  });

  it("goes where its tenant may go, and no other's", async () => {
    const tenants = [{ names: ["acme"], allowCidrs: ["10.0.0.0/8"] }];
    const policy = anAddressPolicy({ tenants });
    const acme = await wayTo("http://10.1.1.1/", { policy, tenant: "acme" });
    expect(await acme.exchange.post(signedRequest())).toMatchObject({ outcome: "succeeded" });
    const other = await wayTo("http://10.1.1.1/", { policy, tenant: "other" });
    expect(await other.exchange.post(signedRequest())).toMatchObject({ error: "address_not_public" });
    expect(other.spy.dialled).toEqual([]);
  });

  it("knows that an IPv6 address has several spellings", async () => {
    const { exchange } = await wayTo("http://spelled.example/", {
      answers: { "spelled.example": [["2606:2800:0220:0001:0248:1893:25C8:1946"]] },
    });
    expect(await exchange.post(signedRequest())).toMatchObject({ outcome: "succeeded" });
  });

  it("opens loopback in development alone", async () => {
    const { exchange } = await wayTo("http://127.0.0.1/", { policy: LOOPBACK_TOO });
    expect(await exchange.post(signedRequest())).toMatchObject({ outcome: "succeeded" });
  });
});

describe("TLS to a receiver", () => {
  const answers = { "hooks.example.com": [[PUBLIC]] };

  it("trusts the authorities of ca_file, and those alone beside the public ones", async () => {
    const trusting = await wayTo("https://hooks.example.com/", { answers });
    const outcome = await trusting.exchange.post(signedRequest());
    expect(outcome).toMatchObject({ outcome: "succeeded", phases: { tlsMs: expect.any(Number) } });
    const wary = await wayTo("https://hooks.example.com/", { answers, trust: trust() });
    expect(await wary.exchange.post(signedRequest())).toMatchObject({ outcome: "failed", error: "tls_error" });
  });

  it("checks certificates whatever the environment says", async () => {
    vi.stubEnv("NODE_TLS_REJECT_UNAUTHORIZED", "0");
    const { exchange, receiver } = await wayTo("https://hooks.example.com/", { answers, trust: trust() });
    expect(await exchange.post(signedRequest())).toMatchObject({ error: "tls_error" });
    expect(receiver.requests).toEqual([]);
  });

  it("checks the certificate of a literal address too", async () => {
    const right = await wayTo(`https://${PUBLIC}/`);
    expect(await right.exchange.post(signedRequest())).toMatchObject({ outcome: "succeeded" });
    const wrong = await wayTo("https://93.184.216.35/");
    expect(await wrong.exchange.post(signedRequest())).toMatchObject({ error: "tls_error" });
  });

  it("names the host, offers HTTP/1.1 alone, and resumes its session on the next connection", async () => {
    const seen: { name: unknown; alpn: unknown; resumed: boolean }[] = [];
    const server = createServer({ ...certificate("good"), ALPNProtocols: ["h2", "http/1.1"] }, (socket: TLSSocket) => {
      seen.push({ name: socket.servername, alpn: socket.alpnProtocol, resumed: socket.isSessionReused() });
      socket.on("error", () => {});
      socket.once("data", () => socket.end("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"));
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    closers.push(() => server.close());
    const { port } = server.address() as { port: number };
    const { exchange } = await wayTo("https://hooks.example.com./", { answers, route: port });
    for (let i = 0; i < 2; i++) expect(await exchange.post(signedRequest())).toMatchObject({ statusCode: 200 });
    const literal = await wayTo(`https://${PUBLIC}/`, { route: port });
    await literal.exchange.post(signedRequest());
    const each = { name: "hooks.example.com", alpn: "http/1.1" };
    expect(seen).toEqual([
      { ...each, resumed: false },
      { ...each, resumed: true },
      { ...each, resumed: false, name: false },
    ]);
  });
});
