/** Finds deliveries that a wrong clock has put off for longer than their ladder allows. */
import type { Database, Statement } from "better-sqlite3";
import { latestDue, putOffAfter, type Waits } from "../../../domain/deliveries/due-time.ts";
import type { Waiting } from "../../store.ts";
import { CHUNK } from "../engine/group-commit.ts";
import { BEHIND, eventId, WAITING } from "../../rows/codes.ts";

interface Row {
  readonly event: number;
  readonly endpoint: number;
  readonly id: string;
  readonly random: string;
}

export class PutOff {
  readonly #mostRetries: Statement<[], number | null>;
  readonly #find: Statement<[retry: number, after: number, limit: number], Row>;
  readonly #move: Statement<[dueAt: number, event: number, endpoint: number]>;

  constructor(db: Database) {
    const pending = "FROM delivery INDEXED BY delivery_retry WHERE status";
    this.#mostRetries = db.prepare<[], number | null>(`SELECT max(retry) ${pending} = ${WAITING}`).pluck();
    // Skip deliveries that are about to be cancelled: they must not move behind the walk that cancels them.
    this.#find = db.prepare(
      `SELECT d.event, d.endpoint, p.id, e.random FROM delivery d INDEXED BY delivery_retry
       CROSS JOIN endpoint p ON p.number = d.endpoint CROSS JOIN event e ON e.key = d.event
       WHERE d.status = ${WAITING} AND d.retry = ? AND d.due_at > ? AND d.due_at < ${BEHIND} AND d.event > coalesce(p.cancel_to, -1)
       ORDER BY d.due_at DESC LIMIT ?`,
    );
    this.#move = db.prepare("UPDATE delivery SET due_at = ? WHERE event = ? AND endpoint = ?");
  }

  isAny(waits: Waits, now: number): boolean {
    return this.#all(waits, now, 1).length > 0;
  }

  hasten(waits: Waits, now: number): Waiting[] {
    return this.#all(waits, now, CHUNK).map(({ event, endpoint, id, random, dueAt }) => {
      this.#move.run(dueAt, event, endpoint);
      return { endpoint: id, event: eventId(event, random), dueAt };
    });
  }

  /** Adds their new due times. */
  #all(waits: Waits, now: number, limit: number): (Row & { readonly dueAt: number })[] {
    const found: (Row & { readonly dueAt: number })[] = [];
    const most = this.#mostRetries.get() ?? -1;
    for (let retry = 0; retry <= most && found.length < limit; retry++) {
      const rows = this.#find.all(retry, putOffAfter(waits, retry, now), limit - found.length);
      const dueAt = latestDue(waits, retry, now);
      for (const row of rows) found.push({ ...row, dueAt });
    }
    return found;
  }
}
