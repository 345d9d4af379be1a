/**
 * Reads the passphrase that `--seal-with` names: from a file, from stdin for `-`, or typed by a person without echo.
 */
import { mayBeReplaced } from "../../src/domain/utf8.ts";
import { judgePassphrase, readPassphrase } from "../../src/passphrase.ts";
import { usage } from "../failure.ts";
import type { Io } from "../io.ts";

/** `twice` asks for a new passphrase a second time, because nobody could recover a mistyped one. */
export async function sealingPassphrase(from: string, { stdin }: Io, { twice }: { twice: boolean }): Promise<string> {
  const name = from === "-" ? "the passphrase given" : from;
  let judged = from === "-" ? null : readPassphrase(from);
  if (judged === null && !stdin.isTTY) judged = judgePassphrase(await stdin.read());
  if (judged === null) {
    const typed = (await stdin.ask("Passphrase: ", { hidden: true })) ?? "";
    judged = judgePassphrase(Buffer.from(typed));
    // Decoding lost the terminal's bytes, so two different passphrases could become the same text.
    if (mayBeReplaced(typed))
      throw usage("the text that was typed is not UTF-8", "Use a terminal that is set to UTF-8.");
    if (twice && "passphrase" in judged && (await stdin.ask("Again: ", { hidden: true })) !== typed) {
      throw usage("the two passphrases differ");
    }
  }
  if ("passphrase" in judged) return judged.passphrase;
  throw usage(`--seal-with: ${name}${judged.refused}`);
}
