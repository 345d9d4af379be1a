/**
 * One endpoint's attempts in the order in which they began, merged from two sources: the late ones, which are indexed by
 * time, and the rest in the order of their events. Each of the rest began within a second of its event, so that it
 * takes its place as soon as the walk is a second further. Those that an older version recorded late stand there too.
 */
import { firstKeyAt, instantOf } from "../numbers/codes.ts";
import { PROMPT_MS, type AttemptRow, type LateRow } from "./attempts.ts";
import type { Keys } from "../engine/page.ts";
import type { Order } from "./sources.ts";

/** A delivery that was never attempted has a row without an attempt. */
export type ListedRow = LateRow | Prompt | { readonly event: number; readonly number: null };

type Prompt = AttemptRow & { readonly random: string; readonly at?: undefined };

/** However many events came in one second, no look reads more of them. */
const MAX_READ = 10_000;
/** A second mostly holds more than a small page. */
const MIN_ROWS = 50;

export interface ByTimeParts {
  readonly order: Order;
  /** Only events between these keys. */
  readonly low: number;
  readonly high: number;
  /** Beyond that event and number, before `end`. */
  readonly byEvent: (key: number, minor: number, end: number, limit: number) => readonly ListedRow[];
  readonly late: (after: Keys, limit: number) => readonly LateRow[];
  readonly isLate: (row: AttemptRow) => boolean;
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

  /** At least as many as are asked for that nothing unread comes before, or all there are. */
  #prompt(after: Keys, limit: number): ListedRow[] {
    const { order, low, high, byEvent, isLate } = this.#parts;
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
        if (this.#compare(after, placeOf(row)) < 0 && (row.number === null || !isLate(row))) found.push(row);
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

/** By the beginning; what has none, or one that no index knows of, by the event. */
export function placeOf(row: ListedRow): Keys {
  const instant = instantOf(row.event);
  if (row.number === null) return [instant, row.event, 0];
  const at = row.at ?? Math.min(Math.max(instant, row.started_at), instant + PROMPT_MS - 1);
  return [at, row.event, row.number];
}
