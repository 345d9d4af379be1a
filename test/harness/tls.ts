import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** Certificates made by tls/make.sh. `good` fits receiver.example, *.example.com, localhost, 127.0.0.1, 93.184.216.34. */
export type CertificateName = "good" | "wrong-host" | "expired" | "self-signed";

export const caFile = fileURLToPath(new URL("tls/ca.pem", import.meta.url));

export function certificate(name: CertificateName): { cert: string; key: string } {
  return { cert: pem(name), key: pem("leaf.key") };
}

function pem(name: string): string {
  return readFileSync(new URL(`tls/${name}.pem`, import.meta.url), "utf8");
}
