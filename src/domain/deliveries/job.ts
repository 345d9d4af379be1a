/**
 * A job is one action over a set of deliveries. The set is stored when the job is created, so that later deliveries are
 * not included. Each delivery is checked again when its turn comes, and skipped if it no longer qualifies.
 *
 *   running ⇄ paused      (by an operator, or by a canary that failed: then resuming needs `AfterCanary`)
 *      │         └──────► cancelled
 *      └──► done | cancelled
 */
import type { AttemptError } from "./attempt.ts";
import type { ShownStatus } from "./delivery.ts";

export const JOB_ACTIONS = ["replay", "attempt_now", "cancel"] as const;
export type JobAction = (typeof JOB_ACTIONS)[number];

export const JOB_STATUSES = ["running", "paused", "done", "cancelled"] as const;
export type JobStatus = (typeof JOB_STATUSES)[number];

/** The way to resume after a canary failed: with another canary, or with all remaining deliveries at once. */
export type AfterCanary = "canary" | "send_all";

/** The statuses that each action applies to. Without a status in the filter, the first entry is used. */
const STATUSES: Readonly<Record<JobAction, readonly (readonly ShownStatus[])[]>> = {
  replay: [["failed"], ["delivered"]],
  attempt_now: [["pending"], ["failed"]],
  cancel: [["pending", "held"], ["pending"], ["held"]],
};

/**
 * The filter of the lists (`docs/interface.md` §2), with event ids, or with the events for which an endpoint has no
 * delivery.
 */
export interface JobFilter {
  readonly status?: ShownStatus;
  readonly type?: string;
  readonly endpoint?: string;
  /** Event ids. */
  readonly events?: readonly string[];
  /** The error of the delivery's last attempt. */
  readonly error?: AttemptError;
  /** The status code of the delivery's last attempt, including both ends. */
  readonly statusCode?: { readonly least: number; readonly most: number };
  /** The time at which the event was received. `until` is exclusive. */
  readonly since?: number;
  readonly until?: number;
  readonly test: boolean;
  /** Selects events of the types that `endpoint` chose but for which it has no delivery. */
  readonly missing: boolean;
}

export interface NewJob {
  readonly id: string;
  /** Null for every tenant's deliveries. */
  readonly tenant: string | null;
  readonly action: JobAction;
  readonly filter: JobFilter;
  /** The limit for each endpoint. */
  readonly ratePerSecond: number;
  /** True to try the first delivery of each endpoint alone. A failure pauses the job. */
  readonly canary: boolean;
  readonly reason: string;
}

export interface JobCounts {
  readonly matched: number;
  /** Delivered, failed or cancelled. In the end, `done` and `skipped` add up to `matched`. */
  readonly done: number;
  readonly delivered: number;
  /** A replay is judged by its first attempt. Its retries go on without the job. */
  readonly failed: number;
  /** Deliveries that no longer qualified when their turn came. */
  readonly skipped: number;
}

export interface Job extends NewJob, JobCounts {
  readonly status: JobStatus;
  /** Null unless the job paused itself. */
  readonly pausedReason: string | null;
  readonly createdAt: number;
  /** Null while it runs or is paused. */
  readonly endedAt: number | null;
}

/** The job's counts at one endpoint. */
export interface JobResult extends JobCounts {
  readonly endpoint: string;
}

/**
 * Returns the statuses that a job with this filter looks for, or null if the action does not apply to the status that
 * the filter names.
 */
export function statusesOf(action: JobAction, status: ShownStatus | undefined): readonly ShownStatus[] | null {
  const choices = STATUSES[action];
  if (status === undefined) return choices[0]!;
  return choices.find((choice) => choice.length === 1 && choice[0] === status) ?? null;
}

/** Returns the statuses that a filter for this action may name. */
export function namedStatuses(action: JobAction): readonly ShownStatus[] {
  return STATUSES[action].flatMap((choice) => (choice.length === 1 ? choice : []));
}

/**
 * True if the job is limited to an endpoint, or to one tenant plus a further condition. Without that, a slip could end
 * everybody's deliveries.
 */
export function isNarrow({ tenant, filter }: Pick<NewJob, "tenant" | "filter">): boolean {
  const { status: _, test: _test, missing: _missing, ...words } = filter;
  if (filter.endpoint !== undefined) return true;
  return tenant !== null && Object.values(words).some((word) => word !== undefined);
}
