/** Jobs: their verbs, each in transactions of at most 500 rows. */
import type { Once } from "../../../domain/events/idempotency.ts";
import type { AfterCanary, Job, NewJob } from "../../../domain/deliveries/job.ts";
import type {
  AddedJob,
  JobEndpoint,
  JobPlan,
  JobSet,
  JobStep,
  JobStore,
  JobTake,
  LeftOfEndpoint,
  OpenJob,
  Page,
  PageQuery,
  Pruned,
  WholeJob,
} from "../../store.ts";
import type { Attempts } from "../attempts/attempts.ts";
import type { IdempotencyKeys } from "../callers/idempotency.ts";
import type { Engine } from "../engine/engine.ts";
import type { EndpointIndex } from "../numbers/endpoint-index.ts";
import type { Interned } from "../numbers/codes.ts";
import { JobRows, OldJobs } from "./job-rows.ts";
import { JobSelection, type Selected, type Selection } from "./job-selection.ts";
import type { JobSteps } from "./job-steps.ts";
import { CHUNK, CHUNK_SIZE } from "../engine/group-commit.ts";

interface Parts {
  readonly tenants: Interned;
  readonly types: Interned;
  readonly index: EndpointIndex;
  readonly attempts: Attempts;
  readonly idempotency: IdempotencyKeys;
  readonly steps: JobSteps;
}

interface Tally {
  matched: number;
  timedOut: number;
  left: LeftOfEndpoint | null;
}

const NOTHING: JobStep = { waiting: [], requested: [], withdrawn: [] };

export class SqliteJobs implements JobStore {
  readonly #engine: Engine;
  readonly #parts: Parts;
  readonly #rows: JobRows;
  readonly #selection: JobSelection;
  readonly #steps: JobSteps;
  readonly #old: OldJobs;

  constructor(engine: Engine, parts: Parts) {
    const { db } = engine;
    this.#engine = engine;
    this.#parts = parts;
    this.#rows = new JobRows(db, parts.index);
    this.#selection = new JobSelection(db, parts);
    this.#steps = parts.steps;
    this.#old = new OldJobs(db);
  }

  async plan(set: JobSet): Promise<JobPlan> {
    const { attempts, index } = this.#parts;
    const { read } = this.#engine;
    const tallies = new Map<number, Tally>();
    const pages = this.#selection.of(set);
    for (let some = read(() => nextOf(pages)); some !== null; some = read(() => nextOf(pages))) {
      for (const { event, endpoint, left } of some) {
        let tally = tallies.get(endpoint);
        if (tally === undefined) tallies.set(endpoint, (tally = { matched: 0, timedOut: 0, left: null }));
        if (left !== null) {
          tally.left = {
            endpoint: index.byNumber(endpoint).id,
            deliveries: (tally.left?.deliveries ?? 0) + 1,
            reason: left,
          };
          continue;
        }
        tally.matched++;
        if (read(() => attempts.lastMatches(event, endpoint, { error: "timeout" }))) tally.timedOut++;
      }
      await this.#engine.turn();
    }
    const all = [...tallies];
    return {
      matched: all.reduce((sum, [, { matched }]) => sum + matched, 0),
      endpoints: all
        .filter(([, { matched }]) => matched > 0)
        .map(([endpoint, { matched, timedOut }]) => ({ endpoint: index.byNumber(endpoint).id, matched, timedOut })),
      left: all.flatMap(([, { left }]) => left ?? []),
    };
  }

  async add(job: NewJob, expect: number | null, now: number, once?: Once<AddedJob>): Promise<AddedJob> {
    const { commit, read } = this.#engine;
    const num = await commit.run(() => this.#rows.plan(job, now));
    try {
      const pages = this.#selection.of(job);
      for (let some = read(() => nextOf(pages)); some !== null; some = read(() => nextOf(pages))) {
        const selected = some;
        await commit.run(() => this.#rows.add(num, selected), CHUNK_SIZE);
      }
      const matched = read(() => this.#rows.matched(num));
      if (expect === null || expect === matched)
        return await this.#parts.idempotency.commit(once, now, () => this.#begin(num, job.id));
      await this.#undo(num);
      return { result: "plan_changed", matched };
    } catch (error) {
      // What cannot be undone now goes at the next start.
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

  list(query: PageQuery): Promise<Page<Job>> {
    return this.#engine.pages.of(this.#rows.list(query), query);
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

  /** Sets that a stop of the process left half written. */
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

/** As many pages as fit into a turn; null at the end. */
function nextOf(pages: Generator<Selection, void>): readonly Selected[] | null {
  const selected: Selected[] = [];
  for (let looked = 0; looked < CHUNK;) {
    const { value, done } = pages.next();
    if (done === true) return selected.length === 0 ? null : selected;
    selected.push(...value.selected);
    looked += value.looked;
  }
  return selected;
}
