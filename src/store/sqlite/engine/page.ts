/** Reads lists page by page: rows are read in key order, a slice at a time. */
import { columnOf, checkOf, type Condition } from "../../lists/conditions.ts";
import { MOST_COUNTED, type Cursors, type Keys, type Sifted } from "../../lists/cursors.ts";
import { keysOf, type List, printList, startOf, type Values } from "../../lists/list.ts";
import type { Page, PageQuery, Searched, Total } from "../../store.ts";
import { CHUNK } from "./group-commit.ts";
import type { Statements } from "./statements.ts";

/**
 * A long read in slices. Other work takes its turn between two slices: commits on the writer's thread, other callers on
 * the reader's. After a slice it yields nothing, or a piece that the caller wants before the end.
 */
export type Reading<T, Piece = never> = Generator<Piece | undefined, T, void>;

interface Turns<Piece> {
  /** Runs a slice. */
  readonly read: <T>(slice: () => T) => T;
  /** Resolves in a later turn of the event loop. */
  readonly turn: () => Promise<void>;
  readonly onPiece?: (piece: Piece) => unknown;
}

/** Reads to the end on this thread. */
export async function readHere<T, Piece>(begin: () => Reading<T, Piece>, turns: Turns<Piece>): Promise<T> {
  const reading = turns.read(begin);
  for (;;) {
    const { done, value } = turns.read(() => reading.next());
    if (done === true) return value;
    if (value !== undefined) await turns.onPiece!(value);
    else await turns.turn();
  }
}

/** A page ends after this time, not counting pauses, even if it is not full. The cursor continues from there. */
const PAGE_MS = 500;

/** Limits the time for counting rows, because a page must not wait long for its total. */
const COUNT_MS = 100;
/** The number of rows counted between two readings of the clock. */
const COUNT_STEP = 200;

/**
 * The number of events in a slice of a search. It depends on the duration of the previous slice, because events may be
 * large.
 */
const LEAST_SIFTED = 64;
const MOST_SIFTED = 8000;
const SLICE_MS = 8;

/** Returns no less than half, because a slice that waited for a processor says nothing about the events. */
function paceOf(tookMs: number): number {
  return Math.max(0.5, Math.min(SLICE_MS / Math.max(tookMs, 1), 2));
}

/** Finds the rows of one list, and decides which of them are wanted. */
export interface Walk<Row, T> {
  /** The name of the list in its cursors. */
  readonly list: string;
  /** The keys after which the list begins. */
  readonly start: Keys;
  /**
   * Returns at most `limit` rows after `after`, in the order of the list. An index must find them, because no row is
   * skipped here.
   */
  rows(after: Keys, limit: number): readonly Row[];
  keysOf(row: Row): Keys;
  look(row: Row): Looked<T>;
  /** Decides whether a row is wanted, if that takes less time than `look`. */
  has?(row: Row): boolean;
  /** Used instead of `rows` if no index has the rows: examines `size` rows after `after`. */
  sift?(after: Keys, size: number): Sifted<Row>;
  /** Returns how far this page has searched the data of events, if the query searches it. */
  searched?(after: Keys): Searched;
  /**
   * Returns the number of wanted rows, at most `limit`, if an index has it. Null means that the rows must be examined.
   */
  count?(limit: number): number | null;
}

/** Walks over a list, and shows the rows that fit. `others` is the number of rows of other tables that this reads. */
export function walkOf<Row extends object, T>(
  statements: Statements,
  list: List<Row>,
  show: (row: Row) => T,
  others = 0,
): Walk<Row, T> {
  const { checks = [] } = list;
  const meets = checkOf(checks);
  const has = (row: Row) => meets(row) && list.has?.(row) !== false;
  return {
    list: list.name,
    start: startOf(list),
    rows(after, limit) {
      const values = new NamedValues();
      const sql = printList(list, after, limit, values);
      return statements.all<Row>(sql, values.all);
    },
    keysOf: (row) => keysOf(list, row),
    has,
    look: (row) => ({ item: has(row) ? show(row) : null, rows: others }),
  };
}

/** Values with names, `@v1` and so on, so that statements with other values are the same text. */
export class NamedValues implements Values {
  readonly all: Record<string, unknown> = {};
  #count = 0;

  add(value: unknown): string {
    const name = `v${++this.#count}`;
    this.all[name] = value;
    return `@${name}`;
  }

  key(value: number): string {
    return this.add(value);
  }

  condition(condition: Condition): string {
    if (!("is" in condition)) throw new Error(`no index finds ${columnOf(condition)}: check it row by row`);
    return `${columnOf(condition)} = ${this.add(condition.is)}`;
  }
}

export interface Looked<T> {
  /** Null if the row is not wanted. */
  readonly item: T | null;
  /** The number of rows of other tables that were read for this. */
  readonly rows: number;
}

interface Means {
  readonly cursors: Cursors;
  readonly monotonic: () => number;
}

interface PagesOptions extends Means {
  /** Runs a read, unless the storage has failed. */
  readonly read: <T>(work: () => T) => T;
  readonly turn: () => Promise<void>;
}

interface Progress<T> {
  readonly data: T[];
  after: Keys;
  looked: number;
  end: "none" | "of page" | "of list";
}

/** Reads pages of short lists on this thread. */
export class Pages {
  readonly #options: PagesOptions;

  constructor(options: PagesOptions) {
    this.#options = options;
  }

