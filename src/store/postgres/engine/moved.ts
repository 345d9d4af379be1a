/** Determines whether a store was moved out of this database, or is being moved into it. */
import { StoreRefused } from "../../files/refused.ts";
import type { Queries } from "./database.ts";

/**
 * Facts of a store that is being moved: the state of the copy into this database, and the place to which its store has
 * gone.
 */
export const MOVING_IN = "moving_in";
export const MOVED = "moved";

/** A move out of the database holds this lock until it ends. Nothing else takes it in this mode. */
export const LOCK_OUT = "LOCK TABLE node IN EXCLUSIVE MODE";

/** Refuses a store that is being moved out of this database, because every query would wait for the end of the move. */
export async function requireUnlocked(queries: Queries): Promise<void> {
  const locks = await queries.rows(
    `SELECT 1 FROM pg_locks WHERE relation = to_regclass('node') AND mode = 'ExclusiveLock' AND granted
       AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
  );
  if (locks.length === 0) return;
  const what = "`webhookd migrate --from` is moving the store out of this PostgreSQL database";
  const todo = "wait until it has ended; unless that was a --dry-run, the store is in the data directory then";
  throw new StoreRefused(75, what, todo);
}

/** Refuses a store that is only partly here, or that was moved elsewhere. */
export async function requireHere(queries: Queries): Promise<void> {
  const rows = await queries.rows<{ name: string; value: string }>(
    "SELECT name, value FROM meta WHERE name IN ($1, $2)",
    [MOVING_IN, MOVED],
  );
  for (const { name, value } of rows) {
    if (name === MOVING_IN) {
      const todo = "to finish it, run the same webhookd migrate command again, with --resume";
      throw new StoreRefused(1, "a move into this PostgreSQL database is not finished", todo);
    }
    const { to, at } = JSON.parse(value) as { to: string; at: number };
    const what = `the store of this PostgreSQL database was moved to ${to} on ${new Date(at).toISOString()}`;
    const back = "DELETE FROM meta WHERE name = 'moved'";
    throw new StoreRefused(1, what, `start it there; to go back to what it was then, run in this database: ${back}`);
  }
}
