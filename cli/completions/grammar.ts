/** Derives the words that may follow on a command line from the table of commands. */
import type { ArgDef, Definitions } from "../command.ts";
import { COMMANDS, GROUPS, type CommandName } from "../commands.ts";
import { flagsOf } from "../front/parse.ts";

export const SHELLS = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof SHELLS)[number];

/** The values that a flag or an argument takes. `ids` are fetched from the daemon. */
export type Takes =
  | { readonly kind: "words"; readonly words: readonly string[] }
  | { readonly kind: "files" | "ids" | "anything" };

export interface TypedFlag {
  readonly spelling: string;
  readonly description: string;
  /** Null if the flag takes no value. */
  readonly takes: Takes | null;
}

export interface TypedCommand {
  /** The words of the command, such as `events list`. */
  readonly name: string;
  readonly flags: readonly TypedFlag[];
  /** Null if the command takes no arguments. */
  readonly argument: Takes | null;
}

export interface Described {
  readonly word: string;
  readonly description: string;
}

/** The values to offer for a hint such as `STATUS`. */
const WORDS: Readonly<Record<string, readonly string[]>> = {
  SHELL: SHELLS,
  STATUS: ["pending", "held", "delivered", "failed", "cancelled", "shadowed"],
  LEVEL: ["debug", "info", "warn", "error"],
  FORMAT: ["auto", "json", "pretty"],
};

/**
 * The commands as JSON. scripts/build.ts sets it, because loading every command takes five times as long as loading
 * this file.
 */
declare const __COMMANDS__: string | undefined;

export async function commandsTyped(): Promise<readonly TypedCommand[]> {
  if (typeof __COMMANDS__ !== "undefined") return JSON.parse(__COMMANDS__) as TypedCommand[];
  return Promise.all(Object.entries(COMMANDS).map(([name, { load }]) => load().then(({ args }) => typed(name, args))));
}

function typed(name: string, args: Definitions): TypedCommand {
  const flags = flagsOf(args).map(({ spelling, definition: flag, on }) => ({
    spelling,
    description: (!on && flag.type === "boolean" && flag.negativeDescription) || flag.description,
    takes: flag.type === "boolean" ? null : takesOf(flag),
  }));
  const argument = Object.values(args).find(({ type }) => type === "positional");
  return {
    name,
    flags: [...flags, { spelling: "--help", description: "Show flags and examples", takes: null }],
    argument: argument === undefined ? null : takesOf(argument),
  };
}

/** Returns the words that may follow a group, or `webhookd` itself if `group` is empty. */
export function nextWords(group = ""): Described[] {
  const commands = Object.entries(COMMANDS).filter(([name]) => isIn(group, name));
  const words = commands.map(([name, { summary }]) => ({ word: name.split(" ").at(-1)!, description: summary }));
  if (group !== "") return words;
  return [...words, ...Object.entries(GROUPS).map(([word, description]) => ({ word, description }))];
}

function isIn(group: string, name: string): boolean {
  return group === "" ? !name.includes(" ") : name.startsWith(`${group} `);
}

/** Returns the command and the hint for the last word of a command line, or null if the daemon need not be asked. */
export async function hintAt(
  words: readonly string[],
): Promise<{ readonly command: CommandName; readonly hint: string } | null> {
  const [first = "", second = ""] = words;
  const command = [`${first} ${second}`, first].find((name) => Object.hasOwn(COMMANDS, name)) as
    | CommandName
    | undefined;
  if (command === undefined) return null;
  const { args } = await COMMANDS[command].load();
  const [before = "", last = ""] = words.slice(-2);
  const inline = /^(--[^=]+)=/.exec(last)?.[1];
  const flag = flagsOf(args).find(({ spelling }) => spelling === (inline ?? before));
  if (flag !== undefined && flag.definition.type !== "boolean") return { command, hint: hintOf(flag.definition) };
  const argument = Object.values(args).find(({ type }) => type === "positional");
  return argument === undefined ? null : { command, hint: hintOf(argument) };
}

function takesOf(definition: ArgDef): Takes {
  if (definition.type === "enum") return { kind: "words", words: definition.options };
  const hint = hintOf(definition);
  if (Object.hasOwn(WORDS, hint)) return { kind: "words", words: WORDS[hint]! };
  if (/^@?(FILE|PATH|DIR)\b/.test(hint)) return { kind: "files" };
  return { kind: /^([a-z]{2,3}_…|TYPE)/.test(hint) ? "ids" : "anything" };
}

function hintOf({ valueHint = "" }: ArgDef): string {
  return valueHint;
}
