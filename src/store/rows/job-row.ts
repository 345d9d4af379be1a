/** A row of the job table, the job that it shows, and the plan of a job that is not there yet. */
import { EVERY_TENANT } from "../../domain/id.ts";
import type { Job, JobAction, JobFilter, JobStatus } from "../../domain/deliveries/job.ts";
import type { JobPlan, LeftAlone } from "../store.ts";

export interface JobRow {
  readonly num: number;
  readonly id: string;
  readonly tenant: string;
  readonly action: JobAction;
  readonly filter: string;
  readonly rate_per_second: number;
  readonly canary: number;
  readonly reason: string;
  readonly status: JobStatus | "planning";
  readonly paused_reason: string | null;
  readonly created_at: number;
  readonly ended_at: number | null;
}

export interface Counts {
  readonly matched: number;
  readonly delivered: number;
  readonly failed: number;
  readonly cancelled: number;
  readonly skipped: number;
}

export function jobOf(row: JobRow, { matched, delivered, failed, cancelled, skipped }: Counts): Job {
  return {
    id: row.id,
    tenant: row.tenant === EVERY_TENANT ? null : row.tenant,
    action: row.action,
    filter: JSON.parse(row.filter) as JobFilter,
    ratePerSecond: row.rate_per_second,
    canary: row.canary === 1,
    reason: row.reason,
    status: row.status as JobStatus,
    pausedReason: row.paused_reason,
    createdAt: row.created_at,
    endedAt: row.ended_at,
    matched,
    done: delivered + failed + cancelled,
    delivered,
    failed,
    skipped,
  };
}

interface Tally {
  matched: number;
  timedOut: number;
  left: number;
  reason: LeftAlone["reason"] | null;
}

/** Counts the deliveries that a job would have, for each endpoint. */
export class PlanTally {
  readonly #tallies = new Map<string, Tally>();

  /** `left` is the reason why the job would leave the delivery alone; null if it would not. */
  add(endpoint: string, left: LeftAlone["reason"] | null, timedOut: boolean): void {
    let tally = this.#tallies.get(endpoint);
    if (tally === undefined) this.#tallies.set(endpoint, (tally = { matched: 0, timedOut: 0, left: 0, reason: null }));
    if (left !== null) {
      tally.left++;
      tally.reason = left;
      return;
    }
    tally.matched++;
    if (timedOut) tally.timedOut++;
  }

  /** The endpoint with the most deliveries is first; of two with as many, the older one. */
  plan(): JobPlan {
    const all = [...this.#tallies].toSorted(
      ([one, a], [other, b]) => b.matched - a.matched || b.left - a.left || (one < other ? -1 : 1),
    );
    return {
      matched: all.reduce((sum, [, { matched }]) => sum + matched, 0),
      endpoints: all
        .filter(([, { matched }]) => matched > 0)
        .map(([endpoint, { matched, timedOut }]) => ({ endpoint, matched, timedOut })),
      left: all.flatMap(([endpoint, { left, reason }]) =>
        reason === null ? [] : [{ endpoint, deliveries: left, reason }],
      ),
    };
  }
}
