/**
 * Fresh deliveries. Memory has them from their commit on, and only a start reads them again. No index contains them,
 * because each of them would pay for an entry that is removed a moment later. Instead they lie above a mark: the key of
 * an event, which is stored, and moves up with every few thousand deliveries that are published.
 *
 * A delivery that stays fresh for much longer than others would hold the mark back, so it is written as waiting. This
 * is allowed at any time: memory still has the delivery, and a read finds it there.
 *
 * Nor does any index show which deliveries above the mark are settled, which means delivered at once, cancelled or
 * shadowed. Each commit records those that it settled in a row of another table, so that they do not look pending if a
 * page of deliveries is lost.
 *
 * When the clock is set, the due times of waiting deliveries move with it, and those of fresh ones do not. So a
 * delivery that turns from fresh to waiting is due by the clock at that moment: with its old due time, setting the
 * clock back by an hour would delay it by an hour.
 */
import type { Database, Statement } from "better-sqlite3";
import { CHUNK } from "../engine/group-commit.ts";
import { FRESH, WAITING } from "../../rows/codes.ts";
import { FRESH_FROM } from "../numbers/fragments.ts";

/** The mark moves after this many deliveries, or after a second, whichever is sooner. */
const STEP = 4096;
/** The number of steps for which a delivery may stay fresh. */
const PATIENCE = 4;

/** The deliveries above the mark, as far as they have been examined. */
interface Stretch {
  readonly rows: number;
  /** The first event with a fresh delivery. */
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
  /** The number of deliveries written since the mark moved, and the event of the last one. */
  #since = 0;
  #latest = 0;
  #second = Number.NaN;
  #sinceStep = 0;
  /** The latest event at each of the last steps. */
  readonly #steps: number[] = [];
  /** Events and endpoints alternate, followed by the index of the last event. */
  #settled: number[] = [];
  #last = 0;
  /** Null if it must be read again. */
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

  /** Returns the last event, or the event before the mark if events there are gone. The next key must be above both. */
  get lastEvent(): number {
    return Math.max(this.#lastEvent.get() ?? 0, this.#from.get()! - 1);
  }

  /** Counts the deliveries of this event that were written. */
  written(event: number, deliveries: number): void {
    this.#latest = event;
    this.#since += deliveries;
  }

  /**
   * Records that this delivery was delivered at once, cancelled or shadowed, which otherwise only its own row shows.
   * Call it inside a transaction.
   */
  settled(event: number, endpoint: number): void {
    if (event < (this.#mark ??= this.#from.get()!)) return;
    if (this.#settled.length === 0 || event > this.#settled[this.#last]!) this.#last = this.#settled.length;
    this.#settled.push(event, endpoint);
  }

  /** Called inside each transaction, after its work. */
  flush(): void {
    const settled = this.#settled;
    if (settled.length === 0) return;
    this.#settle.run(settled[this.#last]!, settled[this.#last + 1]!, Buffer.from(Float64Array.from(settled).buffer));
    this.#settled = [];
  }

  /** Called inside each transaction, before its work. */
  write(now: number): void {
    const second = Math.floor(now / 1000);
    if (this.#since < this.#step && (second === this.#second || this.#since === 0)) return;
    this.#second = second;
    this.move(now);
  }

  /** Moves the mark as far as possible. Call it inside a transaction. */
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
    // The last event may have more deliveries than were examined.
    const free = last === null ? from : rows < limit ? last + 1 : last;
    if (fresh !== null && this.#steps.length === PATIENCE && fresh < this.#steps[0]!) {
      this.#wait.run(now, fresh, this.#steps[0]!, CHUNK);
    }
    const to = fresh ?? free;
    if (to > from) this.#moveTo(to);
  }

  /** Keeps the other fields, which are still right after a rollback. */
  forget(): void {
    this.#settled = [];
    this.#mark = null;
  }

  /**
   * Makes the fresh deliveries of a process that ended wait on disk like all others. There are few enough to fit into
   * memory, because memory held them. Do not call it inside a transaction.
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
