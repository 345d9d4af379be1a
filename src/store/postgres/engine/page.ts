/** Reads lists page by page, and builds the statements for them. */
import type { Clock } from "../../../clock.ts";
import type { Page, PageQuery, Searched, Total } from "../../store.ts";
import { CHUNK, type Engine } from "./engine.ts";
import { columnOf, type Condition, type Value } from "../../lists/conditions.ts";
import { MOST_COUNTED, type Cursors, type Keys, type Sifted } from "../../lists/cursors.ts";
import { keysOf, type List, printList, startOf, type Values as ListValues } from "../../lists/list.ts";
import type { Queries } from "./database.ts";

/** A page ends after this time, even if it is not full. The cursor continues from there. */
const PAGE_MS = 500;
/** Limits the time for counting rows, because a page must not wait long for its total. */
const COUNT_MS = 100;

/**
 * The number of events in a step of a search. It depends on the duration of the previous step, because events may be
 * large.
 */
const LEAST_SIFTED = 500;
const MOST_SIFTED = 32_000;
const STEP_MS = 60;

/** Finds the rows of one list, and decides which of them are wanted. */
export interface Walk<Row, T> {
  /** The name of the list in its cursors. */
  readonly list: string;
  /** The keys after which the list begins. */
  readonly start: Keys;
  rows(after: Keys, limit: number): Promise<readonly Row[]>;
  keysOf(row: Row): Keys;
  /** Returns how each row is shown, or null for a row that is not wanted. */
  look(rows: readonly Row[]): Promise<readonly (T | null)[]>;
  /** Used instead of `rows` if no index has the rows: examines `size` events after `after`. */
  sift?(after: Keys, size: number): Promise<Sifted<Row>>;
  /** Returns how far this page has searched the data of events, if the query searches it. */
  searched?(after: Keys): Searched;
}

export async function pageOf<Row, T>(engine: Engine, walk: Walk<Row, T>, query: PageQuery): Promise<Page<T>> {
  const page = await (walk.sift === undefined ? read(engine, walk, query) : search(engine, walk, query));
  if (query.total !== true) return page;
  const isAll = query.cursor === undefined && page.nextCursor === null;
  if (isAll) return { ...page, total: { count: page.data.length } };
  // A search finds a few rows in a lot of time, so it cannot count them all.
  const total = walk.sift === undefined ? await count(walk, engine.clock) : null;
  return total === null ? page : { ...page, total };
}

/**
 * Counts row after row. Returns null if the time is up, because how far it got depends on how busy the machine is.
 */
async function count<Row>(walk: Walk<Row, unknown>, clock: Clock): Promise<Total | null> {
  const begun = clock.monotonic();
  let found = 0;
  for (let after = walk.start; ;) {
    const rows = await walk.rows(after, 2 * CHUNK);
    found += (await walk.look(rows)).filter((item) => item !== null).length;
    if (found > MOST_COUNTED) return { count: MOST_COUNTED, atLeast: true };
    if (rows.length < 2 * CHUNK) return { count: found };
    if (clock.monotonic() - begun >= COUNT_MS) return null;
    after = walk.keysOf(rows.at(-1)!);
  }
}

async function read<Row, T>(engine: Engine, walk: Walk<Row, T>, query: PageQuery): Promise<Page<T>> {
  const { cursors, clock } = engine;
  const data: T[] = [];
  const begun = clock.monotonic();
  let after = placeOf(walk, query, cursors);
  for (let size = query.limit + 1; ; size = 2 * CHUNK) {
    const rows = await walk.rows(after, size);
    const items = await walk.look(rows);
    for (const [at, row] of rows.entries()) {
      if (data.length === query.limit) {
        return { data, nextCursor: cursors.encode(walk.list, query, after) };
      }
      if (items[at] !== null) data.push(items[at]!);
      after = walk.keysOf(row);
    }
    if (rows.length < size) return { data, nextCursor: null };
    if (clock.monotonic() - begun >= PAGE_MS) {
      return { data, nextCursor: cursors.encode(walk.list, query, after), cutShort: true };
    }
  }
}

