/** A row of the job table, and the job that it shows. */
import type { Job, JobAction, JobFilter, JobStatus } from "../../domain/deliveries/job.ts";
import type { JobQuery } from "../store.ts";

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

export const EVERY_TENANT = "*";

/**
 * Decides if a list shows a job. `hasDeliveries` says if the job's set has deliveries to `query.endpoint`; it is called
 * only if that is given.
 */
export function fitsJob(row: JobRow, query: JobQuery, hasDeliveries: (row: JobRow) => boolean): boolean {
  const { endpoint, endpoints, isOpen = false, statuses, actions } = query;
  const { status } = row;
  if (status === "planning" || (isOpen && status !== "running" && status !== "paused")) return false;
  if (statuses?.includes(status) === false || actions?.includes(row.action) === false) return false;
  if (endpoint === undefined && endpoints === undefined) return true;
  const named = (JSON.parse(row.filter) as JobFilter).endpoint;
  if (endpoints?.includes(named ?? "") === false) return false;
  return endpoint === undefined || named === endpoint || hasDeliveries(row);
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
