import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/**
 * Certificates from tls/make.sh. `good` is valid for receiver.example, *.example.com, localhost, 127.0.0.1 and
 * 93.184.216.34.
 */
export type CertificateName = "good" | "wrong-host" | "expired" | "self-signed" | "no-intermediate";

export const caFile = tlsFile("ca");

export function tlsFile(name: CertificateName | "ca" | "leaf.key"): string {
  return fileURLToPath(new URL(`tls/${name}.pem`, import.meta.url));
}

export function certificate(name: CertificateName): { cert: string; key: string } {
  return { cert: readFileSync(tlsFile(name), "utf8"), key: readFileSync(tlsFile("leaf.key"), "utf8") };
}
