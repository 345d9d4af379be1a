/** A file that holds one secret, such as an address with a password. One line end after the secret is ignored. */
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { NotUtf8, utf8Of } from "./domain/utf8.ts";

/** No secret is longer. The file may be another one by mistake, such as a database. */
export const MAX_SECRET = 64 * 1024;

/**
 * `refused` continues the file's name, without a space. `isOpen` is true if every user of the host can read the file.
 */
export type ReadSecret = { readonly text: string; readonly isOpen: boolean } | { readonly refused: string };

export function judgeSecret(bytes: Uint8Array): { readonly text: string } | { readonly refused: string } {
  if (bytes.length > MAX_SECRET) return { refused: ` has more than ${MAX_SECRET / 1024} KiB, so it is no secret` };
  try {
    const text = utf8Of(bytes).replace(/\r?\n$/, "");
    if (text.trim() === "") return { refused: " is empty" };
    return /[\r\n\0]/.test(text) ? { refused: " contains more than one line" } : { text };
  } catch (error) {
    if (!(error instanceof NotUtf8)) throw error;
    return { refused: error.message };
  }
}

export function readSecretFile(path: string): ReadSecret {
  try {
    const file = openSync(path, "r");
    try {
      const bytes = Buffer.alloc(MAX_SECRET + 1);
      let length = 0;
      for (let read = -1; read !== 0 && length < bytes.length; length += read)
        read = readSync(file, bytes, length, bytes.length - length, null);
      const judged = judgeSecret(bytes.subarray(0, length));
      // Windows has other rules, and no such bits.
      const isOpen = process.platform !== "win32" && (fstatSync(file).mode & 0o004) !== 0;
      return "text" in judged ? { ...judged, isOpen } : judged;
    } finally {
      closeSync(file);
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return { refused: code === "ENOENT" ? " does not exist" : ` cannot be read (${code})` };
  }
}
