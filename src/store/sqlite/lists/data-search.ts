/**
 * Finds events by their data. SQLite rejects most events by their bytes, without copying them out of its pages. JSON is
 * parsed only if the bytes contain a trace of the value. Examining each row separately would take twenty times as long.
 */
import { OF_EVENTS } from "../../rows/key-times.ts";
import { StoredTimes } from "../numbers/keys.ts";
import type { Database, Statement } from "better-sqlite3";
import { Statements } from "../engine/statements.ts";
import { meets, tracesOf, type DataCondition } from "../../../domain/events/data-filter.ts";
import type { PageQuery, Searched } from "../../store.ts";
import { LARGE_DATA } from "../numbers/fragments.ts";

/** The number of events that are sampled to find rare characters, and the number of bytes from each. */
const SAMPLE = 32;
const SAMPLE_BYTES = 2048;
/** The cost of parsing an event's JSON in vain, as a multiple of the cost of a match that GLOB starts in vain. */
const READ_IN_VAIN = 200;
/** The end of the envelope's id, which comes first. */
const ID_END = 7 + 30;
const DATA = ',"data":';

export interface Within {
  readonly key: number;
  readonly end: number;
  readonly limit: number;
  readonly tenant: number | null;
}

export interface Hits {
  readonly keys: readonly number[];
  /** The last event that was examined. */
  readonly reached: number;
  /** The number of events examined. If it is below the limit, no more are left. */
  readonly looked: number;
}

const BEYOND = { newest: ["<", ">", "DESC"], oldest: [">", "<", "ASC"] } as const;

export class DataSearch {
  readonly #body: Statement<[number], { body: Buffer | null; large: number | null; data: Buffer | null }>;
  readonly #statements: Statements;
  readonly #times: StoredTimes;

  constructor(db: Database) {
    this.#times = new StoredTimes(db, OF_EVENTS);
    this.#statements = new Statements(db);
    this.#body = db.prepare(`SELECT body, large, ${LARGE_DATA} AS data FROM event WHERE key = ?`);
  }

  madeAt(event: number): number {
    return this.#times.now.madeAt(event);
  }

  /** Returns the event's data, or null if it was erased or is lost. */
  data(event: number): Buffer | null {
    const { body = null, large = null, data = null } = this.#body.get(event) ?? {};
    if (body === null || large !== null) return data;
    const start = body.indexOf(DATA, ID_END, "latin1");
    return start < 0 ? null : body.subarray(start + DATA.length, -1);
  }

  /** Returns the beginnings of a few events, joined together. */
  sample(order: PageQuery["order"], { key, end }: Within): Buffer {
    const [beyond, before, way] = BEYOND[order];
    const sql = `SELECT substr(coalesce(${LARGE_DATA}, body), 1, ${SAMPLE_BYTES}) FROM event
      WHERE key ${beyond} @key AND key ${before} @end ORDER BY key ${way} LIMIT ${SAMPLE}`;
    const bodies = this.#statements.values<Buffer | null>(sql, { key, end });
    return Buffer.concat(bodies.filter((body) => body !== null));
  }

  /** Finds events that match one of the GLOB patterns. */
  step(order: PageQuery["order"], { limit, ...within }: Within, patterns: readonly string[]): Hits {
    const [beyond, before, way] = BEYOND[order];
    const all = `FROM event NOT INDEXED WHERE key ${beyond} @key`;
    // Find the last key first, because a LIMIT around the bodies would copy each of them.
    const stop = `SELECT key ${all} AND key ${before} @end ORDER BY key ${way} LIMIT 1 OFFSET @limit - 1`;
    const { tenant, ...keys } = within;
    const reached = this.#statements.value<number>(stop, { ...keys, limit });
    const globs = (text: string) => patterns.map((_, at) => `CAST(${text} AS TEXT) GLOB @trace${at}`).join(" OR ");
    const has = `(${globs("body")} OR large IS NOT NULL AND (${globs(LARGE_DATA)}))`;
    const having = `AND (@tenant IS NULL OR tenant = @tenant) AND ${has} ORDER BY key ${way}`;
    const traces = Object.fromEntries(patterns.map((pattern, at) => [`trace${at}`, pattern]));
    const asked = { ...traces, tenant, key: within.key };
    if (reached !== undefined) {
      const found = `SELECT key ${all} AND key ${before}= @end ${having}`;
      return { keys: this.#statements.values(found, { ...asked, end: reached }), reached, looked: limit };
    }
    const looked = this.#statements.value<number>(`SELECT count(*) ${all} AND key ${before} @end`, keys)!;
    const found = `SELECT key ${all} AND key ${before} @end ${having}`;
    return { keys: this.#statements.values(found, { ...asked, end: within.end }), reached: within.end, looked };
  }

  /** Starts a search for one page of a list. */
  for(conditions: readonly DataCondition[]): PageSearch {
    return new PageSearch(conditions, this);
  }
}

export class PageSearch {
  readonly #conditions: readonly DataCondition[];
  readonly #traces: readonly Buffer[];
  readonly #events: DataSearch;
  #patterns: readonly string[] | null = null;
  #looked = 0;
  #last: { readonly event: number; readonly has: boolean } = { event: -1, has: false };

  constructor(conditions: readonly DataCondition[], events: DataSearch) {
    this.#conditions = conditions;
    // The longest value excludes the most events.
    const [first] = conditions.toSorted((one, other) => other.value.length - one.value.length);
    this.#traces = tracesOf(first!);
    this.#events = events;
  }

  /** Tests one event. */
  has(event: number): boolean {
    if (event !== this.#last.event) {
      this.#looked++;
      const data = this.#events.data(event);
      const may = data !== null && this.#traces.some((trace) => data.includes(trace));
      this.#last = { event, has: may && meets(data, this.#conditions) };
    }
    return this.#last.has;
  }

  /** Tests the events after a key. */
  step(order: PageQuery["order"], within: Within): Hits {
    if (this.#patterns === null) {
      const sample = this.#events.sample(order, within);
      this.#patterns = this.#traces.map((trace) => patternOf(trace, sample));
    }
    const { keys, reached, looked } = this.#events.step(order, within, this.#patterns);
    this.#looked += looked;
    const isMet = (data: Buffer | null) => data !== null && meets(data, this.#conditions);
    return { keys: keys.filter((key) => isMet(this.#events.data(key))), reached, looked };
  }

  searched(reached: number): Searched {
    return { events: this.#looked, until: this.#events.madeAt(reached) };
  }
}

/**
 * Returns a pattern for the end of a trace, which begins with a rare character and is rare itself: all customers' ids
 * may begin in the same way, and all their addresses may end in the same way. GLOB is fast if the character after the
 * asterisk is ASCII and not special.
 */
function patternOf(trace: Buffer, sample: Buffer): string {
  const starts = [...trace.keys()].filter(
    (at) => trace[at]! < 0x80 && !"*?[".includes(String.fromCharCode(trace[at]!)),
  );
  const costs = starts.map((at) => {
    const end = trace.subarray(at);
    return { end, cost: timesOf(end, sample) * READ_IN_VAIN + timesOf(end.subarray(0, 1), sample) };
  });
  const { end } = costs.reduce((least, one) => (one.cost < least.cost ? one : least), { end: trace, cost: Infinity });
  return `*${end.toString().replace(/[*?[]/g, "[$&]")}*`;
}

function timesOf(part: Buffer, bodies: Buffer): number {
  let times = 0;
  for (let at = bodies.indexOf(part); at >= 0; at = bodies.indexOf(part, at + 1)) times++;
  return times;
}
