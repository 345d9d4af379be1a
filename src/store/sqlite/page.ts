import type { Page, PageQuery } from "../store.ts";
import { decodeCursor, encodeCursor } from "./cursor.ts";

/** A page ends after so many rows, wanted or not, so that no question takes long; the cursor goes on from there. */
const MAX_ROWS = 5000;

export interface Looked<T> {
  /** Null when the row is not wanted. */
  readonly item: T | null;
  /** How many rows of other tables it took to see that. */
  readonly rows: number;
}

/** Takes rows in key order until the page is full; one row more than it needs says whether there is another page. */
export function pageOf<Row, T>(
  list: string,
  query: PageQuery,
  rows: Iterable<Row>,
  keyOf: (row: Row) => number,
  look: (row: Row) => Looked<T>,
): Page<T> {
  const data: T[] = [];
  let looked = 0;
  let last: number | null = null;
  for (const row of rows) {
    if (last !== null && (data.length >= query.limit || looked >= MAX_ROWS)) {
      return { data, nextCursor: encodeCursor(list, query.order, [last]) };
    }
    const { item, rows: more } = look(row);
    if (item !== null) data.push(item);
    looked += 1 + more;
    last = keyOf(row);
  }
  return { data, nextCursor: null };
}

/** The exclusive bounds that a cursor narrows. */
export function boundsOf(list: string, query: PageQuery, low: number, high: number): [low: number, high: number] {
  if (query.cursor === undefined) return [low, high];
  const [key] = decodeCursor(query.cursor, list, query.order, 1) as [number];
  return query.order === "oldest" ? [Math.max(low, key), high] : [low, Math.min(high, key)];
}
