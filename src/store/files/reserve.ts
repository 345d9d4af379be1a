/**
 * What a start on a full disk lives from. Without the files `-wal` and `-shm` SQLite cannot open the database, and a
 * clean stop removes both, so that a disk that has filled since has neither room nor a name for them. These two take
 * their place by a rename, which needs neither; a write-ahead log of zeros holds nothing, and is written over in place.
 */
import { existsSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { writeDurably } from "./durable-file.ts";

const FILES = [
  { reserve: "webhookd.reserve-wal", place: "webhookd.db-wal", bytes: 1024 * 1024 },
  { reserve: "webhookd.reserve-shm", place: "webhookd.db-shm", bytes: 32 * 1024 },
] as const;

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
