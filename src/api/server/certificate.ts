/** The TLS certificate of the API: two PEM files, read at the start and at every SIGHUP. */
import { createPrivateKey, X509Certificate, type KeyObject } from "node:crypto";
import { readFileSync } from "node:fs";
import { createSecureContext } from "node:tls";
import type { Log } from "../../log.ts";

export interface CertificateFiles {
  /** A file with the server's own certificate first, then its chain. */
  readonly certFile: string;
  readonly keyFile: string;
}

/** A certificate and the key that belongs to it. */
export interface Certificate {
  /** PEM, beginning with the first block. */
  readonly cert: string;
  readonly key: string;
  /** The SHA-256 of the server's own certificate. */
  readonly fingerprint: string;
  /** Epoch milliseconds. */
  readonly validFrom: number;
  readonly validUntil: number;
}

/** The files cannot be used. The message names the setting, the file and the fault. The exit code is 2. */
export class CertificateError extends Error {
  override readonly name = "CertificateError";
  readonly exitCode = 2;
  readonly hint: string;
  /** The same shape as in a ConfigError. */
  readonly mistakes: readonly [{ readonly where: string; readonly what: string; readonly todo: string }];

  constructor(where: string, what: string, hint: string, cause?: unknown) {
    super(`${where}: ${what}`, { cause });
    this.hint = hint;
    this.mistakes = [{ where, what: `${what}.`, todo: hint }];
  }
}

/** Throws a `CertificateError`. The validity dates are not checked here; see `datesOf`. */
export function readCertificate({ certFile, keyFile }: CertificateFiles): Certificate {
  const cert = readPem("tls_cert", certFile);
  const key = readPem("tls_key", keyFile);
  const own = understood(() => new X509Certificate(cert), "tls_cert", `${certFile} contains no certificate`);
  if (!own.checkPrivateKey(privateKey(key, keyFile))) {
    throw new CertificateError(
      "[server] tls_key",
      `the key in ${keyFile} does not belong to the first certificate in ${certFile}`,
      "Name the key that this certificate was made for; the server's own certificate must come before its chain.",
    );
  }
  // The remaining possible faults are a broken chain and a key that is too weak for TLS.
  understood(() => createSecureContext({ cert, key }), "tls_cert", `${certFile} cannot be used for TLS`);
  return {
    cert,
    key,
    fingerprint: own.fingerprint256,
    validFrom: own.validFromDate.getTime(),
    validUntil: own.validToDate.getTime(),
  };
}

/** Returns a sentence about dates that clients will reject, or null if they are fine. */
export function datesOf({ validFrom, validUntil }: Certificate, now: number): string | null {
  const [from, until] = [new Date(validFrom).toISOString(), new Date(validUntil).toISOString()];
  if (now >= validUntil) return `the certificate expired at ${until}: clients will refuse it; replace it`;
  return now < validFrom ? `the certificate is not valid before ${from}: clients will refuse it until then` : null;
}

function readPem(setting: string, file: string): string {
  try {
    // PEM is ASCII, but the text around it may be in any encoding.
    const text = readFileSync(file, "latin1");
    // Some tools write a description above the first block, and listhen would take such text for a file name.
    return text.slice(Math.max(0, text.indexOf("-----BEGIN")));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new CertificateError(
      `[server] ${setting}`,
      `${file} cannot be read (${code})`,
      "Name a PEM file that the daemon's user may read.",
      error,
    );
  }
}

function privateKey(pem: string, file: string): KeyObject {
  return understood(
    () => createPrivateKey(pem),
    "tls_key",
    `${file} contains no key that can be read without a passphrase`,
  );
}

function understood<T>(read: () => T, setting: string, fault: string): T {
  try {
    return read();
  } catch (error) {
    throw new CertificateError(
      `[server] ${setting}`,
      fault,
      "It must be in PEM: a block that begins with -----BEGIN.",
      error,
    );
  }
}

/** Throws a `CertificateError`. A certificate that has expired or is not yet valid is used, with a warning. */
export function usableCertificate(files: CertificateFiles, { log, now }: { log: Log; now: number }): Certificate {
  const certificate = readCertificate(files);
  const dates = datesOf(certificate, now);
  if (dates !== null) log.warn({ file: files.certFile }, dates);
  return certificate;
}
