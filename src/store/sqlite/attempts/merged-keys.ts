/**
 * Keys of deliveries that several indexes hold, merged. Each index has its own in order, and no more of it is read than
 * the page needs: of a tenant with many endpoints it takes a look at each, and then only the rows that are shown.
 */
import type { Database, Statement } from "better-sqlite3";
import { beyond, direction, type Order, type Source } from "./sources.ts";

export interface Pair {
  readonly event: number;
  readonly endpoint: number;
}

/** Beyond `(key, minor)` and before the event `end`; the other parameters are the sources'. */
export interface Place {
  readonly key: number;
  readonly minor: number;
  readonly end: number;
  readonly tenant?: number | null;
  readonly event?: number | undefined;
}

/** One source's rows, as far as they are read. */
interface Head {
  readonly read: (after: Pick<Place, "key" | "minor">) => Pair[];
  rows: Pair[];
  at: number;
  isWhole: boolean;
}

/** At once of one source; those that turn out to have more are asked again. */
const LEAST = 4;

export class MergedKeys {
  readonly #db: Database;
  readonly #statements = new Map<string, Statement<unknown[], Pair>>();

  constructor(db: Database) {
    this.#db = db;
  }

  /** Each pair once; or each event once, with no endpoint. */
  rows(sources: readonly Source[], of: "pairs" | "events", order: Order, place: Place, limit: number): Pair[] {
    const size = sources.length <= 2 ? limit : Math.max(LEAST, Math.ceil(limit / sources.length) + 1);
    const heads = sources.map((source): Head => {
      const statement = this.#statement(source, of, order);
      const read = (after: Pick<Place, "key" | "minor">) =>
        statement.all({ ...place, ...after, endpoint: source.endpoint, limit: size });
      const rows = read(place);
      return { read, rows, at: 0, isWhole: rows.length < size };
    });
    const found: Pair[] = [];
    while (found.length < limit) {
      const next = this.#first(heads, order);
      if (next === null) break;
      found.push(next);
      for (const head of heads) {
        const row = head.rows[head.at];
        if (row !== undefined && row.event === next.event && (of === "events" || row.endpoint === next.endpoint)) {
          head.at++;
        }
      }
    }
    return found;
  }

  #first(heads: readonly Head[], order: Order): Pair | null {
    let first: Pair | null = null;
    for (const head of heads) {
      if (head.at === head.rows.length && !head.isWhole) readOn(head);
      const row = head.rows[head.at];
      if (row !== undefined && (first === null || isAhead(row, first) === (order === "newest"))) first = row;
    }
    return first;
  }

  #statement({ from, where }: Source, of: "pairs" | "events", order: Order): Statement<unknown[], Pair> {
    const way = direction(order);
    const keys = of === "pairs" ? ["event", "endpoint"] : ["event"];
    const within =
      of === "pairs"
        ? beyond(order, "event", "endpoint")
        : order === "oldest"
          ? "event > @key AND event < @end"
          : "event < @key AND event > @end";
    const sql = `SELECT event, ${of === "pairs" ? "endpoint" : "0 AS endpoint"} FROM ${from}
      WHERE ${where} AND ${within}
      GROUP BY ${keys.join()} ORDER BY ${keys.map((key) => `${key} ${way}`).join()} LIMIT @limit`;
    let statement = this.#statements.get(sql);
    if (statement === undefined) this.#statements.set(sql, (statement = this.#db.prepare<unknown[], Pair>(sql)));
    return statement;
  }
}

function readOn(head: Head): void {
  const last = head.rows.at(-1)!;
  const size = head.rows.length;
  head.rows = head.read({ key: last.event, minor: last.endpoint });
  head.at = 0;
  head.isWhole = head.rows.length < size;
}

function isAhead(one: Pair, other: Pair): boolean {
  return one.event === other.event ? one.endpoint > other.endpoint : one.event > other.event;
}
