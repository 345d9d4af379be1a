/** What does not arrive, and why: `interface.md` §3, `GET /v1/webhooks/failures`. */
import type { FailureGroup, Parts } from "../domain/failure.ts";

export interface FailureStore {
  /**
   * Groups what has failed, or has failed and is tried again, of events received since then. It is read from the rows,
   * newest first and some of them a turn, so that it is right after every replay, cancel and prune; tests are left out.
   * Null when the tenant has, and had, no such endpoint.
   */
  failures(query: FailureQuery): Promise<FailureReport | null>;
}

export interface FailureQuery extends Parts {
  readonly tenant: string | null;
  readonly endpoint?: string;
  /** Groups to be answered at most. */
  readonly limit: number;
}

export interface FailureReport {
  /** From when on events were looked at: later than asked for where there is more than can be counted. */
  readonly since: number;
  /** How many groups there are. */
  readonly total: number;
  /** Those of whom most is missing, at most `limit`. */
  readonly groups: readonly FailureGroup[];
}
