/** Jobs, and the results of each at each of its endpoints. */
import { EVERY_TENANT } from "../../../domain/id.ts";
import type { Database, Statement } from "better-sqlite3";
import type { Job, JobResult, JobStatus, NewJob } from "../../../domain/deliveries/job.ts";
import type { JobEndpoint, JobQuery, OpenJob, Pruned } from "../../store.ts";
import type { EndpointIndex } from "../numbers/endpoint-index.ts";
import type { Selected } from "../questions/questions.ts";
import { jobList, namesEndpoint } from "../../lists/jobs.ts";
import { type Walk, walkOf } from "../engine/page.ts";
import { Statements } from "../engine/statements.ts";
import { CHUNK } from "../engine/group-commit.ts";
import { jobOf, type Counts, type JobRow } from "../../rows/job-row.ts";

const NAMED = 100;

export class JobRows {
  readonly #db: Database;
  readonly #index: EndpointIndex;
  readonly #insert: Statement<unknown[]>;
  readonly #select: Statement<[string], JobRow>;
  readonly #counts: Statement<[number], Counts>;
  readonly #results: Statement<[number], Counts & { readonly endpoint: number }>;
  readonly #addDelivery: Statement<[number, number, number]>;
  readonly #addEndpoint: Statement<[{ job: number; endpoint: number; rows: number }]>;
  readonly #setStatus: Statement<[string, string | null, number | null, number]>;
  readonly #setCanary: Statement<[number, number]>;
  readonly #open: Statement<[], JobRow>;
  readonly #endpoints: Statement<[number, number], { endpoint: number } & Omit<JobEndpoint, "endpoint">>;
  readonly #hasLeft: Statement<[number], number>;
  readonly #hasDeliveries: Statement<[number, number], number>;
  readonly #shut: Statement<[number]>;
  readonly #forgetEndpoints: Statement<[number]>;
  readonly #forget: Statement<[number]>;
  readonly #lists: Statements;

