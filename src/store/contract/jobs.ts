/** The contract for jobs: their sets of deliveries, and the steps in which the runner works through them. */
import type { AfterCanary, Job, JobAction, JobResult, JobStatus, NewJob } from "../../domain/deliveries/job.ts";
import type { Once } from "../../domain/events/idempotency.ts";
import type { FilterValues } from "../../domain/lists.ts";
import type { EventDelivery, Waiting, LeftAlone, WithdrawnDelivery } from "./events.ts";
import type { Caller, Page, PageQuery } from "./reads.ts";
import type { Pruned } from "./operations.ts";

export interface JobStore {
  /** Returns the number of deliveries that a job over this set would have if it were created now. Changes nothing. */
  plan(set: JobSet, caller?: Caller): Promise<JobPlan>;
  /**
   * Stores the set and lets the job run, or creates nothing if the set has another number of deliveries than `expect`.
   * Like `plan`, reads no more than 500 rows in a turn.
   */
  add(job: NewJob, expect: number | null, now: number, once?: Once<AddedJob>): Promise<AddedJob>;
  /** Returns the job with its results at each endpoint: at most 100 endpoints, those with the most deliveries first. */
  get(tenant: string | null, id: string): Promise<WholeJob | null>;
  /** Lists jobs in the order of creation. A tenant's page leaves out jobs over every tenant's deliveries. */
  list(query: JobQuery): Promise<Page<Job>>;
  /**
   * Returns null if there is no such job. A job that has ended stays as it is, and so does a job whose canary failed,
   * unless `after` says how to go on. `after` has no effect on any other job.
   */
  steer(
    tenant: string | null,
    id: string,
    to: "running" | "paused" | "cancelled",
    now: number,
    after?: AfterCanary,
  ): Promise<Job | null>;

  // --- for the runner ---

  /** Returns at most 500 jobs: those that are running, and cancelled ones that still have rows. */
  open(): Promise<readonly OpenJob[]>;
  /** Returns at most 500 of the job's endpoints after `after` that have deliveries left, in the store's own order. */
  endpoints(job: string, after: string | null): Promise<readonly JobEndpoint[]>;
  /** Takes the next deliveries of those endpoints, at most 500 in all, and applies the job's action to them. */
  step(job: string, takes: readonly JobTake[], now: number): Promise<JobStep>;
  /**
   * Marks a running job as done if it has no deliveries left, and removes at most 500 rows of a cancelled job. Returns
   * true if there is nothing to do for the job now. A paused one needs the call again once it is resumed.
   */
  close(job: string, now: number): Promise<boolean>;
  /** Removes jobs that ended before that instant. Begins after `from`, and reads and changes no more than 500 rows. */
  prune(before: number, from: string | null): Promise<Pruned>;
}

export interface JobQuery extends PageQuery, FilterValues<"jobs"> {
  /** Only jobs whose filter names one of these. */
  readonly endpoints?: readonly string[] | undefined;
  /** Lists only jobs that run or are paused, without reading the others. */
  readonly isOpen?: boolean;
}

export interface WholeJob extends Job {
  readonly endpoints: readonly JobResult[];
}

export type JobSet = Pick<NewJob, "tenant" | "action" | "filter">;

export interface JobPlan {
  readonly matched: number;
  /** Sorted by the number of deliveries, the most first. */
  readonly endpoints: readonly PlannedEndpoint[];
  readonly left: readonly LeftOfEndpoint[];
}

export interface PlannedEndpoint {
  readonly endpoint: string;
  readonly matched: number;
  /** The number of deliveries whose last attempt had no response in time. The receiver may have handled them. */
  readonly timedOut: number;
}

/** The deliveries that match the filter but cannot be sent now. */
export interface LeftOfEndpoint {
  readonly endpoint: string;
  readonly deliveries: number;
  readonly reason: LeftAlone["reason"];
}

export type AddedJob =
  | { readonly result: "added"; readonly job: Job }
  | { readonly result: "plan_changed"; readonly matched: number };

export interface OpenJob {
  readonly id: string;
  readonly action: JobAction;
  readonly status: JobStatus;
  readonly ratePerSecond: number;
  readonly canary: boolean;
}

export interface JobEndpoint {
  readonly endpoint: string;
  /** The number of deliveries whose turn has not come. */
  readonly planned: number;
  /** The number of deliveries that were handed over but not attempted yet. */
  readonly released: number;
  readonly delivered: number;
}

export interface JobTake {
  readonly endpoint: string;
  readonly limit: number;
  /** True if the step must first skip released deliveries that will no longer be attempted for the job. */
  readonly check: boolean;
}

/** The deliveries that the caller must handle in the same turn as the step. */
export interface JobStep {
  readonly waiting: readonly Waiting[];
  readonly requested: readonly EventDelivery[];
  readonly withdrawn: readonly WithdrawnDelivery[];
}
