import { stripVTControlCharacters } from "node:util";
import { defineCommand, renderUsage, type CommandDef } from "citty";
import { version } from "../src/version.ts";
import { COMMANDS, GROUPS, type CommandName } from "./commands.ts";
import type { Io } from "./io.ts";

const DESCRIPTION = "Webhook delivery daemon: signed, retried for 31 hours, never lost";

/** Help for a command, for a group of commands, or for webhookd itself (no words). */
export async function help(words: readonly string[], { stdout, env }: Pick<Io, "stdout" | "env">): Promise<string> {
  const name = words.join(" ");
  const parent = defineCommand({ meta: { name: ["webhookd", ...words.slice(0, -1)].join(" ") } });
  const known = Object.hasOwn(COMMANDS, name) ? COMMANDS[name as CommandName] : null;
  const usage = await renderUsage(definitionOf(words), words.length === 0 ? undefined : parent);
  const examples = known === null ? [] : ["", "EXAMPLES", "", ...known.examples.map((line) => `  ${line}`)];
  const text = [usage, ...examples, ""].join("\n").replaceAll(/ +$/gm, "");
  // citty looks at NO_COLOR only, and only for "1".
  return stdout.isTTY && !env.NO_COLOR ? text : stripVTControlCharacters(text);
}

function definitionOf(words: readonly string[]): CommandDef {
  const name = words.join(" ");
  if (Object.hasOwn(COMMANDS, name)) return COMMANDS[name as CommandName].definition;
  if (words.length > 0) {
    const commands = Object.entries(COMMANDS).filter(([command]) => command.startsWith(`${name} `));
    const subCommands = Object.fromEntries(
      commands.map(([command, { definition }]) => [command.slice(name.length + 1), definition]),
    );
    return defineCommand({ meta: { name, description: GROUPS[name]! }, subCommands });
  }
  const groups = Object.entries(GROUPS).map(([group, description]) => [
    group,
    defineCommand({ meta: { description } }),
  ]);
  const commands = Object.entries(COMMANDS).filter(([command]) => !command.includes(" "));
  const subCommands = Object.fromEntries([
    ...commands.map(([command, { definition }]) => [command, definition]),
    ...groups,
  ]) as Record<string, CommandDef>;
  return defineCommand({ meta: { name: "webhookd", version, description: DESCRIPTION }, subCommands });
}
