import { nearest } from "../../src/config/nearest.ts";
import type { Args } from "../commands.ts";
import { EXIT } from "../exit-code.ts";
import { usage } from "../failure.ts";
import type { Io } from "../io.ts";
import { bashScript } from "./bash.ts";
import { fishScript } from "./fish.ts";
import { SHELLS, type Shell } from "./grammar.ts";
import { zshScript } from "./zsh.ts";

const SCRIPTS: Record<Shell, () => string> = { bash: bashScript, zsh: zshScript, fish: fishScript };

export async function run({ shell }: Args<"completions">, io: Io): Promise<number> {
  const known = SHELLS.find((one) => one === shell);
  if (known === undefined) {
    const near = nearest(shell, SHELLS);
    const hint = near === null ? `There are ${SHELLS.join(", ")}.` : `Did you mean ${near}?`;
    throw usage(`there are no completions for "${shell}"`, hint);
  }
  io.stdout.write(SCRIPTS[known]());
  return EXIT.ok;
}
