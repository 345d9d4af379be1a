/** Removes events that are over and old, with all their rows, some rows at a time. */
import { DROP_KEY_TIMES, OF_EVENTS } from "../../rows/key-times.ts";
import { StoredTimes } from "../numbers/keys.ts";
import type { Database, Statement } from "better-sqlite3";
import type { Pruned, PruneRules } from "../../store.ts";
import { UNCOUNT } from "../attempts/causes.ts";
import { LateAttempts } from "../attempts/attempts-by-time.ts";
import { Labels } from "../lists/labels.ts";
import type { Lines } from "../ordering/lines.ts";
import { FAILED, WAITING } from "../../rows/codes.ts";

/** Most events have only one delivery. If events have more, the step ends early and leaves the rest to the next one. */
const EVENTS = 100;
/** Fewer rows than in other chunks, because each row is on a separate page, and others wait for the same commit. */
const ROWS = 200;
/** When a large body is deleted, its pages are read one by one, perhaps from the disk. */
const MAX_BODY_BYTES = 1024 * 1024;

interface Candidate {
  readonly key: number;
  readonly test: number;
  readonly bytes: number | null;
  readonly large: number | null;
}

interface Deliveries {
  readonly rows: number;
  readonly open: number | null;
  readonly failed: number | null;
  /** The start of the latest first attempt that is kept in these rows. */
  readonly last: number | null;
}

interface Attempts {
  readonly rows: number;
  readonly last: number | null;
}

export class Prune {
  readonly #candidates: Statement<[number, number, number], Candidate>;
  readonly #countDeliveries: Statement<[number], Deliveries>;
  readonly #countAttempts: Statement<[number], Attempts>;
  readonly #isAskedFor: Statement<[number], number>;
  readonly #attempts: Removal;
  readonly #deliveries: Removal;
  readonly #late: LateAttempts;
  readonly #labels: Labels;
  readonly #lines: Lines;
  readonly #event: Statement<[number]>;
  readonly #large: Statement<[number]>;
  readonly #uncount: Statement<[number]>;
  readonly #times: StoredTimes;
  readonly #dropTimes: Statement<[]>;

  constructor(db: Database, lines: Lines) {
    this.#lines = lines;
    this.#times = new StoredTimes(db, OF_EVENTS);
    this.#dropTimes = db.prepare(DROP_KEY_TIMES);
    this.#late = new LateAttempts(db);
    this.#labels = new Labels(db);
    this.#candidates = db.prepare(
      `SELECT key, test, large,
         coalesce((SELECT length(data) FROM large_data WHERE num = large), length(body)) AS bytes
       FROM event WHERE key > ? AND key < ? ORDER BY key LIMIT ?`,
    );
    this.#countDeliveries = db.prepare(
      `SELECT count(*) AS rows, max(status <= ${WAITING}) AS open, max(status = ${FAILED}) AS failed,
         max(started_at) AS last
       FROM delivery WHERE event = ?`,
    );
    this.#countAttempts = db.prepare("SELECT count(*) AS rows, max(started_at) AS last FROM attempt WHERE event = ?");
    this.#isAskedFor = db.prepare<[number], number>("SELECT 1 FROM manual_attempt WHERE event = ? LIMIT 1").pluck();
    this.#attempts = new Removal(db, "attempt");
    this.#deliveries = new Removal(db, "delivery");
    this.#event = db.prepare("DELETE FROM event WHERE key = ?");
    this.#large = db.prepare("DELETE FROM large_data WHERE num = ?");
    this.#uncount = db.prepare(`${UNCOUNT} event = ?`);
  }

  /**
   * Call it inside a transaction. An event with many rows takes several steps. Its own row is removed last, so that a
   * later step, or a later process, finds it again.
   */
  prune(rules: PruneRules, from: string | null, now: number): Pruned {
    const times = this.#times.now;
    const end = times.firstKeyAt(Math.max(rules.delivered, rules.failed));
    const candidates = this.#candidates.all(from === null ? -1 : Number(from), end, EVENTS);
    let [rows, bytes, pruned] = [0, 0, 0];
    for (const event of candidates) {
      const here = String(event.key - 1);
      if (bytes >= MAX_BODY_BYTES) return { pruned, next: here };
      const found = this.#ifOld(event, times.madeAt(event.key), rules);
      if (found === null) continue;
      if (found.failed) {
        this.#uncount.run(event.key);
        this.#lines.forgetEvent(event.key, now);
      }
      this.#late.dropOf(event.key);
      this.#labels.drop(event.key);
      rows += this.#attempts.run(event.key, found.attempts, ROWS - rows);
      rows += this.#deliveries.run(event.key, found.deliveries, ROWS - rows);
      if (rows >= ROWS) return { pruned, next: here };
      rows += this.#event.run(event.key).changes;
      if (event.large !== null) this.#large.run(event.large);
      bytes += event.bytes ?? 0;
      pruned++;
    }
    const isEnd = candidates.length < EVENTS;
    if (isEnd) this.#dropTimes.run();
    return { pruned, next: isEnd ? null : String(candidates.at(-1)!.key) };
  }

  /** Returns the number of rows that belong to the event, or null if it stays. */
  #ifOld(
    event: Candidate,
    madeAt: number,
    { delivered, failed }: PruneRules,
  ): { attempts: number; deliveries: number; failed: boolean } | null {
    const deliveries = this.#countDeliveries.get(event.key)!;
    if (deliveries.open === 1) return null;
    // Nobody looks for a failed test as they do for a failed delivery.
    const before = deliveries.failed === 1 && event.test === 0 ? failed : delivered;
    if (madeAt >= before) return null;
    // Somebody was told that it will be attempted again, or a job is waiting for that.
    if (deliveries.failed === 1 && this.#isAskedFor.get(event.key) !== undefined) return null;
    // A replayed event counts as recent, because the person who replayed it wants to see the result.
    const attempts = this.#countAttempts.get(event.key)!;
    return Math.max(attempts.last ?? 0, deliveries.last ?? 0) < before
      ? { attempts: attempts.rows, deliveries: deliveries.rows, failed: deliveries.failed === 1 }
      : null;
  }
}

/**
 * Deletes the rows of an event. Deletes them all if the step has capacity, because that takes a third of the time that
 * choosing some takes.
 */
class Removal {
  readonly #all: Statement<[number]>;
  readonly #some: Statement<[number, number]>;

  constructor(db: Database, table: "attempt" | "delivery") {
    this.#all = db.prepare(`DELETE FROM ${table} WHERE event = ?`);
    this.#some = db.prepare(`DELETE FROM ${table} WHERE event = ? LIMIT ?`);
  }

  run(event: number, rows: number, capacity: number): number {
    if (rows === 0 || capacity === 0) return 0;
    return (rows <= capacity ? this.#all.run(event) : this.#some.run(event, capacity)).changes;
  }
}
