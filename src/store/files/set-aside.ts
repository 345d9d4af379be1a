/**
 * What a daemon that meets a damaged page still has to say: that the database is damaged, and the results that it could
 * not record there. The next start mends the database and records them, so that nothing is sent again after a 2xx.
 */
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, rmSync, statSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import { syncDirectory } from "./durable-file.ts";
import type { EndedAttempt } from "../store.ts";

export const SET_ASIDE = "DAMAGED";

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
      writeSync(file, attempts.map((attempt) => `${textOf(attempt)}\n`).join(""));
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
    return bytes.toString().split("\n").slice(0, -1).map(attemptOf);
  }

  /** What was read is recorded now. False, and it stays, if more was added since: recording met damage again. */
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

/** Without the event's bytes, which nobody needs to record it. */
function textOf({ claim, outcome, ...rest }: EndedAttempt): string {
  const responseBody = Buffer.from(outcome.responseBody).toString("base64");
  return JSON.stringify({ claim: { ...claim, body: "" }, outcome: { ...outcome, responseBody }, ...rest });
}

function attemptOf(line: string): EndedAttempt {
  const { claim, outcome, ...rest } = JSON.parse(line) as EndedAttempt & { outcome: { responseBody: string } };
  const responseBody = Buffer.from(outcome.responseBody as unknown as string, "base64");
  return { ...rest, claim: { ...claim, body: Buffer.alloc(0) }, outcome: { ...outcome, responseBody } };
}
