/** Keeps a window on a list: reads it page by page, and keeps the selected row at its place on the screen. */
import type { List, ListPage } from "../../model/list.ts";

/**
 * The maximum number of rows that are kept. These fill about three of the tallest screens, so that dropped rows are
 * never the next to be read.
 */
const MAX_ROWS = 1000;
/** The maximum number of rows that the API returns. */
export const PAGE_ROWS = 100;

export type KeyOf<T> = (row: T) => string;

export function newList<T>(filter = ""): List<T> {
  return {
    filter,
    sort: null,
    edge: "first",
    generation: 0,
    pages: [],
    next: undefined,
    pinned: [],
    rows: [],
    selected: null,
    index: 0,
    unread: 0,
    top: 0,
    follow: true,
    newer: 0,
    newest: "",
    stale: false,
    touched: new Set(),
    at: 0,
    tookMs: 0,
    problem: null,
    total: null,
    searched: null,
    marks: new Set(),
  };
}

/** Reads the list again from its beginning. The rows on the screen stay until the first page arrives. */
export function readAnew<T>(
  list: List<T>,
  change: Partial<Pick<List<T>, "filter" | "sort" | "edge" | "follow">> = {},
): List<T> {
  const { rows, pinned, generation, filter, sort, edge, follow, marks, total, searched } = list;
  const fresh = { ...newList<T>(), filter, sort, edge, follow, ...change, generation: generation + 1 };
  // With another filter, order or end, none of the old rows is right.
  const same = fresh.filter === filter && fresh.sort === sort && fresh.edge === edge;
  return same
    ? { ...fresh, rows, pinned, marks, total, searched, selected: list.selected, index: list.index, top: list.top }
    : fresh;
}

/** Returns the page to read next, so that the screen and one more are filled. Null if there is nothing to read. */
export function wantedPage<T>(list: List<T>, height: number): number | null {
  if (list.next === undefined) return 0;
  const loaded = list.pages.findIndex(({ rows }) => rows !== null);
  const end = list.pages.findLastIndex(({ rows }) => rows !== null) + 1;
  const [above, below] = [list.top, list.rows.length - list.top - height];
  const [behind, ahead] = list.edge === "first" ? [above, below] : [below, above];
  // A list that follows is read again and again, so only the visible part is read.
  if (ahead < (list.follow ? 0 : height) && (end < list.pages.length || list.next !== null)) return end;
  return behind < height && loaded > 0 ? loaded - 1 : null;
}

export interface PageRead<T> {
  readonly page: number;
  readonly rows: readonly T[];
  readonly next: string | null;
  readonly now: number;
}

export function takePage<T>(list: List<T>, { page, rows, next, now }: PageRead<T>, keyOf: KeyOf<T>): List<T> {
  const isFirst = page === 0 && (list.follow || list.pages.length === 0);
  if (isFirst) {
    // In another order, the old rows have no known place.
    const isMerged = list.pages.length > 1 && list.sort === null;
    const pages = isMerged ? refreshed(list.pages, rows, keyOf) : [{ cursor: null, rows }];
    return settle(
      {
        ...list,
        pages,
        next: pages.length > 1 ? list.next : next,
        stale: false,
        touched: new Set(),
        at: now,
        problem: null,
        newer: 0,
        newest: "",
      },
      keyOf,
    );
  }
  const isReread = page < list.pages.length;
  // The list has stopped following in the meantime, so the rows on the screen stay.
  if (page > list.pages.length || (isReread && list.pages[page]!.rows !== null)) return list;
  const others = new Set(list.pages.flatMap(({ rows }) => rows ?? []).map(keyOf));
  const own = rows.filter((row) => !others.has(keyOf(row)));
  const pages = isReread
    ? list.pages.with(page, { ...list.pages[page]!, rows: own })
    : [...list.pages, { cursor: list.next ?? null, rows: own }];
  const kept = letGo(pages, page);
  return settle({ ...list, pages: kept, next: isReread ? list.next : next, at: now, problem: null }, keyOf);
}

/**
 * Merges a new first page into a list so sparse that several pages fill the screen. A page ends where the daemon has
 * examined enough, so the new one may end before the old one did. Keys grow with time.
 */
function refreshed<T>(
  [first, ...others]: readonly ListPage<T>[],
  rows: readonly T[],
  keyOf: KeyOf<T>,
): readonly ListPage<T>[] {
  const last = rows.at(-1);
  const fresh = new Set(rows.map(keyOf));
  const isNew = (row: T) => !fresh.has(keyOf(row));
  const older = (first?.rows ?? []).filter((row) => isNew(row) && (last === undefined || keyOf(row) < keyOf(last)));
  const rest = others.map((page) => (page.rows === null ? page : { ...page, rows: page.rows.filter(isNew) }));
  return [{ cursor: null, rows: [...rows, ...older] }, ...rest];
}

