/** The certificate that the listener serves: what is wrong with it, and what becomes of it at SIGHUP. */
import type { Log } from "../log.ts";
import { CertificateError, datesOf, readCertificate, type Certificate, type CertificateFiles } from "./certificate.ts";
import type { TcpListener } from "./listen.ts";

/** What became of the certificate: one that cannot be used leaves the one that is served. */
export function renewed(
  listener: TcpListener,
  files: CertificateFiles,
  { log, now }: { log: Log; now: number },
): "renewed" | "kept" {
  try {
    listener.renew(usableCertificate(files, { log, now }));
    return "renewed";
  } catch (error) {
    if (!(error instanceof CertificateError)) throw error;
    log.error({ fault: error.message }, "the certificate stays the one that was served before");
    return "kept";
  }
}

/** Throws a `CertificateError`; one that is only too old or too new is used all the same. */
export function usableCertificate(files: CertificateFiles, { log, now }: { log: Log; now: number }): Certificate {
  const certificate = readCertificate(files);
  const dates = datesOf(certificate, now);
  if (dates !== null) log.warn({ file: files.certFile }, dates);
  return certificate;
}
