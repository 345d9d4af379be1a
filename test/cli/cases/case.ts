/** What the table of commands knows of one command; all that is not said here follows from its definition. */
import type { CommandName } from "../../../cli/commands.ts";
import type { OperationName } from "../../../src/client/operations.ts";

/** Where a word, an answer or a pattern says `{dir}`, a folder of the case's own is meant. */
export interface Case {
  /** A command line that works, after the command's name and before what names the daemon. */
  readonly words: readonly string[];
  /**
   * The operations it asks for with it, in order, each once. From them follow the cases "no daemon", "wrong key", "not
   * found" (they have an `{id}`) and "conflict" (they may be answered 409).
   */
  readonly asks: readonly OperationName[];
  /** Of these, what it does without when there is no answer. */
  readonly spares?: readonly OperationName[];
  /** Bodies in place of the examples of docs/openapi.json; several are given one after the other, the last for ever. */
  readonly answers?: { readonly [O in OperationName]?: object | readonly object[] };
  /** Where it ends with another code than 0. */
  readonly exit?: number;
  /** All of stdout. */
  readonly out: RegExp;
  /** All of stderr; nothing if it is not given. */
  readonly err?: RegExp;
  /** What `--json` prints has all this; `lines` is one document a line. */
  readonly json?: object | "lines";
  /** Files by name, made in `{dir}` before. */
  readonly files?: Readonly<Record<string, string>>;
  /** What is piped in. */
  readonly input?: readonly string[];
  /** It asks before it acts unless `--yes` is given, which `words` then hold; this is what a person types. */
  readonly confirmedBy?: string;
  /** It does not run on a terminal as it does in a pipe, and its own tests say how. */
  readonly ownTerminal?: true;
}

/** A command that does not end by itself, or takes the whole machine: what it does is tested there. */
export interface CaseElsewhere {
  /** A command line that it takes. */
  readonly words: readonly string[];
  /** The file that shows it. */
  readonly testedIn: string;
}

/** A row for each command that is one of these words, or begins with one. */
export type Cases<W extends string, C = Case> = {
  readonly [N in Exclude<CommandName, "events tail"> as N extends W | `${W} ${string}` ? N : never]: C;
};
