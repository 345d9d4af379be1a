import { once } from "node:events";
import { createServer as plainServer } from "node:http";
import { readFileSync } from "node:fs";
import { connect as connectTcp, type Socket } from "node:net";
import { connect, type SecureVersion, type TLSSocket } from "node:tls";
import { afterEach, describe, expect, it } from "vitest";
import type { NodeHandler, Bounds } from "../../../src/api/server/listener.ts";
import type { Certificate } from "../../../src/api/server/certificate.ts";
import { openListener, type TcpListener } from "../../../src/api/server/listen.ts";
import { rejection } from "../../../src/api/pipeline/reply.ts";
import { silentLog } from "../../../src/log.ts";
import { caFile, certificate as pems, type CertificateName } from "../../harness/tls.ts";

const ca = readFileSync(caFile);
const hello: NodeHandler = (_req, res) => void res.end("hello");
/** Unread bytes may turn the close into a reset. */
const gone = (socket: Socket) => new Promise((resolve) => socket.on("error", () => {}).once("close", resolve));
const ended: (() => unknown)[] = [];

afterEach(async () => {
  for (const end of ended.splice(0)) await end();
});

function certificate(name: CertificateName): Certificate {
  return { ...pems(name), fingerprint: name, validFrom: 0, validUntil: 0 };
}

async function listen(bounds: Partial<Bounds> = {}): Promise<TcpListener> {
  const reject = rejection(
    () => "req_0",
    () => null,
  );
  const place = { host: "127.0.0.1", port: 0, log: silentLog, reject, bounds };
  const listener = await openListener(hello, { ...place, certificate: certificate("good") });
  ended.push(() => listener.close(0));
  return listener;
}

function portOf({ url }: TcpListener): number {
  return Number(new URL(url).port);
}

async function dial(listener: TcpListener, maxVersion: SecureVersion = "TLSv1.3"): Promise<TLSSocket> {
  const options = { host: "127.0.0.1", port: portOf(listener), ca, servername: "localhost" };
  const socket = connect({ ...options, minVersion: "TLSv1", maxVersion, checkServerIdentity: () => undefined });
  ended.push(() => socket.destroy());
  await once(socket, "secureConnect");
  return socket.on("error", () => {});
}

async function ask(socket: TLSSocket, text = "GET / HTTP/1.1\r\nhost: localhost\r\n\r\n"): Promise<string> {
  socket.write(text);
  const [answer] = await once(socket, "data");
  return String(answer);
}

describe("a listener with a certificate", () => {
  it("serves https, and says so in its URL", async () => {
    const listener = await listen();
    expect(listener.url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
    expect(await ask(await dial(listener))).toMatch(/^HTTP\/1.1 200 [^]*hello/);
  });

  it("speaks TLS 1.2 and 1.3, and nothing older", async () => {
    const listener = await listen();
    expect((await dial(listener, "TLSv1.3")).getProtocol()).toBe("TLSv1.3");
    expect((await dial(listener, "TLSv1.2")).getProtocol()).toBe("TLSv1.2");
    await expect(dial(listener, "TLSv1.1")).rejects.toThrow();
  });

  it("shows a new certificate from the next handshake on, while open connections go on", async () => {
    const listener = await listen();
    const before = await dial(listener);
    listener.renew(certificate("wrong-host"));
    const after = await dial(listener);
    expect([before, after].map((socket) => socket.getPeerCertificate().subject.CN)).toEqual([
      "receiver.example",
      "other.example",
    ]);
    expect(await ask(before)).toContain("hello");
    expect(await ask(after)).toContain("hello");
    expect((await dial(listener, "TLSv1.2")).getProtocol()).toBe("TLSv1.2");
    await expect(dial(listener, "TLSv1.1")).rejects.toThrow();
  });

  it("answers bytes that are no HTTP, inside TLS", async () => {
    expect(await ask(await dial(await listen()), "no http\r\n\r\n")).toMatch(/^HTTP\/1.1 400 [^]*"code":"bad_request"/);
  });

  it("hangs up on plain HTTP and serves on", async () => {
    const listener = await listen();
    const socket = connectTcp(portOf(listener), "127.0.0.1");
    socket.write("GET / HTTP/1.1\r\nhost: localhost\r\n\r\n");
    await gone(socket.resume());
    expect(await ask(await dial(listener))).toContain("hello");
  });

  it("cuts a handshake that does not end, however it drips, and no connection that made it", async () => {
    const listener = await listen({ headersTimeout: 3000, connectionsCheckingInterval: 10, requestTimeout: 0 });
    const made = await dial(listener);
    expect(await ask(made)).toContain("hello");
    const silent = connectTcp(portOf(listener), "127.0.0.1");
    const dripping = connectTcp(portOf(listener), "127.0.0.1");
    const hello = Buffer.from("16030100ff010000fb0303", "hex");
    let sent = 0;
    const drip = setInterval(() => dripping.write(hello.subarray(sent, ++sent)), 20);
    await Promise.all([gone(silent.resume()), gone(dripping.resume())]);
    clearInterval(drip);
    expect(await ask(made)).toContain("hello");
  });

  it("has the bounds of every listener", async () => {
    expect((await listen()).server).toMatchObject({
      headersTimeout: 10_000,
      requestTimeout: 30_000,
      maxHeaderSize: 16_384,
      maxConnections: 512,
      connectionsCheckingInterval: 1000,
    });
  });

  it("says that a port is busy like any other", async () => {
    const busy = plainServer().listen(0, "127.0.0.1");
    await once(busy, "listening");
    ended.push(() => busy.close());
    const { port } = busy.address() as { port: number };
    const parts = { log: silentLog, reject: () => {}, certificate: certificate("good") };
    await expect(openListener(hello, { host: "127.0.0.1", port, ...parts })).rejects.toThrow("another program listens");
  });
});
