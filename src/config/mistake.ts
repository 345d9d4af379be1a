/** Mistakes in a configuration. */

/** One mistake: where it is, what is wrong, why it matters, what to type instead. Contains outside text. */
export interface Mistake {
  /** `webhookd.toml:14`, `WEBHOOKD_SERVER_LISTEN` or `--listen`. */
  readonly where: string;
  readonly what: string;
  readonly why?: string;
  readonly todo?: string;
}

/** The configuration cannot be used. Lists every mistake that was found, not just the first. The exit code is 2. */
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
