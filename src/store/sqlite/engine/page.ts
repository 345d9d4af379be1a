/** Lists, a page at a time: rows are looked at in key order, a slice at a time. */
import { MOST_COUNTED, type Cursors, type Keys, type Sifted } from "../../rows/cursors.ts";
import type { Page, PageQuery, Searched, Total } from "../../store.ts";
import { CHUNK } from "./group-commit.ts";

/**
 * A long read in slices. Between two of them others have their turn: commits on the thread that writes, other callers in
 * the reader's. It yields nothing after a slice, or a piece that is wanted before the end.
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

/** A page ends after so long, its rests not counted, wanted rows or not; the cursor goes on from there. */
const PAGE_MS = 500;

/** Rows are counted for so long: a page must not wait for its total. */
const COUNT_MS = 15;
/** Between two looks at the clock. */
const COUNT_STEP = 200;

/** Events in a slice of a search, by how long the one before took: they may be large. */
const LEAST_SIFTED = 64;
const MOST_SIFTED = 8000;
const SLICE_MS = 8;

/** Half at least: a slice that waited for a processor says nothing of the events. */
function paceOf(tookMs: number): number {
  return Math.max(0.5, Math.min(SLICE_MS / Math.max(tookMs, 1), 2));
}

/** How the rows of one list are found, and told from those that are not wanted. */
export interface Walk<Row, T> {
  /** Names the list in its cursors. */
  readonly list: string;
  /** Beyond these keys it begins. */
  readonly start: Keys;
  /** At most `limit` rows beyond `after`, in the order of the list. An index must find them: no row is skipped here. */
  rows(after: Keys, limit: number): readonly Row[];
  keysOf(row: Row): Keys;
  look(row: Row): Looked<T>;
  /** Whether it is wanted, where that takes less than to look. */
  has?(row: Row): boolean;
  /** In place of `rows`, where what is sought is in no index: looks at so many rows beyond `after`. */
  sift?(after: Keys, size: number): Sifted<Row>;
  /** How far this page has looked into events' data, where that is sought. */
  searched?(after: Keys): Searched;
  /** How many are wanted, at most `limit`, where an index tells it; null where the rows have to be looked at. */
  count?(limit: number): number | null;
}

export interface Looked<T> {
  /** Null when the row is not wanted. */
  readonly item: T | null;
  /** How many rows of other tables it took to see that. */
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

/** Pages of short lists, read on this thread. */
export class Pages {
  readonly #options: PagesOptions;

  constructor(options: PagesOptions) {
    this.#options = options;
  }

  /** Empty when there is nothing to walk. */
  async of<Row, T>(walkOf: () => Walk<Row, T> | null, query: PageQuery): Promise<Page<T>> {
    return readHere(() => pageOf(walkOf, query, this.#options), this.#options);
  }
}

/** A name that nothing has ever had: there is no row to look at. */
const NOTHING: Page<never> = { data: [], nextCursor: null };
const NONE: Total = { count: 0 };

/** Empty when there is nothing to walk. */
export function* pageOf<Row, T>(walkOf: () => Walk<Row, T> | null, query: PageQuery, means: Means): Reading<Page<T>> {
  return (yield* pageOfSome(walkOf, query, means)) ?? (query.total === true ? { ...NOTHING, total: NONE } : NOTHING);
}

/** Null when there is nothing to walk. */
export function* pageOfSome<Row, T>(
  walkOf: () => Walk<Row, T> | null,
  query: PageQuery,
  { cursors, monotonic }: Means,
): Reading<Page<T> | null> {
  const walk = walkOf();
  if (walk === null) return null;
  const sifts = walk.sift !== undefined;
  const progress: Progress<T> = { data: [], after: startOf(walk, query, cursors), looked: 0, end: "none" };
  let [spentMs, read] = [0, 0];
  // One row more than the page needs says whether there is another page. Where few are wanted, more are read at once.
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
  const nextCursor = end === "of list" ? null : cursors.encode(walk.list, query.order, after);
  const searched = walk.searched?.(after);
  const page: Page<T> = {
    data,
    nextCursor,
    ...(end === "none" && { cutShort: true }),
    ...(searched && { searched: end === "of list" ? { ...searched, until: null } : searched }),
  };
  if (query.total !== true) return page;
  if (end === "of list" && query.cursor === undefined) return { ...page, total: { count: data.length } };
  if (sifts) return { ...page, total: { count: data.length, atLeast: true } };
  yield;
  return { ...page, total: counted(walk.count?.(MOST_COUNTED + 1) ?? null) ?? (yield* count(walk, monotonic)) };
}

/** Rows that are read at once, at least. */
const FEWEST = 4;

/** Rows among which so many wanted ones should be, if as many of them are wanted as up to here. */
function enough(missing: number, wanted: number): number {
  return Math.ceil((1.5 * missing) / wanted) + FEWEST;
}

function counted(count: number | null): Total | null {
  if (count === null) return null;
  return count > MOST_COUNTED ? { count: MOST_COUNTED, atLeast: true } : { count };
}

/** One row after the other, for as long as there is time. */
function* count<Row>(walk: Walk<Row, unknown>, monotonic: () => number): Reading<Total, never> {
  let [found, spentMs] = [0, 0];
  const has = walk.has?.bind(walk) ?? ((row: Row) => walk.look(row).item !== null);
  for (let after = walk.start; ;) {
    const begun = monotonic();
    const rows = walk.rows(after, COUNT_STEP);
    for (const row of rows) if (has(row)) found++;
    spentMs += monotonic() - begun;
    if (found > MOST_COUNTED || rows.length < COUNT_STEP) return counted(found)!;
    if (spentMs >= COUNT_MS) return { count: found, atLeast: true };
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

function startOf({ list, start }: Walk<unknown, unknown>, { cursor, order }: PageQuery, cursors: Cursors): Keys {
  if (cursor === undefined) return start;
  const keys = cursors.decode(cursor, list, order, start.length);
  return isBefore(start, keys) === (order === "oldest") ? keys : start;
}

function isBefore(a: Keys, b: Keys): boolean {
  const at = a.findIndex((key, index) => key !== b[index]);
  return at !== -1 && a[at]! < b[at]!;
}
