/** All rows of a table that can be read: a walk along its key that steps over damaged pages. */
import type { Database, Statement } from "better-sqlite3";
import { isDamage } from "../engine/condition.ts";

export type Row = readonly unknown[];
type Key = readonly number[];

/** Rows whose first key lies in here could not be read; ends are readable, or where the table ends. */
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
  /** By how many keys are given: the first row from there on that has the same keys before the last one. */
  readonly #probes: readonly Statement<unknown[], Row>[];

  /** `keys` are integers, the least of the first is 0. */
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

  /** The first key after this one from which on rows can be read; null when there is none. */
  #next(last: Key): Key | null {
    for (let level = last.length - 1; level >= 0; level--) {
      const found = this.#beyond(last.slice(0, level), last[level]!);
      if (found !== null) return found;
    }
    return null;
  }

  /** Among those with these keys before it: in steps that double, then back in halves. */
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
