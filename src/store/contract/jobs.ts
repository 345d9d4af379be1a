/** Jobs: their sets, and the steps in which they are walked. */
import type { AfterCanary, Job, JobAction, JobResult, JobStatus, NewJob } from "../../domain/deliveries/job.ts";
import type { Once } from "../../domain/events/idempotency.ts";
import type { EventDelivery, Waiting, LeftAlone, WithdrawnDelivery } from "./events.ts";
import type { Caller, Page, PageQuery } from "./reads.ts";
import type { Pruned } from "./operations.ts";

export interface JobStore {
  /** What a job over this set would be about, if it were made now. Nothing is changed. */
  plan(set: JobSet, caller?: Caller): Promise<JobPlan>;
  /**
   * Writes the set down, and lets the job run; or makes nothing, when `expect` is another count. Both this and
   * `plan` look at no more than 500 rows in a turn.
   */
  add(job: NewJob, expect: number | null, now: number, once?: Once<AddedJob>): Promise<AddedJob>;
  /** With what it came to at each endpoint: at most 100 of them, those with the most deliveries first. */
  get(tenant: string | null, id: string): Promise<WholeJob | null>;
  /** In the order in which they were made. A tenant's page leaves out those over every tenant's deliveries. */
  list(query: JobQuery): Promise<Page<Job>>;
  /**
   * Null when there is no such job; one that has ended stays as it is. So does one whose canary failed, unless `after`
   * says how it is to go on; of any other job that changes nothing.
   */
  steer(
    tenant: string | null,
    id: string,
    to: "running" | "paused" | "cancelled",
    now: number,
    after?: AfterCanary,
  ): Promise<Job | null>;

  // --- for the runner ---

  /** Those that run, and cancelled ones whose rows are not all gone; at most 500. */
  open(): Promise<readonly OpenJob[]>;
  /** Its endpoints that have something left, in the store's own order, after that one; at most 500. */
  endpoints(job: string, after: string | null): Promise<readonly JobEndpoint[]>;
  /** Takes the next deliveries of those endpoints, at most 500 in all, and does with them what the job is for. */
  step(job: string, takes: readonly JobTake[], now: number): Promise<JobStep>;
  /**
   * Of a job that runs and has nothing left: it is done. Of a cancelled one: lets at most 500 of its rows go. Whether
   * nothing is left to be called for.
   */
  close(job: string, now: number): Promise<boolean>;
  /** Removes jobs that ended before that instant. Begins after `from`; touches, and looks at, no more than 500 rows. */
  prune(before: number, from: string | null): Promise<Pruned>;
}

export interface JobQuery extends PageQuery {
  /** Only jobs whose filter names one of these. */
  readonly endpoints?: readonly string[] | undefined;
  /** Only jobs that concern this endpoint: their filter names it, or their set has deliveries to it. */
  readonly endpoint?: string | undefined;
  readonly statuses?: readonly JobStatus[] | undefined;
  readonly actions?: readonly JobAction[] | undefined;
  /** Only those that run or are paused, without a look at the others. */
  readonly isOpen?: boolean;
}

export interface WholeJob extends Job {
  readonly endpoints: readonly JobResult[];
}

export type JobSet = Pick<NewJob, "tenant" | "action" | "filter">;

export interface JobPlan {
  readonly matched: number;
  readonly endpoints: readonly PlannedEndpoint[];
  readonly left: readonly LeftOfEndpoint[];
}

export interface PlannedEndpoint {
  readonly endpoint: string;
  readonly matched: number;
  /** Whose last attempt had no answer in time: the receiver may have handled them. */
  readonly timedOut: number;
}

/** Deliveries that match the filter, and that nothing can be sent of now. */
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
  /** Whose turn has not come. */
  readonly planned: number;
  /** Handed over, and not attempted yet. */
  readonly released: number;
  readonly delivered: number;
}

export interface JobTake {
  readonly endpoint: string;
  readonly limit: number;
  /** First looks which of those it has released will not be attempted for it any more, and skips them. */
  readonly check: boolean;
}

/** What a step leaves to be done in the same turn. */
export interface JobStep {
  readonly waiting: readonly Waiting[];
  readonly requested: readonly EventDelivery[];
  readonly withdrawn: readonly WithdrawnDelivery[];
}
