/** Rows of jobs, and how they are shown. */
import type { Job, JobAction, JobFilter, JobStatus } from "../../../domain/deliveries/job.ts";
import type { Queries } from "../engine/database.ts";

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
export const NONE: Counts = { matched: 0, delivered: 0, failed: 0, cancelled: 0, skipped: 0 };

export async function findJob(
  queries: Queries,
  tenant: string | null,
  id: string,
  lock: "" | "FOR UPDATE" = "",
): Promise<JobRow | null> {
  const [row] = await queries.rows<JobRow>(`SELECT * FROM job WHERE id = $1 AND status <> 'planning' ${lock}`, [id]);
  return row === undefined || (tenant !== null && row.tenant !== tenant) ? null : row;
}

export async function countsOf(queries: Queries, jobs: readonly number[]): Promise<Map<number, Counts>> {
  const rows = await queries.rows<Counts & { job: number }>(
    `SELECT job, sum(matched) AS matched, sum(delivered) AS delivered, sum(failed) AS failed,
       sum(cancelled) AS cancelled, sum(skipped) AS skipped
     FROM job_endpoint WHERE job = ANY($1::bigint[]) GROUP BY job`,
    [jobs],
  );
  return new Map(rows.map(({ job, ...counts }) => [job, counts]));
}

export async function viewOf(queries: Queries, row: JobRow): Promise<Job> {
  return jobOf(row, (await countsOf(queries, [row.num])).get(row.num) ?? NONE);
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
