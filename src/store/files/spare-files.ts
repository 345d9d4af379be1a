/** What lies beside the database for a bad day: what a damaged one cannot record, and room for a start on a full disk. */
import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import type { EndedAttempt } from "../store.ts";
import { syncDirectory, writeDurably } from "./durable-file.ts";

export const SET_ASIDE = "DAMAGED";

/**
 * What a daemon that meets a damaged page still has to say: that the database is damaged, and the results that it could
 * not record there. The next start mends the database and records them, so that nothing is sent again after a 2xx.
 */
export class SetAside {
  readonly #file: string;
  /** Bytes of it that were read. */
  #read = 0;

  constructor(dir: string) {
    this.#file = join(dir, SET_ASIDE);
  }

  /** Whether the last process found damage. */
  get isThere(): boolean {
    return existsSync(this.#file);
  }

  /** Durable when it returns. */
  add(attempts: readonly EndedAttempt[] = []): void {
    const file = openSync(this.#file, "a", 0o600);
    try {
      // What is there may have been cut short, and would take the first of these with it.
      writeFileSync(file, attempts.map((attempt) => `\n${textOf(attempt)}\n`).join(""));
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    syncDirectory(dirname(this.#file));
  }

  /** A line that was cut short was not durable, and is left out. */
  attempts(): EndedAttempt[] {
    if (!this.isThere) return [];
    const bytes = readFileSync(this.#file);
    this.#read = bytes.length;
    return bytes.toString().split("\n").slice(0, -1).flatMap(attemptsIn);
  }

  /** What was read is recorded now. False, and it stays, if more was added since: recording ran into damage again. */
  remove(): boolean {
    if ((statSync(this.#file, { throwIfNoEntry: false })?.size ?? 0) > this.#read) return false;
    this.forget();
    return true;
  }

  /** Read or not: it is of a database that is no longer here. */
  forget(): void {
    rmSync(this.#file, { force: true });
    syncDirectory(dirname(this.#file));
  }
}

interface WrittenAttempt extends Omit<EndedAttempt, "outcome"> {
  readonly outcome: Omit<EndedAttempt["outcome"], "responseBody"> & { readonly responseBody: string };
}

/** Without the event's bytes, which nobody needs to record it. */
function textOf({ claim, outcome, ...rest }: EndedAttempt): string {
  const responseBody = Buffer.from(outcome.responseBody).toString("base64");
  return JSON.stringify({ claim: { ...claim, body: "" }, outcome: { ...outcome, responseBody }, ...rest });
}

function attemptsIn(line: string): EndedAttempt[] {
  const whole = parseOrNull(line);
  if (whole === null) return [];
  const { claim, outcome, ...rest } = whole;
  const responseBody = Buffer.from(outcome.responseBody, "base64");
  return [{ ...rest, claim: { ...claim, body: Buffer.alloc(0) }, outcome: { ...outcome, responseBody } }];
}

function parseOrNull(line: string): WrittenAttempt | null {
  try {
    return JSON.parse(line) as WrittenAttempt;
  } catch {
    return null;
  }
}

const FILES = [
  { reserve: "webhookd.reserve-wal", place: "webhookd.db-wal", bytes: 1024 * 1024 },
  { reserve: "webhookd.reserve-shm", place: "webhookd.db-shm", bytes: 32 * 1024 },
] as const;

/**
 * What a start on a full disk lives from. Without the files `-wal` and `-shm` SQLite cannot open the database, and a
 * clean stop removes both, so that a disk that has filled since has neither room nor a name for them. These two take
 * their place by a rename, which needs neither; a write-ahead log of zeros holds nothing, and is written over in place.
 */
export class Reserve {
  readonly #dir: string;

  constructor(dir: string) {
    this.#dir = dir;
  }

  /** Makes what is missing of it. Throws where there is no room. */
  make(): void {
    for (const { reserve, bytes } of FILES) {
      const file = join(this.#dir, reserve);
      if (!existsSync(file)) writeDurably(file, "\0".repeat(bytes));
    }
  }

  /** Before the database is opened. What is there stays: it is the last process's, or in use. */
  lend(): void {
    for (const { reserve, place } of FILES) {
      const file = join(this.#dir, reserve);
      if (existsSync(file) && !existsSync(join(this.#dir, place))) renameSync(file, join(this.#dir, place));
    }
  }

  /** Gives all of it back to the disk; whether there was any. */
  release(): boolean {
    const left = FILES.map(({ reserve }) => join(this.#dir, reserve)).filter((file) => existsSync(file));
    for (const file of left) rmSync(file, { force: true });
    return left.length > 0;
  }
}
