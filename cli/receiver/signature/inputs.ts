/** Reads the inputs of the receiver's tools: secrets from files, bodies from files or stdin. */
import type { Stamp } from "./near-miss.ts";
import { isSigningSecret, canVerify, SECRET_FORMS, VERIFYING_FORMS } from "../../../src/domain/endpoints/secret.ts";
import { usage } from "../../failure.ts";
import { readFile, readText } from "../../files.ts";
import type { Io } from "../../io.ts";

export const BODY = {
  type: "positional",
  valueHint: "BODY",
  description: "File with the exact body; stdin if it is - or missing",
} as const;
export const SECRET_FILE = {
  type: "string",
  valueHint: "FILE",
  description: "File with the signing secret or, to verify v1a, the public key; one per line during a rotation",
} as const;
export const STAMP = {
  id: { type: "string", valueHint: "evt_…", description: "The webhook-id header, for a webhook-signature" },
  timestamp: {
    type: "string",
    valueHint: "SECONDS",
    description: "The webhook-timestamp header, for a webhook-signature",
  },
} as const;

/** A current secret, the next one, and some more for mistakes. */
const MAX_SECRETS = 16;
const MAX_BODY_BYTES = 16 * 1024 * 1024;

/**
 * Reads secrets that can sign. The file has at least one, each on a line of its own. White space around a secret is
 * ignored. No message repeats what the file contains.
 */
export function readSecretsToSign(file: string): string[] {
  return readLines(file, isSigningSecret, SECRET_FORMS);
}

/** Reads secrets that can verify, from a file of the same format. */
export function readSecretsToVerify(file: string): string[] {
  return readLines(file, canVerify, VERIFYING_FORMS);
}

function readLines(file: string, fits: (text: string) => boolean, forms: string): string[] {
  const secrets = readText(file, "--secret-file", 64 * 1024)
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
  if (secrets.length === 0) throw usage(`${file} contains no secret`);
  if (secrets.length > MAX_SECRETS) throw usage(`${file} has more than ${MAX_SECRETS} lines`);
  const wrong = secrets.findIndex((secret) => !fits(secret));
  if (wrong < 0) return secrets;
  throw usage(`line ${wrong + 1} of ${file} is not a signing secret`, `A secret is ${forms}.`);
}

export async function readBody(file: string | undefined, { stdin }: Io): Promise<Buffer> {
  if (file !== undefined && file !== "-") return readFile(file, "BODY", MAX_BODY_BYTES);
  if (stdin.isTTY) throw usage("no body was given", "Name a file that contains it, or pipe it in.");
  return stdin.read();
}

/** Returns null if both flags are absent. Throws a Failure if only one is given. */
export function readStamp({ id, timestamp }: { id: string | undefined; timestamp: string | undefined }): Stamp | null {
  if (id === undefined && timestamp === undefined) return null;
  if (id === undefined || timestamp === undefined) {
    throw usage("a webhook-signature needs both --id and --timestamp", "Copy them from the headers.");
  }
  if (/^\d{13}$/.test(timestamp)) throw usage("--timestamp is in milliseconds, but webhook-timestamp is in seconds");
  if (/^\d{1,12}$/.test(timestamp)) return { id, timestamp: Number(timestamp) };
  throw usage(`--timestamp is a number of seconds, not "${timestamp}"`);
}
