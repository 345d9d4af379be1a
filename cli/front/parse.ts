/**
 * Parses the command line. citty only renders a command's help: its parser ignores unknown flags, so `replay evt_1
 * --dry-rnu` would replay. Here every doubt ends the command before it does anything.
 */
import { nearest } from "../../src/domain/nearest.ts";
import type { ArgDef, Definitions, Positional } from "../command.ts";
import { Failure } from "../failure.ts";

export type Parsed = Readonly<Record<string, string | boolean | readonly string[] | undefined>>;

/** `name` is the command's name in messages. Throws a Failure with exit code 2. */
export function parse(name: string, args: Definitions, words: readonly string[]): Parsed {
  const values: Record<string, string | boolean | readonly string[]> = {};
  const positionals: string[] = [];
  const rest = [...words];
  while (rest.length > 0) {
    const word = rest.shift()!;
    if (word === "--") positionals.push(...rest.splice(0));
    else if (word === "-" || !word.startsWith("-")) positionals.push(word);
    else {
      const { key, definition, value } = readFlag(name, args, word, rest);
      const before = values[key];
      if (definition.type === "string" && definition.multiple) {
        values[key] = [...((before ?? []) as readonly string[]), value as string];
      } else if (before !== undefined) throw usage(name, `--${key} is given twice`);
      else values[key] = value;
    }
  }
  for (const [key, definition] of Object.entries(args)) {
    if (definition.type === "positional") takePositional(name, { key, definition }, positionals, values);
    else if (!(key in values)) {
      const isRequired = definition.type !== "boolean" && definition.required;
      if (isRequired) throw usage(name, `--${key} is missing`, `--${key}: ${definition.description}.`);
      if (definition.type === "boolean" && definition.negatable) continue;
      if (definition.type === "boolean") values[key] = definition.default ?? false;
      else if (definition.type === "string" && definition.multiple) values[key] = [];
      else if (definition.default !== undefined) values[key] = definition.default;
    }
  }
  if (positionals.length > 0) {
    const isTaken = Object.values(args).some(({ type }) => type === "positional");
    const hint = isTaken ? "Several words that are one argument need quotes." : undefined;
    throw usage(name, `unexpected argument "${positionals[0]}"`, hint);
  }
  return values;
}

function takePositional(
  name: string,
  { key, definition }: { key: string; definition: Positional },
  words: string[],
  values: Record<string, string | boolean | readonly string[]>,
): void {
  if (words.length === 0 && definition.required) {
    const word = definition.valueHint ?? key.toUpperCase();
    throw usage(name, `${word} is missing`, `${word}: ${definition.description}.`);
  }
  if (definition.variadic) values[key] = words.splice(0);
  else if (words.length > 0) values[key] = words.shift()!;
}

function readFlag(name: string, args: Definitions, word: string, rest: string[]) {
  const [, typed = "", given] = /^([^=]*)(?:=(.*))?$/s.exec(word)!;
  const found = flagsOf(args).find(({ spelling }) => spelling === typed);
  if (found === undefined) {
    const near = nearest(
      typed,
      flagsOf(args).map(({ spelling }) => spelling),
    );
    throw usage(name, `${name} has no flag ${typed}`, near === null ? undefined : `Did you mean ${near}?`);
  }
  const { key, definition, on } = found;
  if (definition.type === "boolean") {
    if (given !== undefined) throw usage(name, `${typed} takes no value`);
    return { key, definition, value: on };
  }
  const next = given ?? rest[0];
  if (definition.type === "string" && definition.bare !== undefined && given === undefined) {
    if (next === undefined || next.startsWith("-")) return { key, definition, value: definition.bare };
  }
  if (next === undefined) throw usage(name, `${typed} needs a value`);
  if (given === undefined) {
    // Most likely the value was forgotten, rather than meant to begin with a dash. A dash alone is stdin.
    const isFlag = next !== "-" && next.startsWith("-");
    if (isFlag) throw usage(name, `${typed} needs a value`, `If "${next}" is the value, write ${typed}=${next}`);
    rest.shift();
  }
  if (next === "") throw usage(name, `${typed} needs a value`);
  if (definition.type === "enum" && !definition.options.includes(next)) {
    const near = nearest(next, definition.options);
    const hint = near === null ? `It takes ${definition.options.join(", ")}.` : `Did you mean ${near}?`;
    throw usage(name, `${typed} does not take "${next}"`, hint);
  }
  return { key, definition, value: next };
}

export interface Flag {
  readonly spelling: string;
  readonly key: string;
  readonly definition: Exclude<ArgDef, Positional>;
  /** The value of a boolean flag with this spelling. */
  readonly on: boolean;
}

/** Returns every spelling of a command's flags. */
export function flagsOf(args: Definitions): Flag[] {
  return Object.entries(args).flatMap(([key, definition]) => {
    if (definition.type === "positional") return [];
    const hasNo = definition.type === "boolean" && (definition.default === true || definition.negatable === true);
    const letter = definition.type === "string" ? definition.alias : undefined;
    return [
      { spelling: `--${key}`, key, definition, on: true },
      ...(letter === undefined ? [] : [{ spelling: `-${letter}`, key, definition, on: true }]),
      ...(hasNo ? [{ spelling: `--no-${key}`, key, definition, on: false }] : []),
    ];
  });
}

function usage(name: string, what: string, hint?: string): Failure {
  return new Failure("usage", what, `${hint ? `${hint} ` : ""}Nothing was done; see ${name} --help.`);
}
