/** A page of the open database is not what was written there. The next opening takes over what can be read. */
export class StoreDamaged extends Error {
  override readonly name = "StoreDamaged";
  /** Of a process that cannot open it again by itself: the one that is started next can. */
  readonly exitCode = 74;
  readonly hint =
    "Start it again: what can be read is taken over into a new database. Or restore a backup with: webhookd restore <file>";

  constructor(file: string, cause: Error) {
    super(`${file} is damaged: ${cause.message}`, { cause });
  }
}

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

/** A new store takes half of it, and what a start writes as much again. */
const START_BYTES = "4 MiB";

export function refusedFull(dir: string, cause: unknown): StoreRefused {
  const todo = `free at least ${START_BYTES} and a few files there (df -h and df -i tell), then start it again`;
  return new StoreRefused(74, `the disk of ${dir} is full, and webhookd cannot start`, todo, cause);
}
