/** One mistake: where it stands, what is wrong, why it matters, what to type instead. Holds outside text. */
export interface Mistake {
  /** `webhookd.toml:14`, `WEBHOOKD_SERVER_LISTEN` or `--listen`. */
  readonly where: string;
  readonly what: string;
  readonly why?: string;
  readonly todo?: string;
}

/** The configuration cannot be used; every mistake that was found, not just the first. Exit code 2. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
  readonly exitCode = 2;
  readonly mistakes: readonly Mistake[];

  constructor(mistakes: readonly Mistake[]) {
    super(mistakes.map(sentence).join("\n"));
    this.mistakes = mistakes;
  }
}

function sentence({ where, what, why, todo }: Mistake): string {
  return [`${where}: ${what}`, why, todo].filter((line) => line !== undefined).join("\n  ");
}
