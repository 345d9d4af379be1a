import type { Database } from "better-sqlite3";
import { StoreRefused } from "../../files/refused.ts";
import { isDamage } from "./faults.ts";

/** Moves all of the write-ahead log into the database; false while something else reads it. */
function empty(db: Database): boolean {
  const [{ busy }] = db.pragma("wal_checkpoint(TRUNCATE)") as [{ busy: number }];
  return busy === 0;
}

/**
 * After a process that did not close it. Should that have ended because an fsync of the log failed, the kernel still
 * shows what it did not write: commits that are appended to it would be lost with the next power cut. Answers why not all
 * of it could be moved, such as a full disk, or null.
 */
export function emptyLogAfterKill(db: Database): string | null {
  try {
    return empty(db) ? null : "something else reads the database";
  } catch (error) {
    if (isDamage(error)) throw error;
    return error instanceof Error ? error.message : String(error);
  }
}

/** Before the last connection is closed. */
export function emptyLogAtStop(db: Database): void {
  try {
    empty(db);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new StoreRefused(
      74,
      `stopped, but nothing can be moved from webhookd.db-wal into the database: ${reason}`,
      "Nothing is lost as long as that file stays beside the database: see to the disk, then start webhookd again.",
      error,
    );
  }
}
