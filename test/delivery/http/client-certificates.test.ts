import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { TLSSocket, TlsOptions } from "node:tls";
import { describe, expect, it } from "vitest";
import type { TlsIdentity } from "../../../src/delivery/http/egress.ts";
import { Exchange } from "../../../src/delivery/http/exchange.ts";
import { faultOf } from "../../../src/delivery/http/fault.ts";
import { adviceOn } from "../../../src/domain/advice/advice.ts";
import { noResponse, type Outcome } from "../../../src/domain/deliveries/attempt.ts";
import { aDirectory } from "../../harness/daemon.ts";
import { signedRequest } from "../../harness/egress.ts";
import { closeAfter, egressOf } from "../../harness/exchange.ts";
import { caFile, certificate, clientAuth, type ClientName, tlsFile } from "../../harness/tls.ts";

const pem = (name: Parameters<typeof tlsFile>[0]) => readFileSync(tlsFile(name), "utf8");

/** A server that wants a client certificate. It keeps the names on those that it saw. */
async function serverOf(more: TlsOptions = {}) {
  const seen: string[] = [];
  const wanted = { requestCert: true, rejectUnauthorized: true, ca: pem("client-ca") };
  const server = createServer({ ...certificate("good"), ...wanted, ...more }, (request, response) => {
    seen.push((request.socket as TLSSocket).getPeerCertificate().subject?.CN as string);
    request.resume().on("end", () => response.end());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  closeAfter(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `https://127.0.0.1:${(server.address() as AddressInfo).port}/hook`, seen };
}

const egress = () => egressOf();

function exchangeWith(url: string, tls: TlsIdentity | null, shared = egress()): Exchange {
  const exchange = new Exchange(shared, url, "default", tls);
  closeAfter(() => exchange.close());
  return exchange;
}

function showing(name: ClientName): TlsIdentity {
  return { identity: clientAuth(name), ca: readFileSync(caFile, "utf8") };
}

function meaningOf({ error, detail, statusCode: status, remoteAddress, phases }: Outcome, url: string): string {
  const sample = { url, detail, remoteAddress, phases };
  return adviceOn({ error, status, lastsMs: 0, sample }, { endpoint: "ep_1", attempt: null }).meaning;
}

const REFUSED = /^The receiver refuses our client certificate/;

/** OpenSSL's own server tells by an alert why it refuses a certificate. Null if it is not installed. */
async function opensslServer(...flags: string[]): Promise<string | null> {
  if (spawnSync("openssl", ["version"]).error !== undefined) return null;
  const files = ["-cert", tlsFile("good"), "-key", tlsFile("leaf.key"), "-CAfile", tlsFile("client-ca")];
  const words = ["s_server", "-accept", "127.0.0.1:0", "-www", "-Verify", "1", "-verify_return_error", ...files];
  const server = spawn("openssl", [...words, ...flags], { stdio: ["pipe", "pipe", "ignore"] });
  closeAfter(async () => {
    server.kill();
    await once(server, "close");
  });
  for await (const chunk of server.stdout) {
    const port = /ACCEPT .*:(\d+)/.exec(String(chunk))?.[1];
    if (port !== undefined) return `https://127.0.0.1:${port}/hook`;
  }
  throw new Error("openssl s_server has ended");
}

describe.each(["TLSv1.2", "TLSv1.3"] as const)("a client certificate, over %s", (version) => {
  const fixed = { minVersion: version, maxVersion: version };

  it("is shown by its endpoint alone, and connections are not shared with another endpoint", async () => {
    const { url, seen } = await serverOf({ ...fixed, rejectUnauthorized: false });
    const shared = egress();
    const all = [showing("client"), showing("client-next"), null].map((tls) => exchangeWith(url, tls, shared));
    for (const exchange of [...all, ...all])
      expect(await exchange.post(signedRequest())).toMatchObject({ outcome: "succeeded" });
    expect(seen).toEqual(["client", "client-next", undefined, "client", "client-next", undefined]);
  });

  it.each([
    ["client-expired", {}],
    ["client-other", {}],
    ["client-revoked", { crl: pem("client-crl") }],
  ] as const)("is refused by the receiver: %s", async (name, more) => {
    const { url, seen } = await serverOf({ ...fixed, ...more });
    const outcome = await exchangeWith(url, showing(name)).post(signedRequest());
    // Node's server closes the connection without an alert.
    expect(outcome).toMatchObject({ outcome: "failed", error: "connection_closed", statusCode: null, ours: false });
    expect(meaningOf(outcome, url)).toMatch(REFUSED);
    expect(seen).toEqual([]);
    const accepted = await exchangeWith(url, showing("client")).post(signedRequest());
    expect(accepted).toMatchObject({ outcome: "succeeded" });
  });
});

describe("an alert about the client certificate", () => {
  it.each([
    ["client-expired", []],
    ["client-other", []],
    ["client-revoked", ["-crl_check", "-CRL", tlsFile("client-crl")]],
    ["client-expired", ["-tls1_2"]],
  ] as [ClientName, string[]][])("%s, from a server with %j, has advice of its own", async (name, flags) => {
    const url = await opensslServer(...flags);
    if (url === null) return console.warn("SKIPPED: openssl is not installed");
    const outcome = await exchangeWith(url, showing(name)).post(signedRequest());
    // The server closes the connection after the alert, and a reset may overtake it.
    expect(outcome).toMatchObject({
      outcome: "failed",
      error: expect.stringMatching(/^(tls_error|connection_closed)$/),
    });
    expect(meaningOf(outcome, url)).toMatch(REFUSED);
  });

  it.each([
    "ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED",
    "ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE",
    "ERR_SSL_SSLV3_ALERT_CERTIFICATE_EXPIRED",
    "ERR_SSL_SSLV3_ALERT_CERTIFICATE_REVOKED",
    "ERR_SSL_SSLV3_ALERT_CERTIFICATE_UNKNOWN",
    "ERR_SSL_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE",
    "ERR_SSL_TLSV1_ALERT_UNKNOWN_CA",
  ])("is recognised by the code %s", (code) => {
    const fault = faultOf(Object.assign(new Error(code), { code }));
    expect(fault.error).toBe("tls_error");
    const outcome = noResponse(fault.error, fault.message, 1);
    expect(meaningOf(outcome, "https://receiver.example/")).toMatch(REFUSED);
  });
});

describe("the authorities of [egress] ca_file", () => {
  it("count beside a client certificate, even if the file has gone since the start", async () => {
    const { url, seen } = await serverOf();
    const file = join(aDirectory(), "ca.pem");
    copyFileSync(caFile, file);
    const shared = egressOf({ caFile: file });
    rmSync(file);
    const exchange = exchangeWith(url, { identity: clientAuth("client"), ca: null }, shared);
    expect(await exchange.post(signedRequest())).toMatchObject({ outcome: "succeeded" });
    expect(seen).toEqual(["client"]);
  });
});

describe("authorities of an endpoint's own", () => {
  it("are the only ones that count", async () => {
    const { url } = await serverOf({ requestCert: false });
    const post = (ca: string | null) =>
      exchangeWith(url, ca === null ? null : { identity: null, ca }).post(signedRequest());
    expect(await post(readFileSync(caFile, "utf8"))).toMatchObject({ outcome: "succeeded" });
    // The egress of the tests trusts the authority of this server; the endpoint does not.
    expect(await post(null)).toMatchObject({ outcome: "succeeded" });
    expect(await post(pem("client-ca"))).toMatchObject({ outcome: "failed", error: "tls_error" });
  });

  it("fail the attempt if they cannot be used, and say whose fault it is", async () => {
    const { url } = await serverOf({ requestCert: false });
    const broken = { identity: { certificate: pem("client"), key: pem("leaf.key") }, ca: null };
    const outcome = await exchangeWith(url, broken).post(signedRequest());
    expect(outcome).toMatchObject({ outcome: "failed", error: "tls_error" });
    expect(meaningOf(outcome, url)).toMatch(/of this endpoint cannot be used here/);
  });
});
