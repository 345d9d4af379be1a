/** Finds damage in a database, and reads around it: walks along a key and steps over damaged pages. */
import type { Database, Statement } from "better-sqlite3";
import { isDamage } from "../engine/condition.ts";

export type Row = readonly unknown[];
type Key = readonly number[];

/** A range of first keys whose rows could not be read. Its ends are readable, or are the ends of the table. */
export interface Gap {
  readonly after: number;
  readonly before: number;
}

const LEAST = -1;
const MOST = Number.MAX_SAFE_INTEGER;

export class ReadableRows {
  readonly gaps: Gap[] = [];
  readonly #keys: number;
  readonly #places: readonly number[];
  readonly #from: Statement<unknown[], Row>;
  /**
   * There is one statement for each number of given keys. It finds the first row from there on that has the same keys
   * before the last.
   */
  readonly #probes: readonly Statement<unknown[], Row>[];

  /** `keys` are integers, and the first is never below 0. */
  constructor(db: Database, table: string, { columns, keys }: { columns: readonly string[]; keys: readonly string[] }) {
    const order = `ORDER BY ${keys.join(", ")}`;
    const select = `SELECT ${columns.join(", ")} FROM ${table}`;
    this.#keys = keys.length;
    this.#places = keys.map((key) => columns.indexOf(key));
    this.#from = db
      .prepare<unknown[], Row>(`${select} WHERE (${keys.join(", ")}) >= (${keys.map(() => "?").join(", ")}) ${order}`)
      .raw();
    this.#probes = keys.map((key, at) => {
      const same = keys.slice(0, at).map((before) => `${before} = ? AND `);
      return db.prepare<unknown[], Row>(`${select} WHERE ${same.join("")}${key} >= ? ${order} LIMIT 1`).raw();
    });
  }

  *all(): Generator<Row> {
    let from: Key | null = [0, ...Array<number>(this.#keys - 1).fill(-MOST)];
    let last: Key | null = null;
    while (from !== null) {
      try {
        for (const row of this.#from.iterate(from)) {
          last = this.#keyOf(row);
          yield row;
        }
        return;
      } catch (error) {
        if (!isDamage(error)) throw error;
      }
      from = this.#next(last ?? [LEAST]);
      this.gaps.push({ after: last?.[0] ?? LEAST, before: from?.[0] ?? MOST });
    }
  }

  /** Returns the first key after this one from which rows can be read, or null if there is none. */
  #next(last: Key): Key | null {
    for (let level = last.length - 1; level >= 0; level--) {
      const found = this.#beyond(last.slice(0, level), last[level]!);
      if (found !== null) return found;
    }
    return null;
  }

  /** Searches among rows with the same leading keys, first in steps that double, then by halving. */
  #beyond(same: Key, last: number): Key | null {
    let unreadable = last;
    let readable = last + 1;
    for (let step = 2; this.#probe(same, readable) === "damaged"; step *= 2) {
      unreadable = readable;
      if (readable === MOST) return null;
      readable = Math.min(last + step, MOST);
    }
    while (readable - unreadable > 1) {
      const middle = unreadable + Math.floor((readable - unreadable) / 2);
      if (this.#probe(same, middle) === "damaged") unreadable = middle;
      else readable = middle;
    }
    const found = this.#probe(same, readable);
    return found === "damaged" ? null : found;
  }

  #probe(same: Key, key: number): Key | null | "damaged" {
    try {
      const row = this.#probes[same.length]!.get(...same, key);
      return row === undefined ? null : this.#keyOf(row);
    } catch (error) {
      if (isDamage(error)) return "damaged";
      throw error;
    }
  }

  #keyOf(row: Row): Key {
    return this.#places.map((place) => Number(row[place]));
  }
}

export interface Looked {
  readonly pages: number;
  /** The number of pages of the whole file. */
  readonly of: number;
  /** Damaged pages by table or index. The list is empty if it is unknown which of its pages are damaged. */
  readonly damaged: ReadonlyMap<string, readonly number[]>;
}

export interface Looking {
  readonly budgetMs: number;
  readonly monotonic: () => number;
}

interface PageRow {
  readonly pageno: number;
  readonly pagetype: string;
}

/** The number of pages between two readings of the clock. */
const STRIDE = 64;
/** The largest tables come last. */
const LARGE = /^(event|delivery|attempt|large_data)/;

/**
 * Looks for damaged pages for as long as there is time, so that a store of any size starts soon. Nothing else may use
 * the connection in the meantime.
 */
export function lookForDamage(db: Database, { budgetMs, monotonic }: Looking): Looked {
  const end = monotonic() + budgetMs;
  const of = db.pragma("page_count", { simple: true }) as number;
  const damaged = new Map<string, number[]>();
  const note = (name: string, ...found: number[]) => damaged.set(name, [...(damaged.get(name) ?? []), ...found]);
  const pages = db.prepare<[string], PageRow>(
    "SELECT pageno, pagetype FROM dbstat WHERE name = ? AND pagetype IS NOT NULL",
  );
  let seen = 0;
  for (const name of treesOf(db)) {
    try {
      for (const { pageno, pagetype } of pages.iterate(name)) {
        if (pagetype === "corrupted") note(name, pageno);
        if (++seen % STRIDE === 0 && monotonic() >= end) return { pages: seen, of, damaged };
      }
    } catch (error) {
      // The disk does not return the page, and nothing shows which page it is.
      if (!isDamage(error)) throw error;
      note(name);
    }
  }
  if (!areFreePagesSound(db)) note("free pages", 0);
  return { pages: seen, of, damaged };
}

function areFreePagesSound(db: Database): boolean {
  try {
    // Only this form of the check looks at free pages.
    return db.pragma("quick_check(sqlite_schema)", { simple: true }) === "ok";
  } catch (error) {
    if (isDamage(error)) return false;
    throw error;
  }
}

function treesOf(db: Database): string[] {
  const names = db.prepare<[], string>("SELECT name FROM sqlite_schema WHERE rootpage > 0").pluck().all();
  const isLarge = (name: string) => LARGE.test(name.replace("sqlite_autoindex_", ""));
  return ["sqlite_schema", ...names.filter((name) => !isLarge(name)), ...names.filter(isLarge)];
}

/** An index that contains every row of the table, if there is one, shows how many rows there were. */
export const WHOLE_INDEXES: Readonly<Record<string, string>> = {
  event: "event_tenant_type",
  delivery: "delivery_endpoint",
};
