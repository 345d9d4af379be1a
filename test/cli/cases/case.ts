/** The table's entry about one command. The tests derive everything else from the command's definition. */
import type { CommandName } from "../../../cli/commands.ts";
import type { OperationName } from "../../../src/client/operations.ts";

/** `{dir}` in a word, a response or a pattern stands for the case's own directory. */
export interface Case {
  /** A command line that works, without the command's name and the options that name the daemon. */
  readonly words: readonly string[];
  /**
   * The operations that the command calls, in order, each listed once. They decide whether the cases "no daemon",
   * "wrong key", "not found" (for operations with an `{id}`) and "conflict" (for operations that may answer 409) apply.
   */
  readonly asks: readonly OperationName[];
  /** Operations among them that the command can do without if they are not answered. */
  readonly spares?: readonly OperationName[];
  /**
   * Bodies in place of the examples of docs/openapi.json. Several are sent one after another, and the last one is
   * repeated.
   */
  readonly answers?: { readonly [O in OperationName]?: object | readonly object[] };
  /** The exit code, if it is not 0. */
  readonly exit?: number;
  /** The whole of stdout. */
  readonly out: RegExp;
  /** The whole of stderr, which is empty by default. */
  readonly err?: RegExp;
  /** Members that the output of `--json` must have. `lines` means one document per line. */
  readonly json?: object | "lines";
  /** Files by name, created in `{dir}` before the command runs. */
  readonly files?: Readonly<Record<string, string>>;
  /** The text piped in. */
  readonly input?: readonly string[];
  /**
   * The text with which a person confirms the command. Such a command asks unless `--yes` is given, so `words` contain
   * it.
   */
  readonly confirmedBy?: string;
  /** True if the command behaves differently on a terminal, which its own tests cover. */
  readonly ownTerminal?: true;
}

/** A command that does not end by itself, or needs the whole machine. The named file tests it. */
export interface CaseElsewhere {
  /** A command line that the command accepts. */
  readonly words: readonly string[];
  /** The file that tests it. */
  readonly testedIn: string;
}

/** A row for each command that is one of these words or begins with one. */
export type Cases<W extends string, C = Case> = {
  readonly [N in Exclude<CommandName, "events tail"> as N extends W | `${W} ${string}` ? N : never]: C;
};