  constructor(db: Database, index: EndpointIndex) {
    this.#db = db;
    this.#lists = new Statements(db);
    this.#index = index;
    this.#insert = db.prepare(
      `INSERT INTO job (id, tenant, action, filter, rate_per_second, canary, reason, status, created_at)
       VALUES (?, ?, ?, ?, ?, ?, ?, 'planning', ?)`,
    );
    this.#select = db.prepare("SELECT * FROM job WHERE id = ? AND status <> 'planning'");
    this.#counts = db.prepare(
      `SELECT coalesce(sum(matched), 0) AS matched, coalesce(sum(delivered), 0) AS delivered,
         coalesce(sum(failed), 0) AS failed, coalesce(sum(cancelled), 0) AS cancelled,
         coalesce(sum(skipped), 0) AS skipped
       FROM job_endpoint WHERE job = ?`,
    );
    this.#results = db.prepare(
      `SELECT endpoint, matched, delivered, failed, cancelled, skipped FROM job_endpoint
       WHERE job = ? ORDER BY matched DESC, endpoint LIMIT ${NAMED}`,
    );
    this.#addDelivery = db.prepare("INSERT OR IGNORE INTO job_delivery (job, endpoint, event) VALUES (?, ?, ?)");
    this.#addEndpoint = db.prepare(
      `INSERT INTO job_endpoint (job, endpoint, matched, planned) VALUES (@job, @endpoint, @rows, @rows)
       ON CONFLICT DO UPDATE SET matched = matched + @rows, planned = planned + @rows`,
    );
    this.#setStatus = db.prepare("UPDATE job SET status = ?, paused_reason = ?, ended_at = ? WHERE num = ?");
    this.#setCanary = db.prepare("UPDATE job SET canary = ? WHERE num = ?");
    this.#open = db.prepare(
      `SELECT * FROM job INDEXED BY job_open WHERE open = 1 AND status NOT IN ('planning', 'paused')
       ORDER BY num LIMIT ${CHUNK}`,
    );
    this.#endpoints = db.prepare(
      `SELECT endpoint, planned, released, delivered FROM job_endpoint
       WHERE job = ? AND endpoint > ? AND planned + released > 0 ORDER BY endpoint LIMIT ${CHUNK}`,
    );
    this.#hasLeft = db
      .prepare<[number], number>("SELECT 1 FROM job_endpoint WHERE job = ? AND planned + released > 0 LIMIT 1")
      .pluck();
    this.#hasDeliveries = db
      .prepare<[number, number], number>("SELECT 1 FROM job_endpoint WHERE job = ? AND endpoint = ?")
      .pluck();
    this.#shut = db.prepare("UPDATE job SET open = 0 WHERE num = ?");
    this.#forgetEndpoints = db.prepare("DELETE FROM job_endpoint WHERE job = ?");
    this.#forget = db.prepare("DELETE FROM job WHERE num = ?");
  }

  /** Adds a job that nobody sees before it runs. Returns its number. */
  plan(job: NewJob, now: number): number {
    const { id, tenant, action, filter, ratePerSecond, canary, reason } = job;
    const row = [id, tenant ?? EVERY_TENANT, action, JSON.stringify(filter), ratePerSecond, +canary, reason, now];
    return Number(this.#insert.run(...row).lastInsertRowid);
  }

  /** Leaves deliveries that are in the set already unchanged. */
  add(job: number, selected: readonly Selected[]): void {
    const added = new Map<number, number>();
    for (const { event, endpoint, left } of selected) {
      if (left !== null || this.#addDelivery.run(job, endpoint, event).changes === 0) continue;
      added.set(endpoint, (added.get(endpoint) ?? 0) + 1);
    }
    for (const [endpoint, rows] of added) this.#addEndpoint.run({ job, endpoint, rows });
  }

  matched(job: number): number {
    return this.#counts.get(job)!.matched;
  }

  find(tenant: string | null, id: string): JobRow | null {
    const row = this.#select.get(id);
    return row === undefined || (tenant !== null && row.tenant !== tenant) ? null : row;
  }

  setStatus(job: number, status: JobStatus, { pausedReason = null, endedAt = null }: Ended = {}): void {
    this.#setStatus.run(status, pausedReason, endedAt, job);
  }

  setCanary(job: number, canary: boolean): void {
    this.#setCanary.run(+canary, job);
  }

  view(row: JobRow): Job {
    return jobOf(row, this.#counts.get(row.num)!);
  }

  results(job: number): JobResult[] {
    return this.#results.all(job).map(({ endpoint, cancelled, ...counts }) => ({
      endpoint: this.#index.byNumber(endpoint).id,
      ...counts,
      done: counts.delivered + counts.failed + cancelled,
    }));
  }

  list(query: JobQuery): Walk<JobRow, Job> {
    const { endpoint, isOpen, tenant } = query;
    const list = jobList(query);
    const number = endpoint === undefined ? undefined : this.#index.byId(endpoint)?.number;
    const concerns = (row: JobRow) =>
      namesEndpoint(row, query) || (number !== undefined && this.#hasDeliveries.get(row.num, number) !== undefined);
    const index = isOpen === true ? "INDEXED BY job_open" : tenant === null ? "" : "INDEXED BY job_tenant";
    const indexed = { ...list, from: `job ${index}`, has: (row: JobRow) => list.has!(row) && concerns(row) };
    return walkOf(this.#lists, indexed, (row) => this.view(row), 1);
  }

  open(): OpenJob[] {
    return this.#open.all().map(({ id, action, status, rate_per_second: ratePerSecond, canary }) => ({
      id,
      action,
      status: status as JobStatus,
      ratePerSecond,
      canary: canary === 1,
    }));
  }

  endpoints(job: number, after: string | null): JobEndpoint[] {
    const from = after === null ? -1 : (this.#index.byId(after)?.number ?? Number.MAX_SAFE_INTEGER);
    return this.#endpoints.all(job, from).map((row) => ({ ...row, endpoint: this.#index.byNumber(row.endpoint).id }));
  }

  hasLeft(job: number): boolean {
    return this.#hasLeft.get(job) !== undefined;
  }

  /** The job has no deliveries left in its set. */
  shut(job: number): void {
    this.#shut.run(job);
  }

  /** Removes the job as if it had never existed. Its set must be empty. */
  forget(job: number): void {
    this.#forgetEndpoints.run(job);
    this.#forget.run(job);
  }

  /** Returns jobs that a stop of the process kept from running. */
  unplanned(): number[] {
    return this.#db
      .prepare<[], number>("SELECT num FROM job INDEXED BY job_open WHERE open = 1 AND status = 'planning'")
      .pluck()
      .all();
  }
}

interface Ended {
  readonly pausedReason?: string | null;
  readonly endedAt?: number | null;
}

interface Candidate {
  readonly num: number;
  /** 1 if nothing is left of its set. */
  readonly shut: number;
  readonly ended_at: number | null;
}

/** Removes jobs that are over and old, with their results at each of their endpoints, some rows at a time. */
export class OldJobs {
  readonly #candidates: Statement<[number, number], Candidate>;
  readonly #endpoints: Statement<[number, number]>;
  readonly #job: Statement<[number]>;

  constructor(db: Database) {
    this.#candidates = db.prepare("SELECT num, open = 0 AS shut, ended_at FROM job WHERE num > ? ORDER BY num LIMIT ?");
    this.#endpoints = db.prepare("DELETE FROM job_endpoint WHERE job = ? LIMIT ?");
    this.#job = db.prepare("DELETE FROM job WHERE num = ?");
  }

  /**
   * Call it inside a transaction. A job's own row is removed last, so that a later step, or a later process, finds it
   * again.
   */
  prune(before: number, from: string | null): Pruned {
    const candidates = this.#candidates.all(from === null ? -1 : Number(from), CHUNK);
    let [rows, pruned] = [0, 0];
    for (const { num, shut, ended_at } of candidates) {
      if (shut === 0 || ended_at === null || ended_at >= before) continue;
      rows += this.#endpoints.run(num, CHUNK - rows).changes;
      if (rows >= CHUNK) return { pruned, next: String(num - 1) };
      rows += this.#job.run(num).changes;
      pruned++;
    }
    return { pruned, next: candidates.length < CHUNK ? null : String(candidates.at(-1)!.num) };
  }
}
