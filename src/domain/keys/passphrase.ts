/** The passphrase that seals `secret.key` in backups. */

/** Whoever finds a backup may try for ever: a short one would be found. */
export const MIN_PASSPHRASE = 12;
export const MAX_PASSPHRASE = 1024;

export type Judged = { readonly passphrase: string } | { readonly refused: string };

/** `refused` goes on after the name of what holds it. One line end after it does not count. */
export function judgePassphrase(text: string): Judged {
  const passphrase = text.replace(/\r?\n$/, "");
  const fits = passphrase.length >= MIN_PASSPHRASE && passphrase.length <= MAX_PASSPHRASE;
  if (!fits) return { refused: `does not hold a passphrase of ${MIN_PASSPHRASE} to ${MAX_PASSPHRASE} characters` };
  return /[\r\n]/.test(passphrase) ? { refused: "holds more than one line" } : { passphrase };
}
