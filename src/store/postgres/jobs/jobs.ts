/** The store of jobs. Each method uses transactions of at most 500 rows. */
import { EVERY_TENANT } from "../../../domain/id.ts";
import type { AfterCanary, Job, JobStatus, NewJob } from "../../../domain/deliveries/job.ts";
import type { Once } from "../../../domain/events/idempotency.ts";
import type {
  AddedJob,
  JobEndpoint,
  JobPlan,
  JobQuery,
  JobSet,
  JobStep,
  JobStore,
  JobTake,
  OpenJob,
  Page,
  Pruned,
  WholeJob,
} from "../../store.ts";
import type { Queries } from "../engine/database.ts";
import { CHUNK, type Engine } from "../engine/engine.ts";
import { jobList, namesEndpoint } from "../../lists/jobs.ts";
import { pageOf, walkOf } from "../engine/page.ts";
import type { IdempotencyKeys } from "../callers/idempotency.ts";
import { countsOf, findJob, NONE, viewOf } from "./job-rows.ts";
import { planJob, select, type Selected } from "./job-sets.ts";
import type { Pending } from "../deliveries/pending.ts";
import type { Lines } from "../ordering/lines.ts";
import { stepJob } from "./job-steps.ts";
import { jobOf, type Counts, type JobRow } from "../../rows/job-row.ts";

const NAMED = 100;
const NOTHING: JobStep = { waiting: [], requested: [], withdrawn: [] };

interface Parts {
  readonly idempotency: IdempotencyKeys;
  readonly lines: Lines;
  readonly pending: Pending;
}

export class PostgresJobs implements JobStore {
  readonly #engine: Engine;
  readonly #idempotency: IdempotencyKeys;
  readonly #parts: Pick<Parts, "lines" | "pending">;

  constructor(engine: Engine, { idempotency, lines, pending }: Parts) {
    this.#engine = engine;
    this.#idempotency = idempotency;
    this.#parts = { lines, pending };
  }

