/** Asks a person to confirm an action that cannot be undone. */
import { Failure, usage } from "./failure.ts";
import type { Io } from "./io.ts";
import { note } from "./output/print.ts";

/** Call this before any request to the daemon. Throws if `--yes` was not given and there is no terminal to ask on. */
export function requireConsent(doing: string, { yes }: { readonly yes: boolean }, { stdin, stderr }: Io): void {
  if (yes || (stdin.isTTY && stderr.isTTY)) return;
  throw usage(`${doing} needs --yes when there is no terminal`);
}

/** Shows `facts`, which say what is about to happen. Throws unless `word` is typed or `--yes` was given. */
export async function confirm(
  { facts, word }: { readonly facts: readonly string[]; readonly word: string },
  { yes }: { readonly yes: boolean },
  io: Io,
): Promise<void> {
  for (const fact of facts) note(io, fact);
  if (yes) return;
  const typed = await io.stdin.ask(`Type ${word} to continue: `);
  if (typed?.trim() === word) return;
  throw new Failure("refused", `${word} was not typed`, "Nothing was done.", "not_confirmed");
}