/**
 * Drops the rows of pages far from the one that was just read. The distance is in rows, because with few matches many
 * pages fill a screen.
 */
function letGo<T>(pages: readonly ListPage<T>[], latest: number): readonly ListPage<T>[] {
  const between = (from: number, to: number) =>
    pages.slice(from, to).reduce((sum, { rows }) => sum + (rows?.length ?? 0), 0);
  return pages.map((page, index) => {
    const distance = index < latest ? between(index + 1, latest) : between(latest + 1, index);
    return distance < MAX_ROWS / 2 ? page : { ...page, rows: null };
  });
}

export function pin<T>(list: List<T>, pinned: readonly T[], keyOf: KeyOf<T>): List<T> {
  return settle({ ...list, pinned }, keyOf);
}

/** Replaces rows with their current values, in place. `added` appends unknown rows. */
export function patchRows<T>(list: List<T>, fresh: readonly T[], keyOf: KeyOf<T>, { added = false } = {}): List<T> {
  const byKey = new Map(fresh.map((row) => [keyOf(row), row]));
  const pages = list.pages.map((page) =>
    page.rows === null ? page : { ...page, rows: page.rows.map((row) => take(byKey, keyOf(row)) ?? row) },
  );
  const last = pages.at(-1);
  if (added && last?.rows && byKey.size > 0) {
    pages[pages.length - 1] = { ...last, rows: [...last.rows, ...byKey.values()] };
  }
  const touched = new Set([...list.touched].filter((key) => !fresh.some((row) => keyOf(row) === key)));
  return settle({ ...list, pages, touched }, keyOf);
}

function take<T>(rows: Map<string, T>, key: string): T | undefined {
  const row = rows.get(key);
  rows.delete(key);
  return row;
}

/**
 * Builds the rows from the pages again. The selected row stays at its place on the screen, or the first stays on top.
 */
function settle<T>(list: List<T>, keyOf: KeyOf<T>): List<T> {
  const read = list.pages.flatMap(({ rows }) => rows ?? []);
  const rows = [...list.pinned, ...(list.edge === "first" ? read : read.toReversed())];
  if (list.follow && list.edge === "first") {
    return { ...list, rows, selected: rows[0] === undefined ? null : keyOf(rows[0]), index: 0, top: 0 };
  }
  const found = list.selected === null ? -1 : rows.findIndex((row) => keyOf(row) === list.selected);
  // A list that is read from its last end begins at the bottom.
  const start = list.edge === "last" && list.selected === null ? rows.length - 1 : list.index;
  const wanted = (found >= 0 ? found : start) + list.unread;
  const index = Math.max(0, Math.min(wanted, rows.length - 1));
  const selected = rows[index] === undefined ? null : keyOf(rows[index]);
  const top = Math.max(0, list.top + index - list.index);
  return { ...list, rows, selected, index, top, unread: unreadAfter(list, wanted - index) };
}

/** Moves the cursor by this many rows, and stops following. */
export function moveBy<T>(list: List<T>, by: number, height: number, keyOf: KeyOf<T>): List<T> {
  return moveTo(list, list.index + list.unread + by, height, keyOf);
}

/** Returns the number of rows that the cursor could not move, if more can be read on that side. */
function unreadAfter<T>({ pages, next, edge }: List<T>, over: number): number {
  if (over === 0) return 0;
  const isAhead = over > 0 === (edge === "first");
  const isMore = isAhead ? next !== null || pages.at(-1)?.rows === null : pages[0]?.rows === null;
  return isMore ? over : 0;
}

export function moveTo<T>(list: List<T>, to: number, height: number, keyOf: KeyOf<T>): List<T> {
  const index = Math.max(0, Math.min(to, list.rows.length - 1));
  const row = list.rows[index];
  const unread = unreadAfter(list, to - index);
  const held = { ...list, follow: false, index, unread, selected: row === undefined ? null : keyOf(row) };
  return scrolled(held, height);
}

/** Scrolls so that the selected row is on a screen of this height, without empty lines if possible. */
export function scrolled<T>(list: List<T>, height: number): List<T> {
  const last = Math.max(0, list.rows.length - height);
  const top = Math.max(
    list.index - height + 1,
    Math.min(list.top, list.index, Math.max(last, list.index - height + 1)),
  );
  return top === list.top ? list : { ...list, top: Math.max(0, Math.min(top, last)) };
}

export function visibleRows<T>(list: List<T>, height: number): readonly T[] {
  return list.rows.slice(list.top, list.top + height);
}

export function selectedRow<T>(list: List<T>): T | null {
  return list.rows[list.index] ?? null;
}
