import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { CertificateError, datesOf, readCertificate } from "../../../src/api/server/certificate.ts";
import { certificate } from "../../harness/tls.ts";

const dir = mkdtempSync(join(tmpdir(), "webhookd-certificate-"));
const good = certificate("good");
const passphrase = { type: "pkcs8", format: "pem", cipher: "aes-256-cbc", passphrase: "secret" } as const;
const strangers = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
let files = 0;

afterAll(() => rmSync(dir, { recursive: true }));

function file(text: string): string {
  const path = join(dir, `${files++}.pem`);
  writeFileSync(path, text);
  return path;
}

function read(cert: string, key: string) {
  return readCertificate({ certFile: file(cert), keyFile: file(key) });
}

describe("a certificate", () => {
  it("is read with what tools write above it, and with its dates", () => {
    const { cert, key, fingerprint, validFrom, validUntil } = read(
      `Bag Attributes\n${good.cert}`,
      `# key\n${good.key}`,
    );
    expect({ cert, key }).toEqual(good);
    expect(fingerprint).toMatch(/^([0-9A-F]{2}:){31}[0-9A-F]{2}$/);
    expect(new Date(validFrom).getUTCFullYear()).toBe(2020);
    expect(new Date(validUntil).getUTCFullYear()).toBe(2120);
  });

  it.each([
    ["tls_cert", "contains no certificate", "nothing", good.key],
    ["tls_cert", "contains no certificate", good.cert.replace("MI", "XX"), good.key],
    ["tls_key", "contains no key that can be read without a passphrase", good.cert, "nothing"],
    ["tls_key", "contains no key", good.cert, String(strangers.export(passphrase))],
    ["tls_key", "does not belong", good.cert, String(strangers.export({ type: "pkcs8", format: "pem" }))],
  ])("is refused by setting and file: %s %s", (setting, fault, cert, key) => {
    const refused = () => read(cert, key);
    expect(refused).toThrow(CertificateError);
    expect(refused).toThrow(`[server] ${setting}: `);
    expect(refused).toThrow(fault);
  });

  it("is refused when its chain is broken", () => {
    const chain = good.cert + good.cert.replace("MI", "XX");
    expect(() => read(chain, good.key)).toThrow("cannot be used for TLS");
  });

  it("is refused when its file is not there, or is a directory", () => {
    const keyFile = file(good.key);
    expect(() => readCertificate({ certFile: join(dir, "none"), keyFile })).toThrow("none cannot be read (ENOENT)");
    expect(() => readCertificate({ certFile: keyFile, keyFile: dir })).toThrow(
      `tls_key: ${dir} cannot be read (EISDIR)`,
    );
  });

  it("says nothing about a key file's text", () => {
    try {
      read(good.cert, "my passphrase");
    } catch (error) {
      expect(JSON.stringify([error, String(error), (error as Error).cause])).not.toContain("my passphrase");
    }
    expect.assertions(1);
  });

  it("that is too old or too new is used, and said to be", () => {
    const { cert, key } = certificate("expired");
    const expired = read(cert, key);
    expect(datesOf(expired, expired.validUntil)).toContain("expired at 2020-02-01T00:00:00.000Z");
    expect(datesOf(expired, expired.validFrom - 1)).toContain("not valid before 2020-01-01T00:00:00.000Z");
    expect(datesOf(expired, expired.validUntil - 1)).toBeNull();
  });
});
