import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/**
 * Certificates from tls/make.sh. `good` is valid for receiver.example, *.example.com, localhost, 127.0.0.1 and
 * 93.184.216.34.
 */
export type CertificateName = "good" | "wrong-host" | "expired" | "self-signed" | "no-intermediate";

/** From tls/make-clients.sh. `client-other` comes from an authority that `client-ca` is not. */
export type ClientName = "client" | "client-next" | "client-expired" | "client-revoked" | "client-other";

export const caFile = tlsFile("ca");

export function tlsFile(
  name: CertificateName | ClientName | "ca" | "client-ca" | "client-crl" | "client.key" | "leaf.key",
): string {
  return fileURLToPath(new URL(`tls/${name}.pem`, import.meta.url));
}

export function certificate(name: CertificateName): { cert: string; key: string } {
  return { cert: readFileSync(tlsFile(name), "utf8"), key: readFileSync(tlsFile("leaf.key"), "utf8") };
}

/** The auth of an endpoint that shows a client certificate. */
export function clientAuth(name: ClientName) {
  const [certificate, key] = [name, "client.key" as const].map((file) => readFileSync(tlsFile(file), "utf8"));
  return { type: "mtls", certificate: certificate!, key: key! } as const;
}