  /** Returns an empty page if there is nothing to walk. */
  async of<Row, T>(walkOf: () => Walk<Row, T> | null, query: PageQuery): Promise<Page<T>> {
    return readHere(() => pageOf(walkOf, query, this.#options), this.#options);
  }
}

/** The page of a list whose name was never used, so that there are no rows to read. */
const NOTHING: Page<never> = { data: [], nextCursor: null };
const NONE: Total = { count: 0 };

/** Returns an empty page if there is nothing to walk. */
export function* pageOf<Row, T>(walkOf: () => Walk<Row, T> | null, query: PageQuery, means: Means): Reading<Page<T>> {
  return (yield* pageOfSome(walkOf, query, means)) ?? (query.total === true ? { ...NOTHING, total: NONE } : NOTHING);
}

/** Returns null if there is nothing to walk. */
export function* pageOfSome<Row, T>(
  walkOf: () => Walk<Row, T> | null,
  query: PageQuery,
  { cursors, monotonic }: Means,
): Reading<Page<T> | null> {
  const walk = walkOf();
  if (walk === null) return null;
  const sifts = walk.sift !== undefined;
  const progress: Progress<T> = { data: [], after: placeOf(walk, query, cursors), looked: 0, end: "none" };
  let [spentMs, read] = [0, 0];
  // Read one row more than the page needs, to find out whether there is another page. If few rows are wanted, read more
  // at once.
  for (let size = sifts ? LEAST_SIFTED : query.limit + 1; ;) {
    const begun = monotonic();
    read += size;
    if (sifts) sift(walk, progress, query.limit, size);
    else advance(walk, progress, query.limit, size);
    const tookMs = monotonic() - begun;
    spentMs += tookMs;
    if (progress.end !== "none" || spentMs >= PAGE_MS) break;
    if (!sifts)
      size = Math.min(2 * size, CHUNK, enough(query.limit + 1 - progress.data.length, progress.data.length / read));
    else size = Math.max(LEAST_SIFTED, Math.min(Math.round(size * paceOf(tookMs)), MOST_SIFTED));
    yield;
  }
  const { data, after, end } = progress;
  const nextCursor = end === "of list" ? null : cursors.encode(walk.list, query, after);
  const searched = walk.searched?.(after);
  const page: Page<T> = {
    data,
    nextCursor,
    ...(end === "none" && { cutShort: true }),
    ...(searched && { searched: end === "of list" ? { ...searched, until: null } : searched }),
  };
  if (query.total !== true) return page;
  if (end === "of list" && query.cursor === undefined) return { ...page, total: { count: data.length } };
  // A search finds a few rows in a lot of time, so it cannot count them all.
  if (sifts) return page;
  yield;
  const total = counted(walk.count?.(MOST_COUNTED + 1) ?? null) ?? (yield* count(walk, monotonic));
  return total === null ? page : { ...page, total };
}

/** The minimum number of rows that are read at once. */
const FEWEST = 4;

/** Returns the number of rows that should contain the missing ones, if the share of wanted rows stays the same. */
function enough(missing: number, wanted: number): number {
  return Math.ceil((1.5 * missing) / wanted) + FEWEST;
}

function counted(count: number | null): Total | null {
  if (count === null) return null;
  return count > MOST_COUNTED ? { count: MOST_COUNTED, atLeast: true } : { count };
}

/**
 * Counts row after row. Returns null if the time is up, because how far it got depends on how busy the machine is.
 */
function* count<Row>(walk: Walk<Row, unknown>, monotonic: () => number): Reading<Total | null, never> {
  let [found, spentMs] = [0, 0];
  const has = walk.has?.bind(walk) ?? ((row: Row) => walk.look(row).item !== null);
  for (let after = walk.start; ;) {
    const begun = monotonic();
    const rows = walk.rows(after, COUNT_STEP);
    for (const row of rows) if (has(row)) found++;
    spentMs += monotonic() - begun;
    if (found > MOST_COUNTED || rows.length < COUNT_STEP) return counted(found)!;
    if (spentMs >= COUNT_MS) return null;
    after = walk.keysOf(rows.at(-1)!);
    yield;
  }
}

function advance<Row, T>(walk: Walk<Row, T>, progress: Progress<T>, limit: number, size: number): void {
  const rows = walk.rows(progress.after, size);
  const pause = progress.looked + CHUNK;
  for (const row of rows) {
    if (progress.looked >= pause) return;
    if (progress.data.length === limit) {
      progress.end = "of page";
      return;
    }
    const { item, rows: others } = walk.look(row);
    if (item !== null) progress.data.push(item);
    progress.looked += 1 + others;
    progress.after = walk.keysOf(row);
  }
  if (rows.length < size) progress.end = "of list";
}

function sift<Row, T>(walk: Walk<Row, T>, progress: Progress<T>, limit: number, size: number): void {
  const { rows, reached, looked } = walk.sift!(progress.after, size);
  for (const row of rows) {
    const { item } = walk.look(row);
    progress.after = walk.keysOf(row);
    if (item !== null) progress.data.push(item);
    if (progress.data.length < limit) continue;
    progress.end = "of page";
    return;
  }
  if (looked < size) progress.end = "of list";
  else progress.after = reached;
}

function placeOf({ list, start }: Walk<unknown, unknown>, query: PageQuery, cursors: Cursors): Keys {
  const { cursor, order } = query;
  if (cursor === undefined) return start;
  const keys = cursors.decode(cursor, list, query, start.length);
  return isBefore(start, keys) === (order === "oldest") ? keys : start;
}

function isBefore(a: Keys, b: Keys): boolean {
  const at = a.findIndex((key, index) => key !== b[index]);
  return at !== -1 && a[at]! < b[at]!;
}
