/** Work over many rows, a chunk a transaction: cancelling what a deleted endpoint was owed, and what a crash left. */
import type { Database, Statement } from "better-sqlite3";
import { CANCELLED, FRESH, WAITING } from "./codes.ts";

/** Rows a transaction touches at most. */
export const CHUNK = 500;

export class Sweep {
  readonly #db: Database;
  readonly #open: Statement<[number, number, number], number>;
  readonly #cancel: Statement<[number, number]>;
  readonly #swept: Statement<[number]>;
  readonly #unswept: Statement<[], number>;
  readonly #strays: Statement<[number], { event: number; endpoint: number }>;
  readonly #wait: Statement<[number, number, number]>;

  constructor(db: Database) {
    this.#db = db;
    this.#open = db
      .prepare<[number, number, number], number>(
        `SELECT event FROM delivery INDEXED BY delivery_waiting WHERE status = ${WAITING} AND endpoint = ?
         UNION ALL
         SELECT event FROM delivery INDEXED BY delivery_fresh WHERE status = ${FRESH} AND endpoint = ?
         LIMIT ?`,
      )
      .pluck();
    this.#cancel = db.prepare(
      `UPDATE delivery SET status = ${CANCELLED}, due_at = NULL WHERE event = ? AND endpoint = ?`,
    );
    this.#swept = db.prepare("UPDATE endpoint SET sweep = 0 WHERE number = ?");
    this.#unswept = db.prepare<[], number>("SELECT number FROM endpoint WHERE sweep = 1").pluck();
    this.#strays = db.prepare(
      `SELECT event, endpoint FROM delivery INDEXED BY delivery_fresh WHERE status = ${FRESH} LIMIT ?`,
    );
    this.#wait = db.prepare(
      `UPDATE delivery SET status = ${WAITING}, due_at = min(due_at, ?) WHERE event = ? AND endpoint = ?`,
    );
  }

  /** Deleted endpoints whose sweep a stop of the process cut short. */
  unswept(): number[] {
    return this.#unswept.all();
  }

  /** Cancels some of what is open; whether all of it is now. Inside a transaction. */
  cancelOpen(endpoint: number): boolean {
    const events = this.#open.all(endpoint, endpoint, CHUNK);
    for (const event of events) this.#cancel.run(event, endpoint);
    if (events.length === CHUNK) return false;
    this.#swept.run(endpoint);
    return true;
  }

  /**
   * Fresh deliveries of a process that ended: memory held them, so they are as few as memory allows. From now on they
   * wait on disk like all others, and if the clock was set back they are due all the same.
   */
  releaseFresh(now: number): void {
    const chunk = this.#db.transaction(() => {
      const rows = this.#strays.all(CHUNK);
      for (const { event, endpoint } of rows) this.#wait.run(now, event, endpoint);
      return rows.length;
    });
    while (chunk.immediate() === CHUNK);
  }
}