async function search<Row, T>({ cursors, clock }: Engine, walk: Walk<Row, T>, query: PageQuery): Promise<Page<T>> {
  const data: T[] = [];
  const begun = clock.monotonic();
  let after = placeOf(walk, query, cursors);
  const page = (isEnd: boolean, more: Partial<Page<T>> = {}): Page<T> => {
    const searched = walk.searched!(after);
    const nextCursor = isEnd ? null : cursors.encode(walk.list, query, after);
    return { data, nextCursor, searched: isEnd ? { ...searched, until: null } : searched, ...more };
  };
  for (let size = LEAST_SIFTED; ;) {
    const stepBegun = clock.monotonic();
    const { rows, reached, looked } = await walk.sift!(after, size);
    for (const [at, item] of (await walk.look(rows)).entries()) {
      after = walk.keysOf(rows[at]!);
      if (item !== null) data.push(item);
      if (data.length === query.limit) return page(false);
    }
    if (looked < size) return page(true);
    after = reached;
    const now = clock.monotonic();
    if (now - begun >= PAGE_MS) return page(false, { cutShort: true });
    size = now - stepBegun < STEP_MS ? Math.min(2 * size, MOST_SIFTED) : Math.max(LEAST_SIFTED, Math.floor(size / 2));
  }
}

function placeOf(
  { list, start }: Pick<Walk<unknown, unknown>, "list" | "start">,
  query: PageQuery,
  cursors: Cursors,
): Keys {
  const { cursor, order } = query;
  if (cursor === undefined) return start;
  const keys = cursors.decode(cursor, list, query, start.length);
  const at = start.findIndex((key, index) => key !== keys[index]);
  const isBefore = at !== -1 && start[at]! < keys[at]!;
  return isBefore === (order === "oldest") ? keys : start;
}

/** Makes a number fit into a statement, because instants may have a fraction or be out of range. */
export function bound(value: number): number {
  return Math.max(-Number.MAX_SAFE_INTEGER, Math.min(Number.MAX_SAFE_INTEGER, Math.floor(value)));
}

/** The values of a statement that is built piece by piece. Each stands for `$n`. */
export class Values implements ListValues {
  readonly all: unknown[] = [];

  add(value: unknown): string {
    this.all.push(value);
    return `$${this.all.length}`;
  }

  key(value: number): string {
    return `${this.add(value)}::bigint`;
  }

  condition(condition: Condition): string {
    const column = columnOf(condition);
    if ("is" in condition) return `${column} = ${this.#one(condition.is)}`;
    if ("isNot" in condition) return `${column} <> ${this.#one(condition.isNot)}`;
    if ("among" in condition) return `${column} = ANY(${this.add(condition.among)}::text[])`;
    return `${column} BETWEEN ${this.add(condition.least)} AND ${this.add(condition.most)}`;
  }

  /** SQL for all of the conditions, each with AND before it. */
  and(conditions: readonly Condition[]): string {
    return conditions.map((one) => ` AND ${this.condition(one)}`).join("");
  }

  /** Numbers are codes and flags: as literals they let the planner use a partial index. */
  #one(value: Value): string {
    return typeof value === "number" ? String(value) : this.add(value);
  }
}

/** Walks over a list, and shows the rows that fit. */
export function walkOf<Row extends object, T>(
  queries: Queries,
  list: List<Row>,
  show: (rows: readonly Row[]) => readonly (T | null)[] | Promise<readonly (T | null)[]>,
): Walk<Row, T> {
  const all = { ...list, where: [...(list.where ?? []), ...(list.checks ?? [])] };
  return {
    list: list.name,
    start: startOf(list),
    rows(after, limit) {
      const values = new Values();
      const sql = printList(all, after, limit, values);
      return queries.rows<Row>(sql, values.all);
    },
    keysOf: (row) => keysOf(list, row),
    async look(rows) {
      const fitting = rows.filter((row) => list.has?.(row) !== false);
      const shown = new Map((await show(fitting)).map((item, at) => [fitting[at]!, item]));
      return rows.map((row) => shown.get(row) ?? null);
    },
  };
}
