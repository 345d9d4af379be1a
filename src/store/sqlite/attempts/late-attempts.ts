/**
 * Attempts that did not begin within a second of their event: retries, replays, what waited. They alone are indexed by
 * time. The rest is found by its event, whose key says when it began to within that second; an index over all of them
 * would cost every success an entry, on a page of its own where endpoints are many.
 */
import type { Database, Statement } from "better-sqlite3";
import type { AttemptRow } from "./attempts.ts";
import { instantOf } from "../numbers/ids.ts";
import type { Order } from "./sources.ts";

export const PROMPT_MS = 1000;

type Placed = Pick<AttemptRow, "event" | "endpoint" | "number" | "started_at" | "outcome">;
export interface LatePage {
  readonly endpoint: number;
  readonly at: number;
  readonly event: number;
  readonly number: number;
  readonly limit: number;
}

export type LateRow = AttemptRow & { readonly random: string; readonly at: number };

export class LateAttempts {
  readonly #note: Statement<unknown[]>;
  readonly #has: Statement<unknown[], number>;
  readonly #ofEvent: Statement<[number], Placed>;
  readonly #drop: Statement<unknown[]>;
  readonly #page: Readonly<Record<Order, Statement<unknown[], LateRow>>>;

  constructor(db: Database) {
    const at = "endpoint = ? AND failed = ? AND started_at = ? AND event = ? AND number = ?";
    this.#note = db.prepare(
      "INSERT OR IGNORE INTO late_attempt (endpoint, failed, started_at, event, number) VALUES (?, ?, ?, ?, ?)",
    );
    this.#has = db.prepare<unknown[], number>(`SELECT 1 FROM late_attempt WHERE ${at}`).pluck();
    this.#drop = db.prepare(`DELETE FROM late_attempt WHERE ${at}`);
    this.#ofEvent = db.prepare("SELECT event, endpoint, number, started_at, outcome FROM attempt WHERE event = ?");
    const page = (way: string, compare: string) =>
      db.prepare<unknown[], LateRow>(
        `SELECT a.*, e.random, l.started_at AS at FROM late_attempt l
         CROSS JOIN attempt a ON a.event = l.event AND a.endpoint = l.endpoint AND a.number = l.number
         CROSS JOIN event e ON e.key = l.event
         WHERE l.endpoint = @endpoint AND l.failed = @failed
           AND (l.started_at, l.event, l.number) ${compare} (@at, @event, @number)
         ORDER BY l.started_at ${way}, l.event ${way}, l.number ${way} LIMIT @limit`,
      );
    this.#page = { newest: page("DESC", "<"), oldest: page("ASC", ">") };
  }

  /** For each attempt that is recorded, inside its transaction. */
  noteIfLate(row: Placed): void {
    if (!isPrompt(row)) this.#note.run(...keyOf(row));
  }

  /** Whether it is found by time. An older version noted none. */
  has(row: Placed): boolean {
    return !isPrompt(row) && this.#has.get(...keyOf(row)) !== undefined;
  }

  /** Before the event's attempts are deleted. */
  dropOf(event: number): void {
    for (const row of this.#ofEvent.all(event)) if (!isPrompt(row)) this.#drop.run(...keyOf(row));
  }

  /** Those that failed, or those that did not. */
  page(order: Order, failed: boolean, from: LatePage): LateRow[] {
    return this.#page[order].all({ ...from, failed: +failed });
  }
}

function isPrompt({ started_at: startedAt, event }: Placed): boolean {
  const after = startedAt - instantOf(event);
  return after >= 0 && after < PROMPT_MS;
}

function keyOf({ endpoint, outcome, started_at: startedAt, event, number }: Placed) {
  return [endpoint, outcome === 0 ? 0 : 1, startedAt, event, number] as const;
}
