/** Checks the API's own certificate. */
import type { Config } from "../../src/config.ts";
import { fail, ok, warn, type Finding } from "./finding.ts";
import { count } from "../output/words.ts";

const DAY = 86_400_000;
/** Renewing by hand takes about this long. */
const SOON_DAYS = 21;

export async function certificateFindings({ server }: Config, now: number): Promise<Finding[]> {
  if (server.tls === null) return [];
  const { CertificateError, readCertificate } = await import("../../src/api/server/certificate.ts");
  try {
    return [lifetime("API certificate", readCertificate(server.tls).validUntil, now, SOON_DAYS)];
  } catch (error) {
    if (!(error instanceof CertificateError)) throw error;
    return [fail("API certificate", error.message, error.hint)];
  }
}

/** Judges a certificate by the time at which it expires. */
export function lifetime(subject: string, until: number, now: number, soonDays: number): Finding {
  const days = Math.floor((until - now) / DAY);
  const what = `the certificate is valid for ${count(days, "more day", "more days")}`;
  if (days < 0) return fail(subject, `the certificate expired at ${new Date(until).toISOString()}`, "renew it");
  return days < soonDays ? warn(subject, what, "renew it") : ok(subject, what);
}
