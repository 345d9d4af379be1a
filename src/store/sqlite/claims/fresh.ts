/**
 * Fresh deliveries: memory has them from their commit on, and only a start reads them again. No index names them, because
 * each would pay for an entry that is gone a moment later. They lie above a mark instead, an event's key that is kept
 * with them: it moves on with every few thousand deliveries that are published.
 *
 * What stays fresh for much longer than others would hold the mark back. It is written down as waiting, which it may be
 * at any time: memory has it all the same, and what reads finds it there.
 *
 * No index says either what above the mark is settled: delivered at once, or cancelled. Each commit notes what it settled
 * in a row of another table, so that a lost page of deliveries does not make it look owed.
 *
 * When the clock is set, the due times of what waits move with it, and those of what is fresh do not. So whatever turns
 * from fresh to waiting is due by the clock as it is then: with its old due time, an hour set back would be an hour lost.
 */
import type { Database, Statement } from "better-sqlite3";
import { CHUNK } from "../engine/group-commit.ts";
import { FRESH, WAITING } from "../../rows/codes.ts";
import { FRESH_FROM } from "../numbers/fragments.ts";

/** Deliveries after which the mark moves, if a second is longer. */
const STEP = 4096;
/** Steps that a delivery may stay fresh for. */
const PATIENCE = 4;

/** What lies above the mark, as far as it was looked at. */
interface Stretch {
  readonly rows: number;
  /** The first event that has a fresh delivery. */
  readonly fresh: number | null;
  readonly last: number | null;
}

export class FreshMark {
  readonly #step: number;
  readonly #from: Statement<[], number>;
  readonly #look: Statement<[number, number], Stretch>;
  readonly #move: Statement<[number]>;
  readonly #wait: Statement<[number, number, number, number]>;
  readonly #strays: Statement<[number], { event: number; endpoint: number }>;
  readonly #release: Statement<[number, number, number]>;
  readonly #lastEvent: Statement<[], number | null>;
  readonly #settle: Statement<[number, number, Buffer]>;
  readonly #forgetSettled: Statement<[number]>;
  readonly #transaction: <T>(work: () => T) => T;
  /** Deliveries that were written since the mark moved, and the event of the last. */
  #since = 0;
  #latest = 0;
  #second = Number.NaN;
  #sinceStep = 0;
  /** The latest event at each of the last steps. */
  readonly #steps: number[] = [];
  /** Events and endpoints by turns, and where the last of them is. */
  #settled: number[] = [];
  #last = 0;
  /** Null when it must be read again. */
  #mark: number | null = null;

  constructor(db: Database, step = STEP) {
    this.#step = step;
    this.#from = db.prepare<[], number>(`SELECT ${FRESH_FROM}`).pluck();
    this.#look = db.prepare(
      `SELECT count(*) AS rows, min(CASE status WHEN ${FRESH} THEN event END) AS fresh, max(event) AS last
       FROM (SELECT event, status FROM delivery WHERE event >= ? ORDER BY event LIMIT ?)`,
    );
    this.#move = db.prepare("UPDATE meta SET value = ? WHERE name = 'fresh_from'");
    this.#wait = db.prepare(
      `UPDATE delivery SET status = ${WAITING}, due_at = min(due_at, ?)
       WHERE event >= ? AND event < ? AND status = ${FRESH} LIMIT ?`,
    );
    this.#strays = db.prepare(
      `SELECT event, endpoint FROM delivery WHERE event >= ? AND status = ${FRESH} ORDER BY event, endpoint LIMIT ${CHUNK}`,
    );
    this.#release = db.prepare(
      `UPDATE delivery SET status = ${WAITING}, due_at = min(due_at, ?) WHERE event = ? AND endpoint = ?`,
    );
    this.#lastEvent = db.prepare<[], number | null>("SELECT max(key) FROM event").pluck();
    this.#settle = db.prepare("INSERT OR REPLACE INTO settled (event, endpoint, deliveries) VALUES (?, ?, ?)");
    this.#forgetSettled = db.prepare("DELETE FROM settled WHERE event < ?");
    this.#transaction = (work) => db.transaction(work).immediate();
  }

  /** The last event, or where the mark is, if those below it are gone: what comes next must lie above both. */
  get lastEvent(): number {
    return Math.max(this.#lastEvent.get() ?? 0, this.#from.get()! - 1);
  }

  /** So many deliveries of this event were written. */
  written(event: number, deliveries: number): void {
    this.#latest = event;
    this.#since += deliveries;
  }

  /** This delivery was delivered at once, or cancelled: its own row alone says so. Inside a transaction. */
  settled(event: number, endpoint: number): void {
    if (event < (this.#mark ??= this.#from.get()!)) return;
    if (this.#settled.length === 0 || event > this.#settled[this.#last]!) this.#last = this.#settled.length;
    this.#settled.push(event, endpoint);
  }

  /** Inside each transaction, after its work. */
  flush(): void {
    const settled = this.#settled;
    if (settled.length === 0) return;
    this.#settle.run(settled[this.#last]!, settled[this.#last + 1]!, Buffer.from(Float64Array.from(settled).buffer));
    this.#settled = [];
  }

  /** Inside each transaction, before its work. */
  write(now: number): void {
    const second = Math.floor(now / 1000);
    if (this.#since < this.#step && (second === this.#second || this.#since === 0)) return;
    this.#second = second;
    this.move(now);
  }

  /** As far as it can. Inside a transaction. */
  move(now: number): void {
    const limit = this.#since + 2 * this.#step;
    this.#sinceStep += this.#since;
    this.#since = 0;
    if (this.#sinceStep >= this.#step) {
      this.#sinceStep = 0;
      this.#steps.push(this.#latest);
      if (this.#steps.length > PATIENCE) this.#steps.shift();
    }
    const from = this.#from.get()!;
    const { rows, fresh, last } = this.#look.get(from, limit)!;
    // The last event may have more deliveries than were looked at.
    const free = last === null ? from : rows < limit ? last + 1 : last;
    if (fresh !== null && this.#steps.length === PATIENCE && fresh < this.#steps[0]!) {
      this.#wait.run(now, fresh, this.#steps[0]!, CHUNK);
    }
    const to = fresh ?? free;
    if (to > from) this.#moveTo(to);
  }

  /** What else is remembered here is not wrong after a transaction was undone. */
  forget(): void {
    this.#settled = [];
    this.#mark = null;
  }

  /**
   * Those of a process that ended: memory had them, so they are as few as memory allows. From now on they wait on disk
   * like all others. Not inside a transaction.
   */
  release(now: number): void {
    const chunk = () => {
      const rows = this.#strays.all(this.#from.get()!);
      for (const { event, endpoint } of rows) this.#release.run(now, event, endpoint);
      const last = rows.length < CHUNK ? this.#lastEvent.get() : rows.at(-1)!.event;
      if (typeof last === "number") this.#moveTo(rows.length < CHUNK ? last + 1 : last);
      return rows.length;
    };
    while (this.#transaction(chunk) === CHUNK);
  }

  #moveTo(mark: number): void {
    this.#move.run(mark);
    this.#forgetSettled.run(mark);
    this.#mark = mark;
  }
}
