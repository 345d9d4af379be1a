import { stripVTControlCharacters, styleText } from "node:util";
import { defineCommand, renderUsage, type ArgsDef } from "citty";
import type { ArgDef } from "../command.ts";
import { COMMANDS, FIRST_RUN, GROUPS, PURPOSES, type CommandName } from "../commands.ts";
import { fold } from "./fold.ts";
import type { Io } from "../io.ts";

const DESCRIPTION = "Delivers webhooks: signed, retried for 31 hours, never lost";
/** The width without a terminal, and the widest line that is easy to read. */
const COLUMNS = { unknown: 80, most: 110 };

/** All sections of the overview have the same column widths. */
const WIDEST = Math.max(...PURPOSES.flatMap(({ words }) => words).map(({ length }) => length));

/** Returns help for a command, for a group of commands, or for webhookd itself (no words). */
export async function help(words: readonly string[], { stdout, env }: Pick<Io, "stdout" | "env">): Promise<string> {
  const name = words.join(" ");
  const columns = Math.min(stdout.columns ?? COLUMNS.unknown, COLUMNS.most);
  const page = Object.hasOwn(COMMANDS, name) ? await ofCommand(name as CommandName) : ofSeveral(name);
  const text = fold(page, columns).replaceAll(/ +$/gm, "");
  // citty only looks at NO_COLOR, and only for "1".
  return stdout.isTTY && !env.NO_COLOR ? text : stripVTControlCharacters(text);
}

const HELP = { type: "boolean", alias: "h", description: "Show this help" } as const;

async function ofCommand(name: CommandName): Promise<string> {
  const { summary, load } = COMMANDS[name];
  const { args, examples } = await load();
  const words = name.split(" ");
  const definition = defineCommand({
    meta: { name: words.at(-1)!, description: summary },
    args: Object.fromEntries(Object.entries({ ...args, help: HELP }).map(([key, arg]) => [key, forCitty(key, arg)])),
  });
  const before = ["webhookd", ...words.slice(0, -1)].join(" ");
  const usage = await renderUsage(definition, defineCommand({ meta: { name: before } }));
  return [usage.trimEnd(), "", heading("EXAMPLES"), "", ...examples.map((line) => `  ${line}`), ""].join("\n");
}

/** Longer values of one flag would push all descriptions off a narrow terminal. */
const VALUES = 32;

/** citty treats a positional argument as required unless told otherwise. */
function forCitty(key: string, arg: ArgDef | typeof HELP): ArgsDef[string] {
  if (arg.type === "positional") return { ...arg, required: arg.required ?? false } as ArgsDef[string];
  if (arg.type !== "enum" || arg.options.join("|").length <= VALUES) return arg as ArgsDef[string];
  const description = `${arg.description}; one of ${arg.options.join(", ")}`;
  return { ...arg, type: "string", valueHint: key.toUpperCase(), description } as ArgsDef[string];
}

/** Does not use citty, which names all commands in one line and knows no groups. */
function ofSeveral(group: string): string {
  return group === "" ? overview() : ofGroup(group);
}

function overview(): string {
  const first = (word: string) => GROUPS[word] ?? COMMANDS[word as CommandName].summary;
  return [
    DESCRIPTION,
    "",
    `${heading("USAGE")} webhookd <command>`,
    ...PURPOSES.flatMap(({ title, words }) => ["", heading(title), ...table(words, first)]),
    "",
    heading("FIRST RUN, EACH LINE IN ITS OWN TERMINAL"),
    ...FIRST_RUN.map((line) => `  ${line}`),
    "",
    "Flags and examples: webhookd <command> --help",
    "",
  ].join("\n");
}

function ofGroup(group: string): string {
  const verbs = Object.keys(COMMANDS).flatMap((name) => (name.startsWith(`${group} `) ? [name.split(" ")[1]!] : []));
  return [
    GROUPS[group]!,
    "",
    `${heading("USAGE")} webhookd ${group} <command>`,
    "",
    heading("COMMANDS"),
    ...table(verbs, (verb) => COMMANDS[`${group} ${verb}` as CommandName].summary),
    "",
    `Flags and examples: webhookd ${group} <command> --help`,
    "",
  ].join("\n");
}

function table(words: readonly string[], describe: (word: string) => string): string[] {
  const width = Math.max(WIDEST, ...words.map(({ length }) => length));
  return words.map((word) => `  ${word.padEnd(width)}  ${describe(word)}`);
}

function heading(text: string): string {
  return styleText("bold", text, { validateStream: false });
}
