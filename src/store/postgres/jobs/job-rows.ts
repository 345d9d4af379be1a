import type { Job } from "../../../domain/deliveries/job.ts";
import type { Queries } from "../engine/database.ts";
import { jobOf, type Counts, type JobRow } from "../../rows/job-row.ts";

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
