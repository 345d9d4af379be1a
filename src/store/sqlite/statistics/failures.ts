/**
 * What does not arrive, by endpoint and cause: an index has these deliveries by both, and by when they last failed, with
 * all that is told of them. So each part of a series is a stretch of it, which SQLite counts without handing rows out.
 */
import type { Database, Statement } from "better-sqlite3";
import { FailureGroups, type FailureGroup } from "../../../domain/deliveries/failure.ts";
import type { FailureQuery, FailureReport } from "../../store.ts";
import { CauseList, causeOf, type Group } from "../attempts/causes.ts";
import type { Reading } from "../engine/page.ts";
import { Meta } from "../engine/meta.ts";
import {
  attemptId,
  eventId,
  FAILED,
  firstKeyAt,
  instantOf,
  type Interned,
  outcomeCode,
  WAITING,
} from "../numbers/codes.ts";
import type { EndpointEntry, EndpointIndex } from "../numbers/endpoint-index.ts";

/** Deliveries of one slice. */
const CHUNK = 5000;
/** A group with more of them is counted, part by part of the series; to read the rows of others takes less. */
const LARGE = 1000;
/** Of a large group in one slice, some milliseconds. */
const LARGE_CHUNK = 50_000;
const NEVER = Number.MAX_SAFE_INTEGER;
/** An attempt begins after its event was received, unless the clock was set back meanwhile: by less than this. */
const SET_BACK_MS = 24 * 3_600_000;

/** Those of a group that are of events above a key, and failed last from one instant until before another. */
interface Stretch extends Group {
  readonly event: number;
  readonly from: number;
  readonly to: number;
}

interface Row {
  readonly event: number;
  readonly lastAt: number;
  readonly firstAt: number;
}

interface Names {
  readonly index: EndpointIndex;
  readonly tenants: Interned;
}

export class Failures {
  readonly #parts: Names;
  readonly #meta: Meta;
  readonly #causes: CauseList;
  readonly #endpoints: Statement<[number], number>;
  readonly #rows: Statement<[Stretch], Row>;
  readonly #next: Statement<[Stretch], number>;
  readonly #count: Statement<[Stretch], { count: number; firstAt: number | null }>;
  readonly #last: Statement<[Stretch], Pick<Row, "event" | "lastAt">>;
  readonly #sample: Statement<[number, number], { random: string; number: number }>;

  constructor(db: Database, parts: Names) {
    this.#parts = parts;
    this.#meta = new Meta(db);
    this.#causes = new CauseList(db);
    this.#endpoints = db
      .prepare<[number], number>("SELECT number FROM endpoint INDEXED BY endpoint_tenant WHERE tenant = ?")
      .pluck();
    const rows = `delivery INDEXED BY delivery_failing
      WHERE endpoint = @endpoint AND cause = @cause AND event > @event AND failed_at >= @from AND failed_at < @to`;
    this.#rows = db.prepare(
      `SELECT event, failed_at AS lastAt, failing_since AS firstAt FROM ${rows}
       ORDER BY failed_at DESC, event DESC LIMIT ${LARGE}`,
    );
    this.#next = db
      .prepare<[Stretch], number>(`SELECT failed_at FROM ${rows} ORDER BY failed_at LIMIT 1 OFFSET ${LARGE_CHUNK}`)
      .pluck();
    this.#count = db.prepare(`SELECT count(*) AS count, min(failing_since) AS firstAt FROM ${rows}`);
    this.#last = db.prepare(
      `SELECT event, failed_at AS lastAt FROM ${rows} ORDER BY failed_at DESC, event DESC LIMIT 1`,
    );
    this.#sample = db.prepare(
      `SELECT e.random, a.number FROM event e JOIN attempt a ON a.event = e.key
       WHERE e.key = ? AND a.endpoint = ? AND a.outcome = ${outcomeCode("failed")} ORDER BY a.number DESC LIMIT 1`,
    );
  }

  *report(query: FailureQuery): Reading<FailureReport | null> {
    const { index } = this.#parts;
    const found = this.#groups(query);
    if (found === null) return null;
    // Deliveries of an older version get their causes by and by, the newest first.
    const known = this.#meta.causesNoted;
    const low = Math.max(firstKeyAt(query.since), known ?? 0) - 1;
    const begin = Math.max(instantOf(low) - SET_BACK_MS, -1);
    const groups = new FailureGroups(query);
    let read = 0;
    for (const { endpoint, cause } of found) {
      const { status: state, test, error, statusCode } = causeOf(cause);
      if (test || error === null || (state !== WAITING && state !== FAILED)) continue;
      // What fails again between two slices goes beyond this, so that it is not counted twice.
      let end = NEVER;
      for (let from = begin; from < end; yield) {
        const entry = index.byNumber(endpoint);
        const status = state === FAILED ? "failed" : entry.enabled ? "pending" : "held";
        const event = state === FAILED ? low : Math.max(low, cancelledTo(entry));
        const of = { endpoint: entry.id, status, error, statusCode } as const;
        const all = { endpoint, cause, event, from, to: end };
        const rows = from === begin ? this.#rows.all(all) : [];
        read += rows.length;
        if (from === begin && rows.length < LARGE) {
          for (const row of rows) groups.add({ ...of, ...row });
          break;
        }
        if (from === begin) end = rows[0]!.lastAt + 1;
        const next = this.#next.get(all);
        const stretch = { ...all, to: next === undefined ? end : Math.max(next, from + 1) };
        const { series, ...seen } = this.#counted(stretch, query);
        groups.addCounted({ ...of, ...seen }, series);
        from = stretch.to;
      }
      if (read < CHUNK) continue;
      read = 0;
      yield;
    }
    const since = known === null ? query.since : Math.max(query.since, instantOf(known));
    return { since, total: groups.size, groups: groups.largest(query.limit, (group) => this.#sampleOf(group)) };
  }

  #counted(stretch: Stretch, { since, stepMs, parts }: FailureQuery) {
    const counts = Array.from({ length: parts }, (_, part) => {
      // What lies before or after all of them counts in the first or last one.
      const from = part === 0 ? stretch.from : Math.max(stretch.from, since + part * stepMs);
      const to = part === parts - 1 ? stretch.to : Math.min(stretch.to, since + (part + 1) * stepMs);
      return from < to ? this.#count.get({ ...stretch, from, to })! : { count: 0, firstAt: null };
    });
    const firstAt = Math.min(...counts.map((each) => each.firstAt ?? NEVER));
    const { event, lastAt } = this.#last.get(stretch) ?? { event: 0, lastAt: -1 };
    return { series: counts.map(({ count }) => count), firstAt, lastAt, event };
  }

  /** Null when the tenant has, and had, no such endpoint. */
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

  /** Null if it was removed while the others were counted. */
  #sampleOf({ endpoint, event }: Pick<FailureGroup, "endpoint"> & { readonly event: number }): string | null {
    const { number: place } = this.#parts.index.byId(endpoint)!;
    const sample = this.#sample.get(event, place);
    return sample === undefined ? null : attemptId(eventId(event, sample.random), place, sample.number);
  }
}

/** What waits of events up to this key counts as cancelled. */
function cancelledTo({ deleted, cancelTo }: EndpointEntry): number {
  return deleted ? NEVER : (cancelTo ?? -1);
}
