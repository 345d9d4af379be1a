/**
 * Watches the write-ahead log: where nothing can be moved from it into the database, acknowledgements go on and the log
 * takes the disk, in silence, because SQLite tells nobody of a checkpoint that failed within a commit.
 */
import type { Database } from "better-sqlite3";

export interface WalWatchOptions {
  readonly monotonic: () => number;
  readonly walBytes: () => Promise<number>;
  /** `journal_size_limit`: it is cut to that when all of it was moved. */
  readonly limitBytes?: number;
}

const LIMIT_BYTES = 64 * 1024 * 1024;
/** A checkpoint of a large log holds everything up. */
const TRY_EVERY_MS = 60_000;

export class WalWatch {
  /** What is the matter, in a sentence; null while the log is no larger than it may be. */
  trouble: string | null = null;
  readonly #db: Database;
  readonly #options: WalWatchOptions;
  #triedAt = Number.NEGATIVE_INFINITY;

  constructor(db: Database, options: WalWatchOptions) {
    this.#db = db;
    this.#options = options;
  }

  async look(): Promise<void> {
    const { monotonic, walBytes, limitBytes = LIMIT_BYTES } = this.#options;
    const bytes = await walBytes();
    if (bytes <= limitBytes) {
      this.trouble = null;
      return;
    }
    if (monotonic() - this.#triedAt < TRY_EVERY_MS) return;
    this.#triedAt = monotonic();
    const reason = this.#try();
    // All was moved: the next commit begins the log anew, and the one after the next look finds it so.
    this.trouble =
      reason === null ? null : `the write-ahead log has ${Math.round(bytes / 2 ** 20)} MiB and grows: ${reason}`;
  }

  #try(): string | null {
    try {
      const [found] = this.#db.pragma("wal_checkpoint(PASSIVE)") as [{ log: number; checkpointed: number }];
      if (found.checkpointed >= found.log) return null;
      return `only ${found.checkpointed} of its ${found.log} pages could be moved into the database, something reads it (a backup, a sqlite3 shell)`;
    } catch (error) {
      return `nothing can be moved into the database (${error instanceof Error ? error.message : String(error)})`;
    }
  }
}
