/**
 * Lists one endpoint's attempts in the order in which they began. It merges two sources: late attempts, which are
 * indexed by time, and prompt ones in the order of their events. A prompt attempt began within a second of its event,
 * so its place is known once the walk is a second further.
 */
import type { Database, Statement } from "better-sqlite3";
import type { PageQuery } from "../../store.ts";
import { firstKeyAt, instantOf, isPrompt, PROMPT_MS } from "../../rows/codes.ts";
import type { AttemptRow } from "../../rows/attempt-row.ts";
import type { Keys } from "../../lists/cursors.ts";

type Order = PageQuery["order"];

/** A delivery that was never attempted has a row without an attempt. */
export type ListedRow = LateRow | Prompt | { readonly event: number; readonly number: null };

type Prompt = AttemptRow & { readonly random: string; readonly at?: undefined };

/** The maximum number of rows that one step reads, however many events came in one second. */
const MAX_READ = 10_000;
/** A second usually has more events than fit on a small page. */
const MIN_ROWS = 50;

export interface ByTimeParts {
  readonly order: Order;
  /** Only events between these keys are listed. */
  readonly low: number;
  readonly high: number;
  /** Returns rows after that event and number, and before `end`. */
  readonly byEvent: (key: number, minor: number, end: number, limit: number) => readonly ListedRow[];
  readonly late: (after: Keys, limit: number) => readonly LateRow[];
}

export class AttemptsByTime {
  readonly #parts: ByTimeParts;

  constructor(parts: ByTimeParts) {
    this.#parts = parts;
  }

  beyond(after: Keys, limit: number): ListedRow[] {
    const rows = [...this.#parts.late(after, limit), ...this.#prompt(after, limit)];
    return rows.sort((a, b) => this.#compare(placeOf(a), placeOf(b))).slice(0, limit);
  }

  /** Returns at least `limit` rows that no unread row comes before, or all rows that exist. */
  #prompt(after: Keys, limit: number): ListedRow[] {
    const { order, low, high, byEvent } = this.#parts;
    const [at] = after as [number];
    const oldest = order === "oldest";
    const end = oldest ? high : low;
    let key = oldest ? Math.max(low, firstKeyAt(at - PROMPT_MS)) : Math.min(high, firstKeyAt(at + 1));
    let minor = oldest ? -1 : Number.MAX_SAFE_INTEGER;
    const found: ListedRow[] = [];
    const size = Math.max(limit, MIN_ROWS);
    for (let read = 0; read < MAX_READ; read += size) {
      const rows = byEvent(key, minor, end, size);
      for (const row of rows) {
        if (this.#compare(after, placeOf(row)) < 0 && (row.number === null || isPrompt(row.event, row.started_at)))
          found.push(row);
      }
      const last = rows.at(-1);
      if (last === undefined || rows.length < size) break;
      [key, minor] = [last.event, last.number ?? 0];
      const edge = instantOf(key);
      const settled = found.filter((row) => (oldest ? placeOf(row)[0]! < edge : placeOf(row)[0]! >= edge + PROMPT_MS));
      if (settled.length >= limit) break;
    }
    return found;
  }

  #compare(a: Keys, b: Keys): number {
    const at = a.findIndex((key, index) => key !== b[index]);
    const ahead = at === -1 ? 0 : a[at]! - b[at]!;
    return this.#parts.order === "oldest" ? ahead : -ahead;
  }
}

/**
 * Sorts an attempt by its start, which for a prompt one is within a second of its event. A delivery without an attempt
 * sorts by its event.
 */
export function placeOf(row: ListedRow): Keys {
  const instant = instantOf(row.event);
  if (row.number === null) return [instant, row.event, 0];
  const at = row.at ?? Math.min(Math.max(instant, row.started_at), instant + PROMPT_MS - 1);
  return [at, row.event, row.number];
}

type Placed = Pick<AttemptRow, "event" | "endpoint" | "number" | "started_at" | "outcome">;
export interface LatePage {
  readonly endpoint: number;
  readonly at: number;
  readonly event: number;
  readonly number: number;
  readonly limit: number;
}

export type LateRow = AttemptRow & { readonly random: string; readonly at: number };

/**
 * Attempts that did not begin within a second of their event: retries, replays, and deliveries that waited. Only these
 * are indexed by time. The others are found by their event, whose key gives their start to within a second. An index
 * over all attempts would cost every success an entry, and with many endpoints each entry would be on a different page.
 */
export class LateAttempts {
  readonly #db: Database;
  readonly #note: Statement<unknown[]>;
  readonly #ofEvent: Statement<[number], Placed>;
  readonly #drop: Statement<unknown[]>;
  readonly #dropResponse: Statement<[number, number, number, number]>;
  readonly #page: Readonly<Record<Order, Statement<unknown[], LateRow>>>;

