/**
 * Events whose data says something, told by the bytes of many at once: JSON is read only where they have a trace of what
 * is sought. A look at each row by itself would take ten times as long.
 */
import type { Database, Statement } from "better-sqlite3";
import { meets, tracesOf, type DataCondition } from "../../../domain/events/data-filter.ts";
import type { PageQuery, Searched } from "../../store.ts";
import { instantOf, keyOf } from "../numbers/codes.ts";

/** No JSON text has it. */
const BETWEEN = 0;
/** Buffer.indexOf looks for up to six bytes three times as fast as for seven. */
const MOST_SOUGHT = 6;
/** How often a part may begin in vain for the price of finding it whole in vain. */
const BEGINNINGS = 30;
/** Of the envelope's id, which stands first. */
const ID = { start: 7, end: 7 + 30 };
const DATA = ',"data":';

/** Events that were looked at, from one end to the other. */
interface Step {
  readonly looked: number;
  readonly low: number;
  readonly high: number;
  readonly bodies: Buffer | null;
}

export interface Within {
  readonly key: number;
  readonly end: number;
  readonly limit: number;
  readonly tenant: number | null;
}

export interface Hits {
  readonly keys: readonly number[];
  /** The last one that was looked at. */
  readonly reached: number;
  /** Fewer than the limit: there are no more. */
  readonly looked: number;
}

export class DataSearch {
  readonly #body: Statement<[number], Buffer | null>;
  readonly #steps: Readonly<Record<PageQuery["order"], Statement<[Within], Step>>>;

  constructor(db: Database) {
    this.#body = db.prepare<[number], Buffer | null>("SELECT body FROM event WHERE key = ?").pluck();
    const step = (within: string, way: string) =>
      db.prepare<[Within], Step>(
        `SELECT count(*) AS looked, min(key) AS low, max(key) AS high,
           CAST(group_concat(body, x'00') AS BLOB) AS bodies
         FROM (SELECT key, iif(tenant = ifnull(@tenant, tenant), body, NULL) AS body FROM event NOT INDEXED
           WHERE ${within} ORDER BY key ${way} LIMIT @limit)`,
      );
    this.#steps = {
      newest: step("key < @key AND key > @end", "DESC"),
      oldest: step("key > @key AND key < @end", "ASC"),
    };
  }

  /** For one page of a list. */
  for(conditions: readonly DataCondition[]): PageSearch {
    return new PageSearch(conditions, { body: this.#body, steps: this.#steps });
  }
}

interface Statements {
  readonly body: Statement<[number], Buffer | null>;
  readonly steps: Readonly<Record<PageQuery["order"], Statement<[Within], Step>>>;
}

export class PageSearch {
  readonly #conditions: readonly DataCondition[];
  readonly #traces: readonly Buffer[];
  readonly #statements: Statements;
  #parts: readonly Trace[] | null = null;
  #looked = 0;
  #last: { readonly event: number; readonly has: boolean } = { event: -1, has: false };

  constructor(conditions: readonly DataCondition[], statements: Statements) {
    this.#conditions = conditions;
    // The longest value tells most events from what is sought.
    const [first] = conditions.toSorted((one, other) => other.value.length - one.value.length);
    this.#traces = tracesOf(first!);
    this.#statements = statements;
  }

  /** Of one event. */
  has(event: number): boolean {
    if (event !== this.#last.event) {
      this.#looked++;
      const body = this.#statements.body.get(event) ?? null;
      const may = body !== null && this.#traces.some((trace) => body.includes(trace));
      this.#last = { event, has: may && this.#meets(body) };
    }
    return this.#last.has;
  }

  /** Of the events beyond a key. */
  step(order: PageQuery["order"], within: Within): Hits {
    const { looked, low, high, bodies } = this.#statements.steps[order].get(within)!;
    this.#looked += looked;
    const keys = new Set<number>();
    if (bodies !== null) {
      this.#parts ??= this.#traces.map((whole) => ({ whole, part: rarestPart(whole, bodies) }));
      for (const trace of this.#parts) {
        for (const body of having(bodies, trace)) {
          if (this.#meets(body)) keys.add(keyOf(body.toString("latin1", ID.start, ID.end)));
        }
      }
    }
    const sorted = [...keys].sort((one, other) => (order === "oldest" ? one - other : other - one));
    return { keys: sorted, reached: order === "oldest" ? high : low, looked };
  }

  searched(reached: number): Searched {
    return { events: this.#looked, until: instantOf(reached) };
  }

  #meets(body: Buffer): boolean {
    const data = body.indexOf(DATA, ID.end, "latin1");
    return data >= 0 && meets(body.subarray(data + DATA.length, -1), this.#conditions);
  }
}

interface Trace {
  readonly whole: Buffer;
  /** What is looked for first. */
  readonly part: Buffer;
}

function* having(bodies: Buffer, { whole, part }: Trace): Generator<Buffer> {
  for (let at = bodies.indexOf(part); at >= 0;) {
    const end = bodies.indexOf(BETWEEN, at);
    const body = bodies.subarray(bodies.lastIndexOf(BETWEEN, at) + 1, end < 0 ? bodies.length : end);
    if (part === whole || body.includes(whole)) yield body;
    at = end < 0 ? -1 : bodies.indexOf(part, end);
  }
}

/** As the first events tell: all customers' ids may begin in one way, and all their addresses end in another. */
function rarestPart(whole: Buffer, bodies: Buffer): Buffer {
  if (whole.length <= MOST_SOUGHT) return whole;
  const parts = Array.from({ length: whole.length - MOST_SOUGHT + 1 }, (_, at) => {
    const part = whole.subarray(at, at + MOST_SOUGHT);
    return { part, costs: timesOf(part, bodies) * BEGINNINGS + timesOf(part.subarray(0, 1), bodies) };
  });
  return parts.reduce((least, one) => (one.costs < least.costs ? one : least)).part;
}

function timesOf(part: Buffer, bodies: Buffer): number {
  let times = 0;
  for (let at = bodies.indexOf(part); at >= 0; at = bodies.indexOf(part, at + 1)) times++;
  return times;
}
