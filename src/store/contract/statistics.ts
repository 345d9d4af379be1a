/**
 * The contract for statistics. Counters of published events and of the outcomes of attempts are kept by minute: in
 * total, by tenant and by endpoint. They are counted in memory after each commit and written with the first commit of a
 * second, 500 rows at most. A crash loses the counts of the last second, or somewhat more if many hundreds of endpoints
 * are called in one second. Tests are not counted.
 */
import type { EndpointHeldKeys } from "../../domain/deliveries/ordering.ts";
import type { FailureGroup, Parts } from "../../domain/deliveries/failure.ts";
import type { Histogram, Tally } from "../../domain/tally.ts";
import type { Caller } from "./reads.ts";

export interface StatisticsStore {
  /** Returns the counts of the period and of its parts, or null if the tenant has, and had, no such endpoint. */
  period(query: StatsQuery, caller?: Caller): Promise<Stats | null>;
  /** Returns the counts of several endpoints by id, without those that do not exist, and did not. */
  ofEndpoints(query: EndpointStatsQuery, caller?: Caller): Promise<ReadonlyMap<string, Stats>>;
  /** Returns the counts of this process since it opened the store. */
  sinceStart(): Promise<SinceStart>;
  /** Writes the counts that no other commit has written. Must be called each second. */
  save(): Promise<void>;
  /**
   * Removes at most 500 rows of minutes that were over before that instant, and returns how many. Fewer than 500 means
   * that none are left.
   */
  prune(before: number): Promise<number>;
  /**
   * Counts at most 500 rows, beginning at `from`. Pass `next` to the following step. The counts of all steps add up.
   */
  census(from: string | null): Promise<CensusStep>;
  /**
   * Groups the deliveries that have failed, or are being retried after a failure, of events received since
   * `query.since`. Tests are left out. The groups are correct after every replay, cancel and prune. Returns null if the
   * tenant has, and had, no such endpoint.
   */
  failures(query: FailureQuery, caller?: Caller): Promise<FailureReport | null>;
  /**
   * Returns endpoints that failed at least 20 times in a row, or for five minutes, the most failures in a row first. A
   * null tenant means all tenants.
   */
  failing(tenant: string | null, now: number, limit: number): Promise<readonly FailingEndpoint[]>;
  /**
   * Returns the held keys of at most `limit` endpoints, the longest held first. Takes a step for each endpoint that
   * holds any, and counts 100,000 keys at most: see `heldKeysLimit`.
   */
  heldKeys(limit: number): Promise<readonly EndpointHeldKeys[]>;
}

/** Leaves out tests and deleted objects, except a test that has been waiting since the process stopped. */
export interface Census {
  readonly pending: number;
  readonly held: number;
  readonly failed: number;
  readonly enabled: number;
  readonly disabled: number;
  /**
   * The number of deliveries due within the next hour, by the minute of their next attempt. Overdue ones count for the
   * current minute.
   */
  readonly due: ReadonlyMap<number, number>;
}

export interface CensusStep extends Census {
  /** Opaque. Null at the end. */
  readonly next: string | null;
}

export interface FailingEndpoint {
  readonly endpoint: string;
  readonly enabled: boolean;
  readonly consecutiveFailures: number;
  /** The times of the first and the last of these failures. */
  readonly failingSince: number;
  readonly lastFailureAt: number;
}

/** In whole minutes. `since` is included, `until` is not, and each part takes `stepMs`. */
export interface StatsQuery {
  readonly tenant: string | null;
  readonly endpoint?: string;
  readonly since: number;
  readonly until: number;
  readonly stepMs: number;
}

export interface EndpointStatsQuery extends Omit<StatsQuery, "tenant" | "endpoint"> {
  readonly endpoints: readonly string[];
}

export interface Counted {
  readonly attempts: Tally;
  /** The number of events by type. Empty for an endpoint, because events are published to a tenant. */
  readonly published: ReadonlyMap<string, number>;
}

export interface SinceStart extends Counted {
  /** The durations of commits, in milliseconds. */
  readonly commitTimes: Histogram;
}

export interface Stats extends Counted {
  readonly series: readonly Counted[];
}

/** `from` and `stepMs` are whole minutes. A series in whole hours takes less time to count. */
export interface FailureQuery extends Parts {
  readonly tenant: string | null;
  readonly endpoint?: string;
  /** Leaves out events received earlier. */
  readonly since: number;
  /** The maximum number of groups to return. */
  readonly limit: number;
}

export interface FailureReport {
  /** Events received since then were counted. This is later than requested if there are more than can be counted. */
  readonly since: number;
  /** The number of groups, including those over `limit`. */
  readonly total: number;
  /** At most `limit` groups, the largest first. */
  readonly groups: readonly FailureGroup[];
}
