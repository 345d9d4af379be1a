import { GUESSABLE, isGuessable, isSigningSecret, SECRET_FORMS } from "../../src/domain/endpoints/secret.ts";
import { usage } from "../failure.ts";
import { readInputText } from "../files.ts";
import type { Io } from "../io.ts";

const MAX_BYTES = 4096;

export const SECRET_FILE = {
  type: "string",
  valueHint: "FILE",
  description: "Write the secret to this new file that only you can read, instead of printing it",
} as const;
export const SECRET_FROM = {
  type: "string",
  valueHint: "FILE",
  description: "File with the secret to use, such as another provider's; - for stdin",
} as const;

interface SecretArgs {
  readonly "secret-from"?: string | undefined;
  readonly "secret-file"?: string | undefined;
}

/** Returns the secret in the file of `--secret-from`, without the trailing line break. Undefined without that flag. */
export async function readBrought(args: SecretArgs, io: Io): Promise<string | undefined> {
  const { "secret-from": from, "secret-file": file } = args;
  if (from === undefined) return undefined;
  if (file !== undefined) {
    throw usage("--secret-file stores a new secret, --secret-from uses an existing one", "Use one of them.");
  }
  const secret = (await readInputText(from, "--secret-from", MAX_BYTES, io)).replace(/\r?\n$/, "");
  if (isSigningSecret(secret) && isGuessable(secret))
    throw usage(`the secret ${from === "-" ? "on stdin" : `in ${from}`} ${GUESSABLE}`);
  if (isSigningSecret(secret)) return secret;
  throw usage(`${from} does not contain a signing secret`, `A secret is ${SECRET_FORMS}, on one line.`);
}
