import { command } from "../command.ts";

export const COMPLETIONS = {
  completions: command(
    "completions",
    "Print a script that completes what is typed after webhookd",
    { shell: { type: "positional", required: true, valueHint: "SHELL", description: "bash, zsh or fish" } },
    ["webhookd completions bash"],
  ),
} as const;
