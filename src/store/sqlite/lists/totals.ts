/** Counts the rows of a list if indexes alone suffice, without examining any rows except tests. */
import { OF_EVENTS } from "../../rows/key-times.ts";
import { StoredTimes } from "../numbers/keys.ts";
import type { Database, Statement } from "better-sqlite3";
import { countOf, keysIn, type Source } from "./merged-keys.ts";
import type { Of, Sought, Sources, Whose } from "./sources.ts";
import { FAILED } from "../../rows/codes.ts";

/** The maximum number of tests that are examined, because the indexes contain them too. */
const MOST_TESTS = 1000;

interface TestRow {
  readonly key: number;
  readonly type: number;
}

export class Totals {
  readonly #db: Database;
  readonly #sources: Sources;
  readonly #tests: Statement<[object], TestRow>;
  readonly #testsOf: Statement<[object], TestRow>;
  readonly #deliveries: Statement<[object], number>;
  readonly #statements = new Map<string, Statement<[object], number>>();
  readonly #times: StoredTimes;

  constructor(db: Database, sources: Sources) {
    this.#times = new StoredTimes(db, OF_EVENTS);
    this.#db = db;
    this.#sources = sources;
    const tests = (ofTenant: string) =>
      db.prepare<[object], TestRow>(
        `SELECT e.key, e.type FROM event e INDEXED BY event_tenant_test
         WHERE e.test = 1 ${ofTenant} AND e.key > @low AND e.key < @high LIMIT @limit`,
      );
    this.#tests = tests("");
    this.#testsOf = tests("AND e.tenant = @tenant");
    this.#deliveries = db
      .prepare<[object], number>(
        `SELECT count(*) FROM delivery
         WHERE event = @key AND endpoint = ifnull(@endpoint, endpoint) AND status = ifnull(@status, status)`,
      )
      .pluck();
  }

  /** Returns at most `limit`, or null if each row would have to be examined. */
  of(sought: Sought, whose: Whose, of: Of, limit: number): number | null {
    const { low, high } = this.#times.now.within(sought);
    const exact = this.#sources.exactly(sought, whose, of);
    if (exact === null) return null;
    const tests = sought.test === false ? this.#testsIn(whose, low, high) : [];
    if (tests.length > MOST_TESTS) return null;
    const within = { low, high, limit: limit + tests.length };
    const all = sought.status === "failed" && of === "events" ? this.#events(exact, within) : this.#rows(exact, within);
    const left = tests.reduce((sum, test) => sum - this.#rowsOf(test, sought, whose, of), all);
    return Math.min(left, limit);
  }

  #rows(sources: readonly Source[], within: Within): number {
    let found = 0;
    for (const source of sources) {
      found += countOf(this.#db, this.#statements, source, { ...within, limit: within.limit - found });
      if (found >= within.limit) break;
    }
    return found;
  }

  /** Counts an event once, because it may have failed at several endpoints. */
  #events(sources: readonly Source[], within: Within): number {
    const found = new Set<number>();
    for (const source of sources) {
      for (const key of keysIn(this.#db, this.#statements, source, within)) found.add(key);
      if (found.size >= within.limit) break;
    }
    return found.size;
  }

  #testsIn({ tenant }: Whose, low: number, high: number): TestRow[] {
    const statement = tenant === null ? this.#tests : this.#testsOf;
    return statement.all({ low, high, limit: MOST_TESTS + 1, ...(tenant !== null && { tenant }) });
  }

  /** Returns the number of the test's rows in the sources. */
  #rowsOf({ key, type }: TestRow, { status }: Sought, { endpoint, types }: Whose, of: Of): number {
    if (types !== null && !types.has(type)) return 0;
    if (status === "unmatched") return 0;
    if (of === "events" && status === undefined && endpoint === null) return 1;
    const deliveries = this.#deliveries.get({ key, endpoint, status: status === "failed" ? FAILED : null })!;
    return of === "events" ? Math.min(deliveries, 1) : deliveries;
  }
}

interface Within {
  readonly low: number;
  readonly high: number;
  readonly limit: number;
}
