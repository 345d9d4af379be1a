/**
 * Removes response bodies before the rest of the attempt. No index finds them, because every attempt would pay for it.
 * Instead a walk in the order of events passes each attempt once, and another walk passes each delivery whose row keeps
 * its first attempt. Attempts that began long after their event, which the walk may have passed by then, are noted when
 * they are recorded.
 */
import { OF_EVENTS } from "../../rows/key-times.ts";
import { StoredTimes } from "../numbers/keys.ts";
import type { Database, Statement } from "better-sqlite3";
import type { Meta } from "../engine/meta.ts";
import { CHUNK } from "../engine/group-commit.ts";

/** First attempts are made within this time, and few others. Each later attempt costs a row. */
const LATE_MS = 3_600_000;

interface Row {
  readonly event: number;
  readonly endpoint: number;
  readonly number: number;
}

export class Responses {
  readonly #meta: Meta;
  readonly #note: Statement<[number, number, number, number]>;
  readonly #late: Statement<[number, number], Row & { readonly started_at: number }>;
  readonly #unnote: Statement<[number, number, number, number]>;
  readonly #walk: Statement<[number, number, number, number, number], Row>;
  readonly #forget: Statement<[number, number, number, number]>;
  readonly #walkFirst: Statement<
    [number, number, number, number],
    Omit<Row, "number"> & { readonly attempted: number; readonly has: number }
  >;
  readonly #forgetFirst: Statement<[number, number]>;
  readonly #times: StoredTimes;

  constructor(db: Database, meta: Meta) {
    this.#times = new StoredTimes(db, OF_EVENTS);
    this.#meta = meta;
    const key = "started_at = ? AND event = ? AND endpoint = ? AND number = ?";
    this.#note = db.prepare(
      "INSERT OR IGNORE INTO late_response (started_at, event, endpoint, number) VALUES (?, ?, ?, ?)",
    );
    this.#late = db.prepare("SELECT * FROM late_response WHERE started_at < ? LIMIT ?");
    this.#unnote = db.prepare(`DELETE FROM late_response WHERE ${key}`);
    this.#walk = db.prepare(
      `SELECT event, endpoint, number FROM attempt WHERE (event, endpoint, number) > (?, ?, ?) AND event < ?
       ORDER BY event, endpoint, number LIMIT ?`,
    );
    // "truncated" means that the response had more than is shown.
    this.#forget = db.prepare(
      `UPDATE attempt SET body = NULL, truncated = 1
       WHERE event = ? AND endpoint = ? AND number = ? AND body IS NOT NULL AND started_at < ?`,
    );
    this.#walkFirst = db.prepare(
      `SELECT event, endpoint, started_at IS NOT NULL AS attempted, body IS NOT NULL AS has FROM delivery WHERE (event, endpoint) > (?, ?) AND event < ?
       ORDER BY event, endpoint LIMIT ?`,
    );
    this.#forgetFirst = db.prepare("UPDATE delivery SET body = NULL, truncated = 1 WHERE event = ? AND endpoint = ?");
  }

  /** Called for each recorded attempt that has a body, inside its transaction. */
  noteIfLate(startedAt: number, event: number, endpoint: number, number: number): void {
    if (startedAt > this.#times.now.madeAt(event) + LATE_MS) this.#note.run(startedAt, event, endpoint, number);
  }

  /** Call it inside a transaction. Returns the number of attempts or deliveries examined, at most 500. */
  forget(before: number): number {
    const late = this.#late.all(before, CHUNK);
    for (const { started_at, event, endpoint, number } of late) {
      this.#forget.run(event, endpoint, number, before);
      this.#unnote.run(started_at, event, endpoint, number);
    }
    if (late.length > 0) return late.length;
    const end = this.#times.now.firstKeyAt(before - LATE_MS);
    const rows = this.#walk.all(...this.#meta.responsesForgotten, end, CHUNK);
    for (const { event, endpoint, number } of rows) this.#forget.run(event, endpoint, number, before);
    const last = rows.at(-1);
    if (last !== undefined) this.#meta.responsesForgotten = [last.event, last.endpoint, last.number];
    return rows.length < CHUNK ? rows.length + this.#forgetFirsts(end, CHUNK - rows.length) : CHUNK;
  }

  /** Returns the number of attempts examined, or the limit if there may be more. */
  #forgetFirsts(end: number, limit: number): number {
    const rows = this.#walkFirst.all(...this.#meta.firstResponsesForgotten, end, limit);
    for (const { event, endpoint, has } of rows) if (has === 1) this.#forgetFirst.run(event, endpoint);
    const last = rows.at(-1);
    if (last !== undefined) this.#meta.firstResponsesForgotten = [last.event, last.endpoint];
    return rows.length === limit ? limit : rows.filter(({ attempted }) => attempted === 1).length;
  }
}
