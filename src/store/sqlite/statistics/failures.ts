/**
 * Reports failures by endpoint and cause. Triggers count the failed deliveries for each minute of their events and
 * minute of their failure, and also by hours. So a report adds up counts, however many deliveries have failed, and
 * reads deliveries only in the minute in which its period begins.
 */
import { OF_EVENTS } from "../../rows/key-times.ts";
import { StoredTimes } from "../numbers/keys.ts";
import type { Database, Statement } from "better-sqlite3";
import { FailureGroups, type Failure, type FailureGroup } from "../../../domain/deliveries/failure.ts";
import type { FailureQuery, FailureReport } from "../../store.ts";
import { CauseList, causeOf, type Group } from "../attempts/causes.ts";
import { Meta } from "../engine/meta.ts";
import type { Reading } from "../engine/page.ts";
import type { EndpointIndex } from "../numbers/endpoint-index.ts";
import { attemptId, eventId, FAILED, firstKeyAt, instantOf, outcomeCode, WAITING } from "../../rows/codes.ts";
import type { Interned } from "../numbers/names.ts";

const MINUTE_MS = 60_000;
const HOUR = 60;
const NEVER = Number.MAX_SAFE_INTEGER;

/** The deliveries of a group whose events are above a key. */
interface Above extends Group {
  readonly low: number;
  /** The first whole minute above `low`, which begins with `key`. Deliveries before it are counted one by one. */
  readonly minute: number;
  readonly key: number;
  /** The first whole hour after that, from which hours are counted. Infinity if the parts consist of minutes. */
  readonly hour: number;
}

interface Found {
  readonly above: Above;
  readonly of: Pick<Failure, "endpoint" | "status" | "error" | "statusCode">;
  readonly count: number;
  readonly series: readonly number[];
  /** The minute, or the first minute of the hour, of the latest failure. */
  readonly last: number;
}

interface First {
  /** The minimum of the counts that know it. The others are not before `notBefore`. */
  readonly firstAt: number | null;
  readonly notBefore: number | null;
}

/** A row of counts. */
interface Count {
  readonly minutes: number;
  readonly event: number;
  readonly failed: number;
  readonly firstAt: number;
  readonly firstGone: number;
}

interface Names {
  readonly index: EndpointIndex;
  readonly tenants: Interned;
}

const OF_GROUP = "endpoint = @endpoint AND cause = @cause";
const HOURS = `failure_count WHERE ${OF_GROUP} AND minutes = ${HOUR} AND event >= @hour`;
const MINUTES = `failure_count WHERE ${OF_GROUP} AND minutes = 1 AND event >= @minute AND event < @hour * ${HOUR}`;
const ONES = `delivery INDEXED BY delivery_cause
  WHERE ${OF_GROUP} AND event > @low AND event < @key AND failed_at IS NOT NULL`;
/**
 * A count and the minute in which its deliveries failed, as one number, because rows of one column take half the time.
 */
const COUNTS = 2 ** 27;
const COUNT = "minutes, event, failed, first_at AS firstAt, first_gone AS firstGone";

export class Failures {
  readonly #parts: Names;
  readonly #meta: Meta;
  readonly #causes: CauseList;
  readonly #endpoints: Statement<[number], number>;
  readonly #hours: Statement<[Above], number>;
  readonly #counted: Statement<[Above], number>;
  readonly #firstOfHours: Statement<[Above], First>;
  readonly #firstOf: Statement<[Above], First>;
  readonly #counts: Statement<[Above & { before: number }], Count>;
  readonly #within: Statement<[Group & Count & { before: number }], Count>;
  readonly #first: Statement<[Group & { low: number; high: number; from: number; to: number }], number | null>;
  readonly #last: Statement<[Group & { low: number; to: number }], Pick<Failure, "event" | "lastAt">>;
  readonly #sample: Statement<[number, number], { random: string; number: number }>;
  readonly #times: StoredTimes;

