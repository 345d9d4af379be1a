/** Mistakes in a configuration, and guesses at what was meant. */

/** One mistake: where it is, what is wrong, why it matters, what to type instead. Contains outside text. */
export interface Mistake {
  /** `webhookd.toml:14`, `WEBHOOKD_SERVER_LISTEN` or `--listen`. */
  readonly where: string;
  readonly what: string;
  readonly why?: string;
  readonly todo?: string;
}

/** The configuration cannot be used. Lists every mistake that was found, not just the first. Exit code 2. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
  readonly exitCode = 2;
  readonly mistakes: readonly Mistake[];

  constructor(mistakes: readonly Mistake[]) {
    super(mistakes.map(sentence).join("\n"));
    this.mistakes = mistakes;
  }
}

/**
 * The mistakes of a ConfigError, or of a similar error from code that does not know the configuration; null for any
 * other error.
 */
export function mistakesOf(error: unknown): readonly Mistake[] | null {
  return error instanceof Error && "mistakes" in error ? (error.mistakes as readonly Mistake[]) : null;
}

function sentence({ where, what, why, todo }: Mistake): string {
  return [`${where}: ${what}`, why, todo].filter((line) => line !== undefined).join("\n  ");
}

/** The known name that a mistyped one most likely meant; null if none is close enough. */
export function nearest(typed: string, names: Iterable<string>): string | null {
  // None of our names is that long, and the comparison costs the product of both lengths.
  if (typed.length > 64) return null;
  let best: string | null = null;
  let least = Math.max(1, Math.floor(typed.length / 3)) + 1;
  for (const name of names) {
    const steps = distance(typed.toLowerCase(), name.toLowerCase());
    if (steps < least) [best, least] = [name, steps];
  }
  return best;
}

/** Counts the insertions, deletions, substitutions and swaps of neighbours between two short texts. */
function distance(from: string, to: string): number {
  let before: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let column = 1; column <= to.length; column++) {
      const same = from[row - 1] === to[column - 1];
      let steps = Math.min(last[column]! + 1, current[column - 1]! + 1, last[column - 1]! + (same ? 0 : 1));
      const swapped = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      if (row > 1 && column > 1 && swapped) steps = Math.min(steps, before[column - 2]! + 1);
      current.push(steps);
    }
    [before, last] = [last, current];
  }
  return last[to.length]!;
}