  constructor(db: Database) {
    this.#db = db;
    this.#note = db.prepare(
      "INSERT OR IGNORE INTO late_attempt (endpoint, failed, started_at, event, number) VALUES (?, ?, ?, ?, ?)",
    );
    this.#drop = db.prepare(
      "DELETE FROM late_attempt WHERE endpoint = ? AND failed = ? AND started_at = ? AND event = ? AND number = ?",
    );
    this.#dropResponse = db.prepare(
      "DELETE FROM late_response WHERE started_at = ? AND event = ? AND endpoint = ? AND number = ?",
    );
    this.#ofEvent = db.prepare("SELECT event, endpoint, number, started_at, outcome FROM attempt WHERE event = ?");
    const page = (direction: string, compare: string) =>
      db.prepare<unknown[], LateRow>(
        `SELECT a.*, e.random, l.started_at AS at FROM late_attempt l
         CROSS JOIN attempt a ON a.event = l.event AND a.endpoint = l.endpoint AND a.number = l.number
         CROSS JOIN event e ON e.key = l.event
         WHERE l.endpoint = @endpoint AND l.failed = @failed
           AND (l.started_at, l.event, l.number) ${compare} (@at, @event, @number)
         ORDER BY l.started_at ${direction}, l.event ${direction}, l.number ${direction} LIMIT @limit`,
      );
    this.#page = { newest: page("DESC", "<"), oldest: page("ASC", ">") };
  }

  /** Called for each recorded attempt, inside its transaction. */
  noteIfLate(row: Placed): void {
    if (!isPrompt(row.event, row.started_at)) this.#note.run(...keyOf(row));
  }

  /** Records all late attempts again, whatever was recorded before. Do not call it inside a transaction. */
  noteAll(): void {
    this.#db.exec(
      `BEGIN;
       DELETE FROM late_attempt;
       INSERT INTO late_attempt (endpoint, failed, started_at, event, number)
         SELECT endpoint, outcome <> 0, started_at, event, number FROM attempt
         WHERE started_at - event / ${firstKeyAt(1)} NOT BETWEEN 0 AND ${PROMPT_MS - 1};
       COMMIT`,
    );
  }

  /** Called before the event's attempts are deleted. Drops the notes about their responses too. */
  dropOf(event: number): void {
    for (const row of this.#ofEvent.all(event)) {
      if (isPrompt(row.event, row.started_at)) continue;
      this.#drop.run(...keyOf(row));
      this.#dropResponse.run(row.started_at, row.event, row.endpoint, row.number);
    }
  }

  /** Reads only failed attempts, or only the others. */
  page(order: Order, failed: boolean, from: LatePage): LateRow[] {
    return this.#page[order].all({ ...from, failed: +failed });
  }
}

function keyOf({ endpoint, outcome, started_at: startedAt, event, number }: Placed) {
  return [endpoint, outcome === 0 ? 0 : 1, startedAt, event, number] as const;
}