  constructor(db: Database, parts: Names) {
    this.#times = new StoredTimes(db, OF_EVENTS);
    this.#parts = parts;
    this.#meta = new Meta(db);
    this.#causes = new CauseList(db);
    this.#endpoints = db
      .prepare<[number], number>("SELECT number FROM endpoint INDEXED BY endpoint_tenant WHERE tenant = ?")
      .pluck();
    const hours = `SELECT failed * ${HOUR * COUNTS} + count FROM ${HOURS}`;
    this.#hours = db.prepare<[Above], number>(hours).pluck();
    this.#counted = db
      .prepare<[Above], number>(
        `${hours} UNION ALL SELECT failed * ${COUNTS} + count FROM ${MINUTES}
         UNION ALL SELECT failed_at / ${MINUTE_MS} * ${COUNTS} + 1 FROM ${ONES}`,
      )
      .pluck();
    const firsts = "min(iif(first_gone, NULL, first_at)) AS firstAt, min(iif(first_gone, first_at, NULL)) AS notBefore";
    this.#firstOfHours = db.prepare(`SELECT ${firsts} FROM ${HOURS}`);
    this.#firstOf = db.prepare(
      `SELECT min(firstAt) AS firstAt, min(notBefore) AS notBefore FROM (
         SELECT ${firsts} FROM ${HOURS} UNION ALL SELECT ${firsts} FROM ${MINUTES}
         UNION ALL SELECT min(failing_since), NULL FROM ${ONES})`,
    );
    const gone = "first_gone = 1 AND first_at < @before";
    this.#counts = db.prepare(
      `SELECT ${COUNT} FROM ${HOURS} AND ${gone} UNION ALL SELECT ${COUNT} FROM ${MINUTES} AND ${gone}`,
    );
    this.#within = db.prepare(
      `SELECT ${COUNT} FROM failure_count
       WHERE ${OF_GROUP} AND minutes = 1 AND event BETWEEN @event * ${HOUR} AND @event * ${HOUR} + ${HOUR - 1}
         AND failed BETWEEN @failed * ${HOUR} AND @failed * ${HOUR} + ${HOUR - 1}
         AND first_at < @before`,
    );
    const rows = `delivery INDEXED BY delivery_failing WHERE ${OF_GROUP} AND event > @low AND failed_at < @to`;
    this.#first = db
      .prepare<[object], number | null>(
        `SELECT min(failing_since) FROM ${rows} AND event <= @high AND failed_at >= @from`,
      )
      .pluck();
    this.#last = db.prepare(
      `SELECT event, failed_at AS lastAt FROM ${rows} ORDER BY failed_at DESC, event DESC LIMIT 1`,
    );
    this.#sample = db.prepare(
      `SELECT e.random, a.number FROM event e JOIN attempt a ON a.event = e.key
       WHERE e.key = ? AND a.endpoint = ? AND a.outcome = ${outcomeCode("failed")} ORDER BY a.number DESC LIMIT 1`,
    );
  }

  /** Runs in one slice, because a delivery that moved between groups in the meantime would count in both. */
  // eslint-disable-next-line require-yield -- answers are read in slices, and this one takes one
  *report(query: FailureQuery): Reading<FailureReport | null> {
    const all = this.#groups(query);
    if (all === null) return null;
    // After a repair, causes are recorded again step by step, newest first.
    const known = this.#meta.causesNoted;
    const low = Math.max(this.#times.now.firstKeyAt(query.since), known ?? 0) - 1;
    const troubles = new Map<string, Found[]>();
    for (const group of all) {
      const found = this.#found(group, low, query);
      if (found === null) continue;
      const name = `${group.endpoint} ${found.of.error} ${found.of.statusCode}`;
      troubles.set(name, [...(troubles.get(name) ?? []), found]);
    }
    const sizes = [...troubles.values()].map((found) => found.reduce((sum, { count }) => sum + count, 0));
    const least = sizes.toSorted((a, b) => b - a)[query.limit - 1] ?? 0;
    const groups = new FailureGroups(query);
    for (const [at, found] of [...troubles.values()].entries()) {
      if (sizes[at]! >= least)
        for (const { of, series, ...each } of found) groups.addCounted({ ...of, ...this.#ends(each) }, series);
    }
    const since = known === null ? query.since : Math.max(query.since, this.#times.now.madeAt(known));
    return { since, total: troubles.size, groups: groups.largest(query.limit, (group) => this.#sampleOf(group)) };
  }

  /** Returns null if there are none. */
  #found(group: Group, low: number, query: FailureQuery): Found | null {
    const { status: state, test, error, statusCode } = causeOf(group.cause);
    if (test || error === null || (state !== WAITING && state !== FAILED)) return null;
    const entry = this.#parts.index.byNumber(group.endpoint);
    // A delivery that waits for a deleted endpoint, or for an event up to `cancelTo`, counts as cancelled.
    if (state === WAITING && entry.deleted) return null;
    const status = state === FAILED ? "failed" : entry.enabled ? "pending" : "held";
    const [from, step] = [query.from / MINUTE_MS, query.stepMs / MINUTE_MS];
    // Parts of whole hours are computed from hours.
    const byHours = from % HOUR === 0 && step % HOUR === 0;
    const above = aboveKey(group, state === FAILED ? low : Math.max(low, entry.cancelTo ?? -1), byHours);
    const series = Array<number>(query.parts).fill(0);
    const counts = (isWhole(above) ? this.#hours : this.#counted).all(above);
    let [all, last] = [0, 0];
    for (const each of counts) {
      const [minute, count] = [Math.floor(each / COUNTS), each % COUNTS];
      series[Math.min(Math.max(Math.floor((minute - from) / step), 0), query.parts - 1)]! += count;
      all += count;
      if (minute > last) last = minute;
    }
    if (all === 0) return null;
    return { above, of: { endpoint: entry.id, status, error, statusCode }, count: all, series, last };
  }

  /** Returns when the first of them began to fail, and when the last one failed, with its event. */
  #ends({ above, last }: Pick<Found, "above" | "last">): Pick<Failure, "firstAt" | "lastAt" | "event"> {
    // An empty count would be our mistake, but no reason to return nothing. The report then has no sample.
    const latest = this.#last.get({ ...above, to: (last + HOUR) * MINUTE_MS }) ?? { event: 0, lastAt: -1 };
    const first = (isWhole(above) ? this.#firstOfHours : this.#firstOf).get(above)!;
    const [firstAt, notBefore] = [first.firstAt ?? NEVER, first.notBefore ?? NEVER];
    if (notBefore >= firstAt) return { ...latest, firstAt };
    return { ...latest, firstAt: this.#earlier(above, this.#counts.all({ ...above, before: firstAt }), firstAt) };
  }

  /**
   * Returns the earliest time in counts that do not know theirs, if it is before `before`. For a minute, this reads it
   * from the deliveries.
   */
  #earlier(group: Group, counts: readonly Count[], before: number): number {
    let first = before;
    for (const count of counts.toSorted((a, b) => a.firstAt - b.firstAt)) {
      const { minutes, event, failed, firstAt, firstGone } = count;
      if (firstAt >= first) break;
      if (firstGone === 0) first = firstAt;
      else if (minutes === HOUR) {
        first = this.#earlier(group, this.#within.all({ ...group, ...count, before: first }), first);
      } else {
        const [low, high] = [firstKeyAt(event * MINUTE_MS) - 1, firstKeyAt((event + 1) * MINUTE_MS) - 1];
        const at = { ...group, low, high, from: failed * MINUTE_MS, to: (failed + 1) * MINUTE_MS };
        first = Math.min(first, this.#first.get(at) ?? NEVER);
      }
    }
    return first;
  }

  /** Returns null if the tenant never had such an endpoint. */
  #groups({ tenant, endpoint }: FailureQuery): Group[] | null {
    const { index, tenants } = this.#parts;
    if (endpoint !== undefined) {
      const number = index.numberOf(tenant, endpoint);
      return number === null ? null : this.#causes.groups(number);
    }
    if (tenant === null) return this.#causes.groups(null);
    // A tenant that nobody has named yet has no number, and no endpoint.
    return this.#endpoints.all(tenants.find(tenant) ?? -1).flatMap((number) => this.#causes.groups(number));
  }

  #sampleOf({ endpoint, event }: Pick<FailureGroup, "endpoint"> & { readonly event: number }): string | null {
    const { number: place } = this.#parts.index.byId(endpoint)!;
    const sample = this.#sample.get(event, place);
    return sample === undefined ? null : attemptId(eventId(event, sample.random), place, sample.number);
  }
}

/** Returns true if only hours have to be counted. */
function isWhole({ low, minute, key, hour }: Above): boolean {
  return key === low + 1 && minute === hour * HOUR;
}

function aboveKey({ endpoint, cause }: Group, low: number, byHours: boolean): Above {
  const minute = Math.floor(instantOf(low) / MINUTE_MS) + 1;
  const hour = byHours ? Math.ceil(minute / HOUR) : NEVER / HOUR;
  return { endpoint, cause, low, minute, key: firstKeyAt(minute * MINUTE_MS), hour };
}
