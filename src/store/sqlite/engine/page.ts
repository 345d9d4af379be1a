/** Lists, a page at a time: rows are looked at in key order, a few at a turn of the event loop. */
import { WebhookdError } from "../../../domain/errors.ts";
import type { Page, PageQuery } from "../../store.ts";
import { CHUNK } from "./group-commit.ts";

/** A page ends after so many rows, wanted or not, so that no question takes long; the cursor goes on from there. */
const MAX_ROWS = 5000;

/** What a row is sorted by: no two rows of a list have the same keys, and they never change. */
export type Keys = readonly number[];

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
}

export interface Looked<T> {
  /** Null when the row is not wanted. */
  readonly item: T | null;
  /** How many rows of other tables it took to see that. */
  readonly rows: number;
}

interface PagesOptions {
  /** Runs a read, unless the storage has failed. */
  readonly read: <T>(work: () => T) => T;
  readonly defer: (run: () => void) => void;
  readonly cursors: Cursors;
}

interface Progress<T> {
  readonly data: T[];
  after: Keys;
  looked: number;
  end: "none" | "of page" | "of list";
}

export class Pages {
  readonly #options: PagesOptions;

  constructor(options: PagesOptions) {
    this.#options = options;
  }

  /** Empty when there is nothing to walk. */
  async ofAny<Row, T>(walkOf: () => Walk<Row, T> | null, query: PageQuery): Promise<Page<T>> {
    return (await this.ofSome(walkOf, query)) ?? NOTHING;
  }

  /** Null when there is nothing to walk. */
  async ofSome<Row, T>(walkOf: () => Walk<Row, T> | null, query: PageQuery): Promise<Page<T> | null> {
    const walk = this.#options.read(walkOf);
    return walk === null ? null : this.of(walk, query);
  }

  /** One row more than the page needs says whether there is another page. */
  async of<Row, T>(walk: Walk<Row, T>, query: PageQuery): Promise<Page<T>> {
    const { read, defer, cursors } = this.#options;
    const progress: Progress<T> = { data: [], after: startOf(walk, query, cursors), looked: 0, end: "none" };
    read(() => advance(walk, progress, query.limit, query.limit + 1));
    while (progress.end === "none") {
      await new Promise<void>((resolve) => defer(resolve));
      read(() => advance(walk, progress, query.limit, CHUNK));
    }
    const { data, after, end } = progress;
    return { data, nextCursor: end === "of list" ? null : cursors.encode(walk.list, query.order, after) };
  }
}

/** A name that nothing has ever had: there is no row to look at. */
const NOTHING: Page<never> = { data: [], nextCursor: null };

function advance<Row, T>(walk: Walk<Row, T>, progress: Progress<T>, limit: number, size: number): void {
  const rows = walk.rows(progress.after, size);
  const pause = progress.looked + CHUNK;
  for (const row of rows) {
    if (progress.looked >= pause) return;
    if (progress.data.length === limit || progress.looked >= MAX_ROWS) {
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

/** The first rows of lists that are each in key order; one that is in several of them once. */
export function merged<Row>(
  lists: readonly (readonly Row[])[],
  { keysOf, order, limit }: { keysOf: (row: Row) => Keys; order: PageQuery["order"]; limit: number },
): readonly Row[] {
  if (lists.length === 1) return lists[0]!;
  const rows = lists.flat().map((row) => ({ row, keys: keysOf(row) }));
  rows.sort((one, other) => {
    const [a, b] = order === "oldest" ? [one.keys, other.keys] : [other.keys, one.keys];
    return isBefore(a, b) ? -1 : isBefore(b, a) ? 1 : 0;
  });
  const isFirst = ({ keys }: (typeof rows)[number], at: number) =>
    at === 0 || keys.join() !== rows[at - 1]!.keys.join();
  return rows
    .filter(isFirst)
    .slice(0, limit)
    .map(({ row }) => row);
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

/** Of the mark; enough that nobody guesses it, and short. */
const MARK_BYTES = 9;

/**
 * Where a list goes on: the keys of the last row that was looked at, bound to the list and its order. Each carries a
 * mark that only this store can make, or one that was cut short would be read as another place in the list.
 */
export class Cursors {
  readonly #mark: (bytes: Uint8Array) => Uint8Array;

  constructor(mark: (bytes: Uint8Array) => Uint8Array) {
    this.#mark = mark;
  }

  encode(list: string, order: PageQuery["order"], keys: readonly number[]): string {
    const text = [list, order, ...keys].join(":");
    const mark = this.#mark(Buffer.from(`cursor:${text}`)).subarray(0, MARK_BYTES);
    return `${Buffer.from(text).toString("base64url")}.${Buffer.from(mark).toString("base64url")}`;
  }

  /** Throws `invalid_query` for anything that `encode` did not give for this list in this order. */
  decode(cursor: string, list: string, order: PageQuery["order"], count: number): number[] {
    const [, , ...parts] = Buffer.from(cursor.split(".")[0]!, "base64url").toString().split(":");
    const keys = parts.map(Number);
    // Written again it must be the same text: there is one spelling only.
    if (keys.length === count && this.encode(list, order, keys) === cursor) return keys;
    const detail = "did not come from this list in this order; start again without it";
    throw new WebhookdError("invalid_query", `cursor ${detail}`, {
      errors: [{ pointer: "?cursor", code: "invalid_type", detail }],
    });
  }
}
