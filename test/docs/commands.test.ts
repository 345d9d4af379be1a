import { expect, it } from "vitest";
import type { ArgDef } from "../../cli/command.ts";
import { COMMANDS, GROUPS, PURPOSES, type CommandName } from "../../cli/commands.ts";
import { LOADED } from "../cli/loaded.ts";

const NAMES = Object.keys(COMMANDS) as CommandName[];

const page = [
  "# Commands",
  "",
  "Every command in one line. `webhookd <command> --help` shows its flags, with examples that you can type.",
  "[Operating](operating.md#exit-codes) explains the exit codes, and the [runbook](runbook.md) says what to type when",
  "something is wrong.",
  ...PURPOSES.flatMap(({ title, words }) => ["", `## ${sentence(title)}`, "", "| | |", "|---|---|", ...rows(words)]),
  "",
].join("\n");

function rows(words: readonly string[]): string[] {
  return words.flatMap((word) => {
    const names = NAMES.filter((name) => name.split(" ")[0] === word);
    const noun = word in GROUPS ? [`| **${word}** | *${GROUPS[word]!}* |`] : [];
    return [...noun, ...names.map((name) => `| \`${[name, ...taken(name)].join(" ")}\` | ${COMMANDS[name].summary} |`)];
  });
}

/** Returns the required words of a command, and the words that it takes without a flag. */
function taken(name: CommandName): string[] {
  return Object.entries<ArgDef>(LOADED[name].args).flatMap(([key, arg]) => {
    const value = arg.type === "boolean" ? "" : (arg.valueHint ?? key.toUpperCase());
    if (arg.type === "positional") {
      const word = "variadic" in arg ? `${value} …` : value;
      return [arg.required ? word : `[${word}]`];
    }
    return "required" in arg && arg.required ? [`--${key} ${value}`] : [];
  });
}

function sentence(title: string): string {
  return title[0]! + title.slice(1).toLowerCase();
}

it("docs/commands.md has every command, as it is", async () => {
  const hint = "write it anew with: vitest run test/docs/commands.test.ts --update";
  await expect(page, hint).toMatchFileSnapshot("../../docs/commands.md");
});
