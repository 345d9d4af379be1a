import { nearest } from "../../src/domain/nearest.ts";
import { command } from "../command.ts";
import { EXIT } from "../exit-code.ts";
import { usage } from "../failure.ts";
import { bashScript } from "./bash.ts";
import { fishScript } from "./fish.ts";
import { commandsTyped, SHELLS, type Shell, type TypedCommand } from "./grammar.ts";
import { zshScript } from "./zsh.ts";

const SCRIPTS: Record<Shell, (commands: readonly TypedCommand[]) => string> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
};

export const completions = command({
  args: { shell: { type: "positional", required: true, valueHint: "SHELL", description: "bash, zsh or fish" } },
  examples: ["webhookd completions bash"],
  async run({ shell }, io) {
    const known = SHELLS.find((one) => one === shell);
    if (known === undefined) {
      const near = nearest(shell, SHELLS);
      const hint = near === null ? `The shells are ${SHELLS.join(", ")}.` : `Did you mean ${near}?`;
      throw usage(`there are no completions for "${shell}"`, hint);
    }
    io.stdout.write(SCRIPTS[known](await commandsTyped()));
    return EXIT.ok;
  },
});
