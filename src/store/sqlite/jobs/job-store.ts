/** The store of jobs. Each method uses transactions of at most 500 rows. */
import type { Once } from "../../../domain/events/idempotency.ts";
import type { AfterCanary, Job, NewJob } from "../../../domain/deliveries/job.ts";
import type {
  AddedJob,
  Caller,
  JobEndpoint,
  JobQuery,
  JobPlan,
  JobSet,
  JobStep,
  JobStore,
  JobTake,
  OpenJob,
  Page,
  Pruned,
  WholeJob,
} from "../../store.ts";
import type { IdempotencyKeys } from "../callers/idempotency.ts";
import type { Engine } from "../engine/engine.ts";
import type { EndpointIndex } from "../numbers/endpoint-index.ts";
import { JobRows, OldJobs } from "./job-rows.ts";
import type { JobSteps } from "./job-steps.ts";
import { CHUNK_SIZE } from "../engine/group-commit.ts";
import type { Reader } from "../questions/questions.ts";

interface Parts {
  readonly index: EndpointIndex;
  readonly idempotency: IdempotencyKeys;
  readonly reader: Reader;
  readonly steps: JobSteps;
}

const NOTHING: JobStep = { waiting: [], requested: [], withdrawn: [] };

export class SqliteJobs implements JobStore {
  readonly #engine: Engine;
  readonly #parts: Parts;
  readonly #rows: JobRows;
  readonly #steps: JobSteps;
  readonly #old: OldJobs;

  constructor(engine: Engine, parts: Parts) {
    const { db } = engine;
    this.#engine = engine;
    this.#parts = parts;
    this.#rows = new JobRows(db, parts.index);
    this.#steps = parts.steps;
    this.#old = new OldJobs(db);
  }

  plan(set: JobSet, caller?: Caller): Promise<JobPlan> {
    return this.#parts.reader.ask("planJob", set, { caller });
  }

  async add(job: NewJob, expect: number | null, now: number, once?: Once<AddedJob>): Promise<AddedJob> {
    const { commit, read } = this.#engine;
    const num = await commit.run(() => this.#rows.plan(job, now));
    try {
      const { tenant, action, filter } = job;
      await this.#parts.reader.ask(
        "selectForJob",
        { tenant, action, filter },
        { onPiece: (selected) => commit.run(() => this.#rows.add(num, selected), CHUNK_SIZE) },
      );
      const matched = read(() => this.#rows.matched(num));
      if (expect === null || expect === matched)
        return await this.#parts.idempotency.commit(once, now, () => this.#begin(num, job.id));
      await this.#undo(num);
      return { result: "plan_changed", matched };
    } catch (error) {
      // If this fails, the next start removes it.
      await this.#undo(num).catch(() => {});
      throw error;
    }
  }

  async get(tenant: string | null, id: string): Promise<WholeJob | null> {
    return this.#engine.read(() => {
      const row = this.#rows.find(tenant, id);
      return row === null ? null : { ...this.#rows.view(row), endpoints: this.#rows.results(row.num) };
    });
  }

  list(query: JobQuery): Promise<Page<Job>> {
    return this.#engine.pages.of(() => this.#rows.list(query), query);
  }

  steer(
    tenant: string | null,
    id: string,
    to: "running" | "paused" | "cancelled",
    now: number,
    after?: AfterCanary,
  ): Promise<Job | null> {
    return this.#engine.commit.run(() => {
      const row = this.#rows.find(tenant, id);
      if (row === null) return null;
      const isOver = row.status === "done" || row.status === "cancelled";
      const isUndecided = to === "running" && row.paused_reason !== null && after === undefined;
      if (!isOver && !isUndecided && row.status !== to) {
        if (to === "running" && row.paused_reason !== null) this.#rows.setCanary(row.num, after === "canary");
        this.#rows.setStatus(row.num, to, { endedAt: to === "cancelled" ? now : null });
      }
      return this.#rows.view(this.#rows.find(tenant, id)!);
    });
  }

  async open(): Promise<readonly OpenJob[]> {
    return this.#engine.read(() => this.#rows.open());
  }

  async endpoints(id: string, after: string | null): Promise<readonly JobEndpoint[]> {
    return this.#engine.read(() => {
      const row = this.#rows.find(null, id);
      return row === null ? [] : this.#rows.endpoints(row.num, after);
    });
  }

  step(id: string, takes: readonly JobTake[], now: number): Promise<JobStep> {
    return this.#engine.commit.run(() => {
      const row = this.#rows.find(null, id);
      return row === null ? NOTHING : this.#steps.step(row, takes, now);
    }, CHUNK_SIZE);
  }

  async close(id: string, now: number): Promise<boolean> {
    return this.#engine.commit.run(() => {
      const row = this.#rows.find(null, id);
      if (row === null || row.status === "paused") return true;
      if (row.status === "cancelled" ? !this.#steps.drop(row.num) : this.#rows.hasLeft(row.num)) return false;
      if (row.status === "running") this.#rows.setStatus(row.num, "done", { endedAt: now });
      this.#rows.shut(row.num);
      return true;
    }, CHUNK_SIZE);
  }

  async prune(before: number, from: string | null): Promise<Pruned> {
    return this.#engine.commit.run(() => this.#old.prune(before, from), CHUNK_SIZE);
  }

  /** Removes sets that a stop of the process left incomplete. */
  async dropUnplanned(): Promise<void> {
    for (const num of this.#engine.read(() => this.#rows.unplanned())) await this.#undo(num);
  }

  #begin(num: number, id: string): AddedJob {
    this.#rows.setStatus(num, "running");
    return { result: "added", job: this.#rows.view(this.#rows.find(null, id)!) };
  }

  async #undo(num: number): Promise<void> {
    const { commit } = this.#engine;
    while (!(await commit.run(() => this.#steps.drop(num), CHUNK_SIZE)));
    await commit.run(() => this.#rows.forget(num));
  }
}
