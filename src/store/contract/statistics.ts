/**
 * Counters: what was published and what attempts came to, by minute, in all, by tenant and by endpoint. They are counted
 * in memory after each commit and written with the first commit of a second, 500 rows at most: what a crash forgets is
 * the last second's, or somewhat more where many hundreds of endpoints are called in one second. Tests are not counted.
 */
import type { FailureGroup, Parts } from "../../domain/deliveries/failure.ts";
import type { Histogram, Tally } from "../../domain/tally.ts";
import type { Caller } from "./reads.ts";

export interface StatisticsStore {
  /** What was counted in the period, and in its parts. Null when the tenant has, and had, no such endpoint. */
  period(query: StatsQuery, caller?: Caller): Promise<Stats | null>;
  /** What this process has counted since it opened the store. */
  sinceStart(): Promise<SinceStart>;
  /** To be called each second: has what was counted written, when no commit of others did. */
  save(): Promise<void>;
  /** Removes at most 500 rows of minutes that were over before that instant; how many. Fewer: there are no more. */
  prune(before: number): Promise<number>;
  /** Counts at most 500 rows of what is there now; `next` is where to go on. The counts of all steps add up. */
  census(from: string | null): Promise<CensusStep>;
  /**
   * Groups what has failed, or has failed and is tried again, of events received since then; tests are left out. It is
   * right after every replay, cancel and prune.
   * Null when the tenant has, and had, no such endpoint.
   */
  failures(query: FailureQuery, caller?: Caller): Promise<FailureReport | null>;
  /** Endpoints that failed at least 20 times in a row, or for five minutes; who failed most comes first. Null: of all. */
  failing(tenant: string | null, now: number, limit: number): Promise<readonly FailingEndpoint[]>;
}

/** Tests and what is deleted are left out, but for a test that waits since a stop of the process. */
export interface Census {
  readonly pending: number;
  readonly held: number;
  readonly failed: number;
  readonly enabled: number;
  readonly disabled: number;
  /** Deliveries that wait for their next attempt, by the minute in which it is due: this hour's, overdue ones now. */
  readonly due: ReadonlyMap<number, number>;
}

export interface CensusStep extends Census {
  /** Opaque; null at the end. */
  readonly next: string | null;
}

export interface FailingEndpoint {
  readonly endpoint: string;
  readonly enabled: boolean;
  readonly consecutiveFailures: number;
  /** The first of these failures, and the last. */
  readonly failingSince: number;
  readonly lastFailureAt: number;
}

/** Whole minutes: `since` included, `until` not, `stepMs` each part. */
export interface StatsQuery {
  readonly tenant: string | null;
  readonly endpoint?: string;
  readonly since: number;
  readonly until: number;
  readonly stepMs: number;
}

export interface Counted {
  readonly attempts: Tally;
  /** Events by type. Of an endpoint it is empty: events are published to a tenant. */
  readonly published: ReadonlyMap<string, number>;
}

export interface SinceStart extends Counted {
  /** How long commits took, in milliseconds. */
  readonly commitTimes: Histogram;
}

export interface Stats extends Counted {
  readonly series: readonly Counted[];
}

/** `from` and `stepMs` are whole minutes; a series in whole hours takes less to count. */
export interface FailureQuery extends Parts {
  readonly tenant: string | null;
  readonly endpoint?: string;
  /** Of events received since then. */
  readonly since: number;
  /** Groups to be answered at most. */
  readonly limit: number;
}

export interface FailureReport {
  /** From when on events were looked at: later than asked for where there is more than can be counted. */
  readonly since: number;
  /** How many groups there are. */
  readonly total: number;
  /** Those with the most missing, at most `limit`. */
  readonly groups: readonly FailureGroup[];
}
