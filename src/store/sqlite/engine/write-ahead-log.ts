/**
 * Watches the write-ahead log, which contains commits that are not in the database file yet. If it cannot be emptied,
 * commits are still acknowledged and the log silently fills the disk, because SQLite does not report a checkpoint that
 * fails within a commit.
 */
import type { Database } from "better-sqlite3";
import { StoreRefused } from "../../files/refused.ts";
import { isDamage } from "./condition.ts";

export interface WalWatchOptions {
  readonly monotonic: () => number;
  readonly walBytes: () => Promise<number>;
  /** `journal_size_limit`: the log is cut to this size once all of it was moved. */
  readonly limitBytes?: number;
}

const LIMIT_BYTES = 64 * 1024 * 1024;
/** A checkpoint of a large log delays everything else. */
const TRY_EVERY_MS = 60_000;

export class WalWatch {
  /** Describes the trouble in a sentence. Null while the log is no larger than its limit. */
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
    // Everything was moved. The next commit restarts the log, and the check after that sees the smaller size.
    this.trouble =
      reason === null
        ? null
        : `the write-ahead log has reached ${Math.round(bytes / 2 ** 20)} MiB and is growing: ${reason}`;
  }

  #try(): string | null {
    try {
      const [found] = this.#db.pragma("wal_checkpoint(PASSIVE)") as [{ log: number; checkpointed: number }];
      if (found.checkpointed >= found.log) return null;
      return `only ${found.checkpointed} of its ${found.log} pages could be moved into the database, because something is reading it (a backup, a sqlite3 shell)`;
    } catch (error) {
      return `nothing can be moved into the database (${error instanceof Error ? error.message : String(error)})`;
    }
  }
}

/** Moves all of the write-ahead log into the database. Returns false if something else is reading it. */
function empty(db: Database): boolean {
  const [{ busy }] = db.pragma("wal_checkpoint(TRUNCATE)") as [{ busy: number }];
  return busy === 0;
}

/**
 * Call it after a process that did not close the log. If that process ended because an fsync of the log failed, the
 * kernel may still show pages that were never written, and a power cut would lose commits appended to them. Returns why
 * part of the log could not be moved, such as a full disk, or null.
 */
export function emptyLogAfterKill(db: Database): string | null {
  try {
    return empty(db) ? null : "something else is reading the database";
  } catch (error) {
    if (isDamage(error)) throw error;
    return error instanceof Error ? error.message : String(error);
  }
}

/** Call it before the last connection is closed. */
export function emptyLogAtStop(db: Database): void {
  try {
    empty(db);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new StoreRefused(
      74,
      `stopped, but nothing can be moved from webhookd.db-wal into the database: ${reason}`,
      "Nothing is lost as long as that file stays beside the database: check the disk, then start webhookd again.",
      error,
    );
  }
}
