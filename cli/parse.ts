/**
 * Our own parser, because citty's ignores what it does not know: with it `replay evt_1 --dry-rnu` replays. Here every
 * doubt ends the command before anything is done.
 */
import type { ArgDef, ArgsDef } from "citty";
import { nearest } from "../src/config/nearest.ts";
import { Failure } from "./failure.ts";

export type Parsed = Readonly<Record<string, string | boolean | undefined>>;

/** `name` is how messages call the command. Throws a Failure with exit code 2. */
export function parse(name: string, args: ArgsDef, words: readonly string[]): Parsed {
  const values: Record<string, string | boolean> = {};
  const positionals: string[] = [];
  const rest = [...words];
  while (rest.length > 0) {
    const word = rest.shift()!;
    if (word === "--") positionals.push(...rest.splice(0));
    else if (word === "-" || !word.startsWith("-")) positionals.push(word);
    else {
      const { key, value } = readFlag(name, args, word, rest);
      if (key in values) throw usage(name, `--${key} is given twice`);
      values[key] = value;
    }
  }
  for (const [key, definition] of Object.entries(args)) {
    if (definition.type === "positional") {
      const value = positionals.shift();
      if (value !== undefined) values[key] = value;
      else if (definition.required) throw usage(name, `${definition.valueHint ?? key.toUpperCase()} is missing`);
    } else if (!(key in values)) {
      if (definition.required) throw usage(name, `--${key} is missing`);
      if (definition.type === "boolean") values[key] = definition.default ?? false;
      else if (typeof definition.default === "string") values[key] = definition.default;
    }
  }
  if (positionals.length > 0) throw usage(name, `"${positionals[0]}" is one argument too many`);
  return values;
}

function readFlag(name: string, args: ArgsDef, word: string, rest: string[]) {
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
    return { key, value: on };
  }
  const next = given ?? rest[0];
  if (next === undefined) throw usage(name, `${typed} needs a value`);
  if (given === undefined) {
    // More likely a forgotten value than one that begins with a dash.
    if (next.startsWith("-")) throw usage(name, `${typed} needs a value`, `If "${next}" is it, write ${typed}=${next}`);
    rest.shift();
  }
  if (next === "") throw usage(name, `${typed} needs a value`);
  return { key, value: next };
}

interface Flag {
  readonly spelling: string;
  readonly key: string;
  readonly definition: ArgDef;
  /** What a boolean becomes. */
  readonly on: boolean;
}

function flagsOf(args: ArgsDef): Flag[] {
  return Object.entries(args).flatMap(([key, definition]) => {
    if (definition.type === "positional") return [];
    const isOn = definition.type === "boolean" && definition.default === true;
    return [
      { spelling: `--${key}`, key, definition, on: true },
      ...(isOn ? [{ spelling: `--no-${key}`, key, definition, on: false }] : []),
    ];
  });
}

function usage(name: string, what: string, hint?: string): Failure {
  return new Failure("usage", what, `${hint ? `${hint} ` : ""}Nothing was done; see ${name} --help.`);
}
