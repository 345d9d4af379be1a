import { ConfigError } from "../src/config/mistake.ts";
import { printable } from "../src/domain/printable.ts";
import { EXIT } from "./exit-code.ts";
import { FIELD_HINTS, HINTS } from "./hints.ts";
import type { Io } from "./io.ts";
import { jsonText } from "./output/print.ts";

/**
 * A command did not do what it was asked to. Says what happened and what to type next, and may contain outside text.
 */
export class Failure extends Error {
  override readonly name = "Failure";
  readonly failure: keyof typeof EXIT;
  readonly code: string;
  readonly hint: string | undefined;

  constructor(failure: keyof typeof EXIT, message: string, hint?: string, code: string = failure) {
    super(message);
    this.failure = failure;
    this.code = code;
    this.hint = hint;
  }
}

/** Returns the error for a wrong command line: exit code 2, before any request to the daemon. */
export function usage(what: string, hint = ""): Failure {
  return new Failure("usage", what, `${hint} Nothing was done.`.trimStart());
}

/** Prints what went wrong on stderr and returns the exit code. Never writes to stdout. */
export function report(error: unknown, { stderr, env }: Io, json: boolean): number {
  const { exit, code, messages } = understand(error);
  if (json) {
    const [first] = messages;
    const shown = { code, message: first!.what, ...(first!.hints.length > 0 && { hint: first!.hints.join(" ") }) };
    stderr.write(`${jsonText({ error: shown })}\n`);
  } else {
    for (const { what, hints } of messages) {
      stderr.write([`webhookd: ${printable(what)}`, ...hints.map((hint) => `  ${printable(hint)}`), ""].join("\n"));
    }
  }
  if (env.WEBHOOKD_DEBUG && error instanceof Error) {
    stderr.write(`${printable(error.stack ?? "", { keepNewlines: true })}\n`);
  }
  return exit;
}

interface Understood {
  readonly exit: number;
  readonly code: string;
  readonly messages: readonly { readonly what: string; readonly hints: readonly string[] }[];
}

/**
 * Recognises errors by their fields where importing their class would load the daemon or the client: `failure` is a
 * name in the table of exit codes, `exitCode` is the code itself.
 */
function understand(error: unknown): Understood {
  if (error instanceof ConfigError) {
    const messages = error.mistakes.map(({ where, what, why, todo }) => ({
      what: `${where}: ${what}`,
      hints: [why, todo].filter((line) => line !== undefined),
    }));
    return { exit: EXIT.usage, code: "usage", messages };
  }
  if (!(error instanceof Error)) return understand(new Error(String(error)));
  const { failure, exitCode, code } = error as Error & { [name: string]: unknown };
  const hints = hintsOf(error);
  const messages = [{ what: error.message, hints }];
  if (typeof failure === "string" && Object.hasOwn(EXIT, failure)) {
    return { exit: EXIT[failure as keyof typeof EXIT], code: typeof code === "string" ? code : failure, messages };
  }
  if (typeof exitCode === "number") return { exit: exitCode, code: "refused", messages };
  if (error.name === "ListenError") return { exit: EXIT.refused, code: "refused", messages };
  const what = `this is a bug in webhookd: ${error.message}`;
  return {
    exit: EXIT.bug,
    code: "bug",
    messages: [{ what, hints: ["Please report it, with the output of WEBHOOKD_DEBUG=1."] }],
  };
}

/** Returns the error's own hint, or the hints for what the daemon refused, or none. */
function hintsOf({
  message,
  hint,
  code,
  about,
  faults = [],
}: Error & { hint?: unknown; code?: unknown; about?: unknown; faults?: unknown[] }): string[] {
  const known = faults.map((fault) => hintFor(FIELD_HINTS, (fault as { code: unknown }).code));
  const coded = withIds(hintFor(HINTS, code), `${String(about)} ${message}`);
  const all = [hint, coded, ...known].filter((text) => typeof text === "string");
  return [...new Set(all)];
}

function hintFor(hints: Readonly<Record<string, string>>, code: unknown): string | undefined {
  return typeof code === "string" && Object.hasOwn(hints, code) ? hints[code] : undefined;
}

/** Replaces placeholders such as `ep_…` with the ids that the error is about, so that the commands can be pasted. */
function withIds(hint: string | undefined, about: string): string | undefined {
  return hint?.replaceAll(/\b([a-z]+_)…/g, (cut, kind: string) => {
    const [id = cut] = new RegExp(`\\b${kind}[0-9a-z]{26}\\b`).exec(about) ?? [];
    return id;
  });
}
