/**
 * Defines what a command is: its arguments as data, which the parser, help and completion share, and the function that
 * runs it.
 */
import { DELIVERY_WORDS, FILTER_WORDS, FILTERS, type FilterWord } from "../src/client/filter.ts";
import type { Filter } from "../src/domain/lists.ts";
import type { Io } from "./io.ts";

/** The flag of a filter: `status_code` is `--status-code`. */
export type FlagName<W> = W extends `${infer Head}_${infer Tail}` ? `${Head}-${Tail}` : W;

interface Described {
  readonly description: string;
  readonly valueHint?: string;
}
export interface BooleanFlag extends Described {
  readonly type: "boolean";
  /** On by default: `--no-…` turns it off. */
  readonly default?: true;
  /** Undefined until the flag, or its `--no-…`, is typed. */
  readonly negatable?: true;
  readonly negativeDescription?: string;
}
export interface TextFlag extends Described {
  readonly type: "string";
  readonly default?: string;
  readonly required?: true;
  /** The value if the flag stands last or another flag follows it. */
  readonly bare?: string;
  /** May be given several times. */
  readonly multiple?: true;
  /** One letter, such as `n` for `-n`. */
  readonly alias?: string;
}
export interface ChoiceFlag extends Described {
  readonly type: "enum";
  readonly options: readonly string[];
  readonly default?: string;
  readonly required?: true;
}
export interface Positional extends Described {
  readonly type: "positional";
  readonly required?: boolean;
  /** Takes all remaining arguments. Only the last positional may be variadic. */
  readonly variadic?: true;
}
export type ArgDef = BooleanFlag | TextFlag | ChoiceFlag | Positional;
export type Definitions = Readonly<Record<string, ArgDef>>;

export interface Command<A extends Definitions = Definitions> {
  readonly args: A;
  readonly examples: readonly string[];
  /** Resolves to the exit code. */
  run(args: ArgsOf<A>, io: Io): Promise<number>;
}

/** Infers the type of `run`'s arguments from `args`. */
export function command<const A extends Definitions>(command: Command<A>): Command<A> {
  return command;
}

/** The parsed command line: flags and positional arguments by name. */
export type ArgsOf<A extends Definitions> = { readonly [K in keyof A]: ArgOf<A[K]> };
type ArgOf<D> = D extends { type: "boolean"; negatable: true }
  ? boolean | undefined
  : D extends { type: "boolean" }
    ? boolean
    : D extends { multiple: true } | { variadic: true }
      ? readonly string[]
      : D extends { type: "enum"; options: readonly (infer O)[] }
        ? D extends { required: true } | { default: string }
          ? O
          : O | undefined
        : D extends { required: true } | { default: string }
          ? string
          : string | undefined;

export const JSON_FLAG = { type: "boolean", description: "Print JSON" } as const;

export const CONFIG = {
  type: "string",
  valueHint: "FILE",
  description: "Configuration file [./webhookd.toml, else /etc/webhookd/webhookd.toml]",
} as const;

/** Defines a required positional argument that takes an id. */
export function byId<const P extends string>(prefix: P, description: string) {
  return { type: "positional", required: true, valueHint: `${prefix}_…`, description } as const;
}

/** Flags that choose the daemon for a client command. */
export const TARGET = {
  url: { type: "string", valueHint: "URL", description: "The daemon's address; needs an API key" },
  socket: { type: "string", valueHint: "PATH", description: "The daemon's unix socket; needs no key" },
  "key-file": { type: "string", valueHint: "FILE", description: "File that contains an API key" },
  config: CONFIG,
} as const;

/** Flags of every command that calls the daemon. */
export const CLIENT = { json: JSON_FLAG, ...TARGET } as const;

/** Flags of commands that cannot be undone. */
export const YES = {
  yes: { type: "boolean", description: "Skip the confirmation; required without a terminal" },
} as const;

/** Chooses a tenant, for the socket and for keys of every tenant. */
export const TENANT = { type: "string", valueHint: "TENANT", description: "Only this tenant" } as const;

/**
 * Defines `--sort`. `more` are further sort keys, for lists that are short enough to sort by something other than age.
 */
export function sortedBy<const S extends string = never>(...more: readonly S[]) {
  const options = ["newest", "oldest", ...more.flatMap((sort) => [sort, `-${sort}`])];
  const reversed = more[0] === undefined ? "" : `; --sort=-${more[0]} reverses the order`;
  return { type: "enum", options, description: `Sort by this, instead of --order${reversed}` } as const;
}

/** Flags of every command that lists. */
export const LIST = {
  limit: { type: "string", default: "50", valueHint: "N", description: "Show at most N" },
  cursor: { type: "string", valueHint: "CURSOR", description: "Continue where an earlier list ended" },
  order: { type: "enum", options: ["newest", "oldest"], description: "Which to list first [newest]" },
  sort: sortedBy(),
  fields: { type: "string", valueHint: "A,B", description: "Show only these fields" },
  ids: { type: "boolean", description: "Print only ids, one per line" },
  plain: { type: "boolean", description: "Tab-separated fields, nothing truncated" },
  ...CLIENT,
} as const;

/** Defines the flag that stands for a filter of a list. */
export function flagOf({ flag, says, example }: Filter) {
  return { type: "string", valueHint: flag?.hint ?? example ?? "TEXT", description: flag?.says ?? says } as const;
}

type OnlyListed = Exclude<FilterWord, (typeof DELIVERY_WORDS)[number] | "data" | "match">;

function flagsOf<const W extends FilterWord>(words: readonly W[]) {
  const flags = words
    .map((word) => [word, FILTERS[word] as Filter] as const)
    .filter(([, { flag }]) => flag !== undefined)
    .map(([word, filter]) => [word.replace("_", "-"), flagOf(filter)]);
  return Object.fromEntries(flags) as {
    readonly [N in FlagName<Exclude<W, "test" | "tenant">>]: ReturnType<typeof flagOf>;
  };
}

const isOne = (words: readonly string[], word: string): boolean => words.includes(word);

/** Search arguments of the lists of events and deliveries. */
export const FOUND_BY = {
  words: {
    type: "positional",
    required: false,
    variadic: true,
    valueHint: "WORDS",
    description:
      "Same as --filter; a bare word is a publisher's id, a tag, or part of an endpoint's URL or description; data.customer.id:cus_123 searches the data of events",
  },
  ...flagsOf(FILTER_WORDS.filter((word): word is OnlyListed => !isOne(DELIVERY_WORDS, word))),
} as const;

/** The keys of `--filter`, each as a flag. */
export const FILTER = {
  filter: {
    type: "string",
    valueHint: "WORDS",
    description: 'Several filters at once, such as "status:failed status_code:5xx since:2h"',
  },
  ...flagsOf(DELIVERY_WORDS.filter((word) => word !== "event")),
} as const;
