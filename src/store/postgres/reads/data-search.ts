/**
 * Finds events by their data: the database rejects most by their bytes, some thousands per statement, and this code
 * parses the others.
 */
import type { KeyTimes } from "../../rows/key-times.ts";
import { dataOf } from "../../../domain/events/event.ts";
import { meets, tracesOf, type DataCondition } from "../../../domain/events/data-filter.ts";
import type { DataFilter, PageQuery, Searched } from "../../store.ts";
import type { Queries } from "../engine/database.ts";
import { Values } from "../engine/page.ts";
import { eventId } from "../../rows/codes.ts";
import type { Keys, Sifted } from "../../lists/cursors.ts";

/** SQL that is true if an event may meet the conditions. */
export function mayMeet(e: string, conditions: readonly DataCondition[], values: Values): string {
  const [first] = conditions.toSorted((one, other) => other.value.length - one.value.length);
  return `(${tracesOf(first!)
    .map((trace) => `position(${values.add(trace)}::bytea IN ${e}.body) > 0`)
    .join(" OR ")})`;
}

/** Returns the events of some rows that meet the conditions. */
async function thatMeet(queries: Queries, keys: readonly number[], conditions: readonly DataCondition[]) {
  const rows = await queries.rows<{ key: number; random: string; type: string; body: Buffer | null }>(
    "SELECT key, random, type, body FROM event WHERE key = ANY($1::bigint[])",
    [[...new Set(keys)]],
  );
  const meeting = rows.filter(
    ({ key, random, type, body }) => body !== null && meets(dataOf(body, eventId(key, random), type), conditions),
  );
  return new Set(meeting.map(({ key }) => key));
}

interface Searching<Row> {
  readonly query: PageQuery & DataFilter;
  /** Keys from this one on are not wanted. */
  readonly end: number;
  /** Returns the rows after `after` and before `end` that may meet the conditions. */
  readonly rows: (after: Keys, end: number) => Promise<readonly Row[]>;
  readonly eventOf: (row: Row) => number;
  readonly times: KeyTimes;
}

/** Adds a search to a walk whose keys begin with an event's key. */
export function searching<Row>(queries: Queries, { query, end, rows, eventOf, times }: Searching<Row>) {
  const { data, order, tenant } = query;
  if (data === undefined) return {};
  const [step, last] = order === "oldest" ? [1, Number.MAX_SAFE_INTEGER] : [-1, -1];
  let events = 0;
  return {
    async sift(after: Keys, size: number): Promise<Sifted<Row>> {
      const [key, minor = last] = after as [number, number?];
      const values = new Values();
      const [compare, back, direction] = order === "oldest" ? [">", "<", "ASC"] : ["<", ">", "DESC"];
      // The last page may have ended among the deliveries of one event.
      const from = minor === last ? key : key - step;
      const [looked] = await queries.rows<{ count: number; low: number | null; high: number | null }>(
        `SELECT count(*), min(key) AS low, max(key) AS high FROM (
           SELECT key FROM event WHERE key ${compare} ${values.add(from)}::bigint AND key ${back} ${values.add(end)}::bigint
             ${tenant === null ? "" : `AND tenant = ${values.add(tenant)}`}
           ORDER BY key ${direction} LIMIT ${values.add(size)}) k`,
        values.all,
      );
      const { count, low, high } = looked!;
      const reached = order === "oldest" ? high : low;
      if (reached === null) return { rows: [], reached: after, looked: 0 };
      events += count;
      const found = await rows(after, reached + step);
      const meeting = await thatMeet(queries, found.map(eventOf), data);
      const place = after.length === 1 ? [reached] : [reached, last];
      return { rows: found.filter((row) => meeting.has(eventOf(row))), reached: place, looked: count };
    },
    searched: ([key]: Keys): Searched => ({ events, until: times.madeAt(key!) }),
  };
}
