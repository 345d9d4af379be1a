/**
 * A job: one action over a set of deliveries that is written down when the job is made, so that nothing which comes
 * later gets into it. Each delivery is looked at again when its turn comes, and skipped if it no longer qualifies.
 *
 *   running ⇄ paused      (an operator, or a canary that failed: then it goes on only when `AfterCanary` is said)
 *      │         └──────► cancelled
 *      └──► done | cancelled
 */
import type { AttemptError } from "./attempt.ts";
import type { ShownStatus } from "./delivery.ts";

export const JOB_ACTIONS = ["replay", "attempt_now", "cancel"] as const;
export type JobAction = (typeof JOB_ACTIONS)[number];

export const JOB_STATUSES = ["running", "paused", "done", "cancelled"] as const;
export type JobStatus = (typeof JOB_STATUSES)[number];

/** After a canary that failed: another one first, or all that is left at once. */
export type AfterCanary = "canary" | "send_all";

/** What an action may be done to; without a status in the filter, to the first ones. */
const STATUSES: Readonly<Record<JobAction, readonly (readonly ShownStatus[])[]>> = {
  replay: [["failed"], ["delivered"]],
  attempt_now: [["pending"], ["failed"]],
  cancel: [["pending", "held"], ["pending"], ["held"]],
};

/** The lists' filter (`docs/interface.md` §2), with some events by name, or what an endpoint never had. */
export interface JobFilter {
  readonly status?: ShownStatus;
  readonly type?: string;
  readonly endpoint?: string;
  /** Ids. */
  readonly events?: readonly string[];
  /** Of the delivery's last attempt. */
  readonly error?: AttemptError;
  /** Of the delivery's last attempt; both ends included. */
  readonly statusCode?: { readonly least: number; readonly most: number };
  /** When the event was received; `until` is exclusive. */
  readonly since?: number;
  readonly until?: number;
  readonly test: boolean;
  /** Events of the types that `endpoint` chose, and of which it has no delivery. */
  readonly missing: boolean;
}

export interface NewJob {
  readonly id: string;
  /** Null for every tenant's deliveries. */
  readonly tenant: string | null;
  readonly action: JobAction;
  readonly filter: JobFilter;
  /** For each endpoint. */
  readonly ratePerSecond: number;
  /** The first delivery of each endpoint is tried alone; a failure pauses the job. */
  readonly canary: boolean;
  readonly reason: string;
}

export interface JobCounts {
  readonly matched: number;
  /** Delivered, failed or cancelled: with what was skipped, all that matched in the end. */
  readonly done: number;
  readonly delivered: number;
  /** Of a replay, by its first attempt: its retries go on without the job. */
  readonly failed: number;
  /** What no longer qualified when its turn came. */
  readonly skipped: number;
}

export interface Job extends NewJob, JobCounts {
  readonly status: JobStatus;
  /** Null unless it paused itself. */
  readonly pausedReason: string | null;
  readonly createdAt: number;
  /** Null while it runs or is paused. */
  readonly endedAt: number | null;
}

/** What it came to at one endpoint. */
export interface JobResult extends JobCounts {
  readonly endpoint: string;
}

/** The statuses that a job of this filter looks for; null when the action cannot be done to the one it names. */
export function statusesOf(action: JobAction, status: ShownStatus | undefined): readonly ShownStatus[] | null {
  const choices = STATUSES[action];
  if (status === undefined) return choices[0]!;
  return choices.find((choice) => choice.length === 1 && choice[0] === status) ?? null;
}

/** The statuses that a filter for this action may name. */
export function namedStatuses(action: JobAction): readonly ShownStatus[] {
  return STATUSES[action].flatMap((choice) => (choice.length === 1 ? choice : []));
}

/** Whether it holds what one tenant alone has, and not simply all that is open: else a slip ends everybody's deliveries. */
export function isNarrow({ tenant, filter }: Pick<NewJob, "tenant" | "filter">): boolean {
  const { status: _, test: _test, missing: _missing, ...words } = filter;
  if (filter.endpoint !== undefined) return true;
  return tenant !== null && Object.values(words).some((word) => word !== undefined);
}
