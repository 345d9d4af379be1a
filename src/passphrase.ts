/** The passphrase that seals `secret.key` in backups. It is in a file, because others can see flags and variables. */
import { readFileSync, statSync } from "node:fs";
import { NotUtf8, utf8Of } from "./domain/utf8.ts";

/** Anyone who finds a backup has unlimited time to guess, and would find a short passphrase. */
export const MIN_PASSPHRASE = 12;
export const MAX_PASSPHRASE = 1024;

export type Judged = { readonly passphrase: string } | { readonly refused: string };

/** `refused` continues the name of the source, without a space. One line end after the passphrase is ignored. */
export function judgePassphrase(bytes: Uint8Array): Judged {
  try {
    const passphrase = utf8Of(bytes).replace(/\r?\n$/, "");
    const fits = passphrase.length >= MIN_PASSPHRASE && passphrase.length <= MAX_PASSPHRASE;
    if (!fits)
      return { refused: ` does not contain a passphrase of ${MIN_PASSPHRASE} to ${MAX_PASSPHRASE} characters` };
    return /[\r\n]/.test(passphrase) ? { refused: " contains more than one line" } : { passphrase };
  } catch (error) {
    if (!(error instanceof NotUtf8)) throw error;
    return { refused: `${error.message}: make it of text, such as openssl rand -base64 24 gives` };
  }
}

/** `refused` continues the file's name, without a space, and says what to do. */
export function readPassphrase(file: string): Judged {
  try {
    // systemd passes credentials with a group bit set, which stands for an access list, so only "others" is refused.
    if (process.platform !== "win32" && (statSync(file).mode & 0o007) !== 0) {
      return { refused: ` can be read by every user: chmod 600 ${file}` };
    }
    return judgePassphrase(readFileSync(file));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return { refused: code === "ENOENT" ? " does not exist" : ` cannot be read (${code}): check its owner and mode` };
  }
}
