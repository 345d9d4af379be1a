/** A store that cannot be opened, as the daemon's last words: what is wrong, and what to do about it. */
export class StoreRefused extends Error {
  override readonly name = "StoreRefused";
  /** 1 refused, 65 the data is not what it should be, 74 the storage fails, 75 another daemon holds it. */
  readonly exitCode: 1 | 65 | 74 | 75;
  readonly hint: string;

  constructor(exitCode: 1 | 65 | 74 | 75, message: string, hint: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.exitCode = exitCode;
    this.hint = hint;
  }
}
