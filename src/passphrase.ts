/** Passphrases are in files, because flags and variables are seen by others. */
import { readFileSync, statSync } from "node:fs";
import { judgePassphrase, type Judged } from "./domain/keys/passphrase.ts";

/** `refused` goes on after the file's name and says what to do. */
export function readPassphrase(file: string): Judged {
  try {
    // systemd hands credentials over with a group bit that stands for an access list, so only "others" is refused.
    if (process.platform !== "win32" && (statSync(file).mode & 0o007) !== 0) {
      return { refused: `can be read by every user: chmod 600 ${file}` };
    }
    return judgePassphrase(readFileSync(file, "utf8"));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return { refused: code === "ENOENT" ? "is not there" : `cannot be read (${code}): look at its owner and mode` };
  }
}
