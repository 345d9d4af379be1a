/** Lists, a page at a time, and statements that are put together for them. */
import type { Clock } from "../../../clock.ts";
import { MOST_COUNTED, type Cursors, type Keys } from "../../sqlite/engine/page.ts";
import type { Page, PageQuery, Total } from "../../store.ts";
import { CHUNK, type Engine } from "./engine.ts";

/** A page ends after so long, wanted rows or not; the cursor goes on from there. */
const PAGE_MS = 500;
/** Rows are counted for so long: a page must not wait for its total. */
const COUNT_MS = 100;

/** How the rows of one list are found, and told from those that are not wanted. */
export interface Walk<Row, T> {
  /** Names the list in its cursors. */
  readonly list: string;
  /** Beyond these keys it begins. */
  readonly start: Keys;
  rows(after: Keys, limit: number): Promise<readonly Row[]>;
  keysOf(row: Row): Keys;
  /** For each row what it is shown as; null when it is not wanted. */
  look(rows: readonly Row[]): Promise<readonly (T | null)[]>;
}

export async function pageOf<Row, T>(engine: Engine, walk: Walk<Row, T>, query: PageQuery): Promise<Page<T>> {
  const page = await read(engine, walk, query);
  if (query.total !== true) return page;
  const isAll = query.cursor === undefined && page.nextCursor === null;
  return { ...page, total: isAll ? { count: page.data.length } : await count(walk, engine.clock) };
}

/** One row after the other, for as long as there is time. */
async function count<Row>(walk: Walk<Row, unknown>, clock: Clock): Promise<Total> {
  const begun = clock.monotonic();
  let found = 0;
  for (let after = walk.start; ;) {
    const rows = await walk.rows(after, 2 * CHUNK);
    found += (await walk.look(rows)).filter((item) => item !== null).length;
    if (found > MOST_COUNTED) return { count: MOST_COUNTED, atLeast: true };
    if (rows.length < 2 * CHUNK) return { count: found };
    if (clock.monotonic() - begun >= COUNT_MS) return { count: found, atLeast: true };
    after = walk.keysOf(rows.at(-1)!);
  }
}

async function read<Row, T>(engine: Engine, walk: Walk<Row, T>, query: PageQuery): Promise<Page<T>> {
  const { cursors, clock } = engine;
  const data: T[] = [];
  const begun = clock.monotonic();
  let after = startOf(walk, query, cursors);
  for (let size = query.limit + 1; ; size = 2 * CHUNK) {
    const rows = await walk.rows(after, size);
    const items = await walk.look(rows);
    for (const [at, row] of rows.entries()) {
      if (data.length === query.limit) {
        return { data, nextCursor: cursors.encode(walk.list, query.order, after) };
      }
      if (items[at] !== null) data.push(items[at]!);
      after = walk.keysOf(row);
    }
    if (rows.length < size) return { data, nextCursor: null };
    if (clock.monotonic() - begun >= PAGE_MS) {
      return { data, nextCursor: cursors.encode(walk.list, query.order, after), cutShort: true };
    }
  }
}

function startOf(
  { list, start }: Pick<Walk<unknown, unknown>, "list" | "start">,
  { cursor, order }: PageQuery,
  cursors: Cursors,
): Keys {
  if (cursor === undefined) return start;
  const keys = cursors.decode(cursor, list, order, start.length);
  const at = start.findIndex((key, index) => key !== keys[index]);
  const isBefore = at !== -1 && start[at]! < keys[at]!;
  return isBefore === (order === "oldest") ? keys : start;
}

/** What a number may be in a statement: instants may be a fraction, or beyond all there are. */
export function bound(value: number): number {
  return Math.max(-Number.MAX_SAFE_INTEGER, Math.min(Number.MAX_SAFE_INTEGER, Math.floor(value)));
}

/** Values of a statement that is put together: each stands for `$n`. */
export class Values {
  readonly all: unknown[] = [];

  add(value: unknown): string {
    this.all.push(value);
    return `$${this.all.length}`;
  }
}
