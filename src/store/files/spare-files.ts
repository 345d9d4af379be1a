/**
 * Files beside the database for emergencies: results that a damaged database cannot record, and space to start on a
 * full disk.
 */
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
 * The notes of a daemon that found a damaged page: the fact that the database is damaged, and the results that it could
 * not record. The next start repairs the database and records them, so that nothing is sent again after a 2xx.
 */
export class SetAside {
  readonly #file: string;
  /** The number of bytes that have been read. */
  #read = 0;

  constructor(dir: string) {
    this.#file = join(dir, SET_ASIDE);
  }

  /** True if the last process found damage. */
  get isThere(): boolean {
    return existsSync(this.#file);
  }

  /** The attempts are durable when this returns. */
  add(attempts: readonly EndedAttempt[] = []): void {
    const file = openSync(this.#file, "a", 0o600);
    try {
      // The last line may have been cut short, and must not run into the first of these attempts.
      writeFileSync(file, attempts.map((attempt) => `\n${textOf(attempt)}\n`).join(""));
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    syncDirectory(dirname(this.#file));
  }

  /** Leaves out a line that was cut short, because it was never durable. */
  attempts(): EndedAttempt[] {
    if (!this.isThere) return [];
    const bytes = readFileSync(this.#file);
    this.#read = bytes.length;
    return bytes.toString().split("\n").slice(0, -1).flatMap(attemptsIn);
  }

  /**
   * Called once the attempts that were read have been recorded. Keeps the file and returns false if more was added
   * since, because recording ran into damage again.
   */
  remove(): boolean {
    if ((statSync(this.#file, { throwIfNoEntry: false })?.size ?? 0) > this.#read) return false;
    this.forget();
    return true;
  }

  /** Removes the file even if it was not read, because it belongs to a database that is no longer here. */
  forget(): void {
    rmSync(this.#file, { force: true });
    syncDirectory(dirname(this.#file));
  }
}

interface WrittenAttempt extends Omit<EndedAttempt, "outcome"> {
  readonly outcome: Omit<EndedAttempt["outcome"], "responseBody"> & { readonly responseBody: string };
}

/** Leaves out the event's bytes, which recording does not need. */
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
 * The files that let a daemon start on a full disk. SQLite cannot open the database without the files `-wal` and
 * `-shm`, and a clean stop removes both, so a disk that has filled up since has no space for them. These two files take
 * their places by renaming, which needs no space. A write-ahead log of zeros is empty, and is written over in place.
 */
export class Reserve {
  readonly #dir: string;

  constructor(dir: string) {
    this.#dir = dir;
  }

  /** Makes the files that are missing. Throws if there is no space. */
  make(): void {
    for (const { reserve, bytes } of FILES) {
      const file = join(this.#dir, reserve);
      if (!existsSync(file)) writeDurably(file, "\0".repeat(bytes));
    }
  }

  /** Called before the database is opened. Keeps existing files: the last process left them, or they are in use. */
  lend(): void {
    for (const { reserve, place } of FILES) {
      const file = join(this.#dir, reserve);
      if (existsSync(file) && !existsSync(join(this.#dir, place))) renameSync(file, join(this.#dir, place));
    }
  }

  /** Returns the space to the disk. Returns true if there was any. */
  release(): boolean {
    const left = FILES.map(({ reserve }) => join(this.#dir, reserve)).filter((file) => existsSync(file));
    for (const file of left) rmSync(file, { force: true });
    return left.length > 0;
  }
}
