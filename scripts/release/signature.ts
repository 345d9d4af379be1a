/** Signs a release with an ssh key, because nearly every machine has OpenSSH. */
import { execFileSync } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";

const IDENTITY = "release@webhookd";
const NAMESPACE = "webhookd";

/** Writes `FILE.sig`. `key` is the private key's file, or the public key's file if an agent has the private key. */
export function sign(file: string, key: string): void {
  rmSync(`${file}.sig`, { force: true });
  execFileSync("ssh-keygen", ["-q", "-Y", "sign", "-f", key, "-n", NAMESPACE, file], {
    stdio: ["inherit", "ignore", 2],
  });
}

/** Returns install.sh with the key that it trusts. Null leaves it without a key. */
export function installer(key: string | null): string {
  const script = readFileSync(join(import.meta.dirname, "install.sh"), "utf8");
  return key === null ? script : script.replace("\nSIGNERS=''\n", () => `\nSIGNERS='${allowedSigner(key)}'\n`);
}

/** Returns a line of an allowed_signers file. */
export function allowedSigner(key: string): string {
  const [kind, bytes] = readFileSync(key.endsWith(".pub") ? key : `${key}.pub`, "utf8").split(" ");
  return `${IDENTITY} namespaces="${NAMESPACE}" ${kind} ${bytes!.trim()}`;
}