  plan(set: JobSet): Promise<JobPlan> {
    return planJob(this.#engine.database.lists, set, this.#engine.keys.times);
  }

  async add(job: NewJob, expect: number | null, now: number, once?: Once<AddedJob>): Promise<AddedJob> {
    const engine = this.#engine;
    const { id, tenant, action, filter, ratePerSecond, canary, reason } = job;
    const num = engine.numbers.next(now);
    await engine.write((tx) =>
      tx.change(
        `INSERT INTO job (num, id, tenant, action, filter, rate_per_second, canary, reason, status, created_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 'planning', $9)`,
        [num, id, tenant ?? EVERY_TENANT, action, JSON.stringify(filter), ratePerSecond, +canary, reason, now],
      ),
    );
    try {
      for await (const some of select(engine.database.lists, { tenant, action, filter }, engine.keys.times)) {
        await engine.write((tx) => addSome(tx, num, some));
      }
      const { matched } = (await countsOf(engine.database.lists, [num])).get(num) ?? NONE;
      if (expect === null || expect === matched) {
        return await this.#idempotency.commit(once, now, async (tx) => {
          await tx.change("UPDATE job SET status = 'running' WHERE num = $1", [num]);
          return { result: "added", job: (await viewOf(tx, (await findJob(tx, null, id))!))! };
        });
      }
      await this.#undo(num);
      return { result: "plan_changed", matched };
    } catch (error) {
      // If this fails, the next start removes it.
      await this.#undo(num).catch(() => {});
      throw error;
    }
  }

  async get(tenant: string | null, id: string): Promise<WholeJob | null> {
    const { database } = this.#engine;
    const row = await findJob(database, tenant, id);
    if (row === null) return null;
    const results = await database.rows<Counts & { endpoint: string }>(
      `SELECT e.id AS endpoint, j.matched, j.delivered, j.failed, j.cancelled, j.skipped
       FROM job_endpoint j JOIN endpoint e ON e.number = j.endpoint
       WHERE j.job = $1 ORDER BY j.matched DESC, j.endpoint LIMIT ${NAMED}`,
      [row.num],
    );
    const endpoints = results.map(({ cancelled, ...counts }) => ({
      ...counts,
      done: counts.delivered + counts.failed + cancelled,
    }));
    return { ...(await viewOf(database, row)), endpoints };
  }

  list(query: JobQuery): Promise<Page<Job>> {
    const { database } = this.#engine;
    const { endpoint } = query;
    const jobsWithDeliveries = async (rows: readonly JobRow[]) => {
      if (endpoint === undefined) return new Set<number>();
      const found = await database.rows<{ job: number }>(
        `SELECT j.job FROM job_endpoint j JOIN endpoint e ON e.number = j.endpoint
         WHERE e.id = $1 AND j.job = ANY ($2::bigint[])`,
        [endpoint, rows.map(({ num }) => num)],
      );
      return new Set(found.map(({ job }) => job));
    };
    const walk = walkOf(database.lists, jobList(query), async (rows) => {
      const having = await jobsWithDeliveries(rows);
      const concerned = rows.filter((row) => namesEndpoint(row, query) || having.has(row.num));
      const counts = await countsOf(
        database,
        concerned.map(({ num }) => num),
      );
      return rows.map((row) => (concerned.includes(row) ? jobOf(row, counts.get(row.num) ?? NONE) : null));
    });
    return pageOf(this.#engine, walk, query);
  }

  steer(
    tenant: string | null,
    id: string,
    to: "running" | "paused" | "cancelled",
    now: number,
    after?: AfterCanary,
  ): Promise<Job | null> {
    return this.#engine.write(async (tx) => {
      const row = await findJob(tx, tenant, id, "FOR UPDATE");
      if (row === null) return null;
      const isOver = row.status === "done" || row.status === "cancelled";
      const isUndecided = to === "running" && row.paused_reason !== null && after === undefined;
      if (!isOver && !isUndecided && row.status !== to) {
        const canary = to === "running" && row.paused_reason !== null ? +(after === "canary") : row.canary;
        const sql = "UPDATE job SET status = $2, paused_reason = NULL, ended_at = $3, canary = $4 WHERE num = $1";
        await tx.change(sql, [row.num, to, to === "cancelled" ? now : null, canary]);
      }
      return viewOf(tx, (await findJob(tx, null, id))!);
    });
  }

  async open(): Promise<readonly OpenJob[]> {
    const rows = await this.#engine.database.rows<JobRow>(
      `SELECT * FROM job WHERE open = 1 AND status NOT IN ('planning', 'paused') ORDER BY num LIMIT ${CHUNK}`,
    );
    return rows.map(({ id, action, status, rate_per_second: ratePerSecond, canary }) => ({
      id,
      action,
      status: status as JobStatus,
      ratePerSecond,
      canary: canary === 1,
    }));
  }

  endpoints(job: string, after: string | null): Promise<readonly JobEndpoint[]> {
    return this.#engine.database.rows<JobEndpoint>(
      `SELECT e.id AS endpoint, c.planned, c.released, c.delivered
       FROM job j JOIN job_endpoint c ON c.job = j.num JOIN endpoint e ON e.number = c.endpoint
       WHERE j.id = $1 AND j.status <> 'planning' AND c.planned + c.released > 0
         AND c.endpoint > coalesce((SELECT number FROM endpoint WHERE id = $2), -1)
       ORDER BY c.endpoint LIMIT ${CHUNK}`,
      [job, after],
    );
  }

  step(id: string, takes: readonly JobTake[], now: number): Promise<JobStep> {
    return this.#engine.write(async (tx) => {
      const row = await findJob(tx, null, id, "FOR UPDATE");
      if (row === null || row.status !== "running") return NOTHING;
      const step = await stepJob(tx, this.#parts, row, takes, now);
      await this.#engine.owner.notify(tx, step);
      return step;
    });
  }

  close(id: string, now: number): Promise<boolean> {
    return this.#engine.write(async (tx) => {
      const row = await findJob(tx, null, id, "FOR UPDATE");
      if (row === null || row.status === "paused") return true;
      if (row.status === "cancelled" ? !(await dropSome(tx, row.num)) : await hasLeft(tx, row.num)) return false;
      const status = row.status === "running" ? "done" : row.status;
      const endedAt = row.status === "running" ? now : row.ended_at;
      await tx.change("UPDATE job SET status = $2, ended_at = $3, open = 0 WHERE num = $1", [row.num, status, endedAt]);
      return true;
    });
  }

  /** Removes a job's own row last, so that a later step, or a later process, finds it again. */
  prune(before: number, from: string | null): Promise<Pruned> {
    return this.#engine.write(async (tx) => {
      const candidates = await tx.rows<{ num: number; over: boolean }>(
        `SELECT num, open = 0 AND ended_at IS NOT NULL AND ended_at < $2 AS over FROM job WHERE num > $1
         ORDER BY num LIMIT ${CHUNK}`,
        [from === null ? -1 : Number(from), before],
      );
      let [rows, pruned] = [0, 0];
      for (const { num, over } of candidates) {
        if (!over) continue;
        rows += await tx.change(
          `DELETE FROM job_endpoint WHERE job = $1 AND endpoint IN (
             SELECT endpoint FROM job_endpoint WHERE job = $1 LIMIT $2)`,
          [num, CHUNK - rows],
        );
        if (rows >= CHUNK) return { pruned, next: String(num - 1) };
        rows += await tx.change("DELETE FROM job WHERE num = $1", [num]);
        pruned++;
      }
      return { pruned, next: candidates.length < CHUNK ? null : String(candidates.at(-1)!.num) };
    });
  }

  /**
   * Returns incomplete sets that were begun by that instant and that a stop left behind. Sets that this process is
   * writing are later.
   */
  async unplanned(before: number): Promise<readonly number[]> {
    const sql = "SELECT num FROM job WHERE open = 1 AND status = 'planning' AND created_at <= $1";
    return (await this.#engine.database.rows<{ num: number }>(sql, [before])).map(({ num }) => num);
  }

  async drop(jobs: readonly number[]): Promise<void> {
    for (const num of jobs) await this.#undo(num);
  }

  async #undo(num: number): Promise<void> {
    while (!(await this.#engine.write((tx) => dropSome(tx, num))));
    await this.#engine.write(async (tx) => {
      await tx.change("DELETE FROM job_endpoint WHERE job = $1", [num]);
      await tx.change("DELETE FROM job WHERE num = $1", [num]);
    });
  }
}

/** Leaves deliveries that are already in the set unchanged. */
async function addSome(tx: Queries, job: number, selected: readonly Selected[]): Promise<void> {
  const some = selected.filter(({ left }) => left === null);
  if (some.length === 0) return;
  const added = await tx.rows<{ endpoint: number }>(
    `INSERT INTO job_delivery (job, endpoint, event) SELECT $1::bigint, endpoint, event
     FROM unnest($2::integer[], $3::bigint[]) AS n (endpoint, event) ON CONFLICT DO NOTHING RETURNING endpoint`,
    [job, some.map(({ endpoint }) => endpoint), some.map(({ event }) => event)],
  );
  const counts = [...Map.groupBy(added, ({ endpoint }) => endpoint)];
  await tx.change(
    `INSERT INTO job_endpoint (job, endpoint, matched, planned) SELECT $1::bigint, endpoint, count, count
     FROM unnest($2::integer[], $3::integer[]) AS n (endpoint, count)
     ON CONFLICT (job, endpoint) DO UPDATE
       SET matched = job_endpoint.matched + excluded.matched, planned = job_endpoint.planned + excluded.planned`,
    [job, counts.map(([endpoint]) => endpoint), counts.map(([, rows]) => rows.length)],
  );
}

/**
 * Removes some of the set, and the attempts that only this job requested and that have not begun. Returns true if all
 * of it is gone.
 */
async function dropSome(tx: Queries, job: number): Promise<boolean> {
  const rows = await tx.rows<{ endpoint: number; event: number; released: number }>(
    `DELETE FROM job_delivery WHERE (job, endpoint, event) IN (
       SELECT job, endpoint, event FROM job_delivery WHERE job = $1 LIMIT ${CHUNK}) RETURNING endpoint, event, released`,
    [job],
  );
  const released = rows.filter((row) => row.released === 1);
  if (released.length > 0) {
    await tx.change(
      `DELETE FROM manual_attempt m USING unnest($2::bigint[], $3::integer[]) AS n (event, endpoint), job own
       WHERE own.num = $1 AND own.action = 'attempt_now' AND m.event = n.event AND m.endpoint = n.endpoint AND m.urgent = 0
         AND NOT EXISTS (
           SELECT 1 FROM job_delivery d JOIN job j ON j.num = d.job
           WHERE d.released = 1 AND d.endpoint = m.endpoint AND d.event = m.event AND j.action = 'attempt_now')`,
      [job, released.map(({ event }) => event), released.map(({ endpoint }) => endpoint)],
    );
  }
  return rows.length < CHUNK;
}

async function hasLeft(tx: Queries, job: number): Promise<boolean> {
  return (
    (await tx.rows("SELECT 1 FROM job_endpoint WHERE job = $1 AND planned + released > 0 LIMIT 1", [job])).length > 0
  );
}
