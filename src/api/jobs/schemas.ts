/** The schemas of jobs as callers see them (`docs/interface.md` §7), and of the requests that steer them. */
import { EVERY_TENANT } from "../../domain/id.ts";
import * as v from "valibot";
import { formatInstant, formatInstantOrNull } from "../../domain/time/instant.ts";
import { JOB_ACTIONS, JOB_STATUSES, type JobFilter, type Job as StoredJob } from "../../domain/deliveries/job.ts";
import { type Principal } from "../pipeline/access.ts";
import { statusCodesText } from "../pipeline/lists.ts";
import type { Operation } from "../pipeline/route.ts";
import { Count, described, id, Instant, pageSchema, titled, aPageOf } from "../pipeline/shapes.ts";
import { aJobDraft } from "./draft.ts";

export const Job = titled(
  "Job",
  v.object({
    id: id("job"),
    tenant: described(v.string(), "The tenant whose deliveries it works on, or `*` for every tenant."),
    action: v.picklist(JOB_ACTIONS),
    status: v.picklist(JOB_STATUSES),
    filter: described(v.looseObject({}), "The filter as it was requested."),
    matched: described(Count, "How many deliveries the set had when the job was created."),
    done: described(Count, "Delivered, failed or cancelled. In the end `done` and `skipped` add up to `matched`."),
    delivered: Count,
    failed: described(Count, "Counted by the job's own attempts; the retries of a replay follow the ladder."),
    skipped: described(Count, "Deliveries that no longer qualified when their turn came."),
    rate_per_second: described(v.number(), "How many deliveries per second to each endpoint."),
    canary: v.boolean(),
    reason: v.string(),
    paused_reason: described(v.nullable(v.string()), "Why the job paused itself; null if it did not."),
    created_at: Instant,
    ended_at: described(v.nullable(Instant), "Null while the job is running or paused."),
  }),
);

const JobResult = v.object({
  endpoint: id("ep"),
  matched: Count,
  done: Count,
  delivered: Count,
  failed: Count,
  skipped: Count,
});

/** A job shown by itself, not in a list. */
export const WholeJob = titled(
  "WholeJob",
  v.object({
    ...Job.entries,
    endpoints: described(v.array(JobResult), "The counts for each endpoint: at most 100, the largest first."),
  }),
);

export const JobPage = pageSchema(Job);

export const JobPlan = titled(
  "JobPlan",
  v.object({
    action: v.picklist(JOB_ACTIONS),
    matched: described(Count, "The number to pass as `expect`."),
    timed_out: described(
      Count,
      "How many of them timed out at their last attempt, so the receiver may have handled them.",
    ),
    eta_seconds: described(Count, "How long the job takes at this pace."),
    endpoints: v.array(v.object({ endpoint: id("ep"), matched: Count, timed_out: Count })),
    left_alone: described(
      v.array(
        v.object({
          endpoint: id("ep"),
          deliveries: Count,
          reason: v.picklist(["endpoint_disabled", "endpoint_deleted"]),
        }),
      ),
      "Deliveries that match the filter but cannot be sent now.",
    ),
  }),
);

export const aJob = {
  id: "job_06fbqxvy4r2s4t6v8w0x2y4z60",
  tenant: "default",
  action: "replay",
  status: "running",
  filter: { status: "failed", status_code: "5xx", since: "2026-11-20T07:55:00.000Z" },
  matched: 441,
  done: 120,
  delivered: 118,
  failed: 2,
  skipped: 1,
  rate_per_second: 20,
  canary: true,
  reason: "the receiver's database is back",
  paused_reason: null,
  created_at: "2026-11-20T09:55:00.123Z",
  ended_at: null,
};

export const aWholeJob = {
  ...aJob,
  endpoints: [
    { endpoint: "ep_06fbqxvx8r4m8q2v6ng0c3kz7t", matched: 390, done: 80, delivered: 78, failed: 2, skipped: 1 },
    { endpoint: "ep_06fbqxvx9r4m8q2v6ng0c3kz7t", matched: 51, done: 40, delivered: 40, failed: 0, skipped: 0 },
  ],
};

export const aJobPlan = {
  action: "replay",
  matched: 441,
  timed_out: 38,
  eta_seconds: 20,
  endpoints: [
    { endpoint: "ep_06fbqxvx8r4m8q2v6ng0c3kz7t", matched: 390, timed_out: 38 },
    { endpoint: "ep_06fbqxvx9r4m8q2v6ng0c3kz7t", matched: 51, timed_out: 0 },
  ],
  left_alone: [],
};

/** Leaves `reason` out for portal customers: like a tag, it may be an operator's note. */
export function presentJob(job: StoredJob, { isPortal }: Pick<Principal, "isPortal">) {
  return {
    id: job.id,
    tenant: job.tenant ?? EVERY_TENANT,
    action: job.action,
    status: job.status,
    filter: presentFilter(job.filter),
    matched: job.matched,
    done: job.done,
    delivered: job.delivered,
    failed: job.failed,
    skipped: job.skipped,
    rate_per_second: job.ratePerSecond,
    canary: job.canary,
    reason: isPortal ? "" : job.reason,
    paused_reason: job.pausedReason,
    created_at: formatInstant(job.createdAt),
    ended_at: formatInstantOrNull(job.endedAt),
  };
}

/** Shows the filter as it was requested, without the fields that were left out. */
function presentFilter({ statusCode, since, until, test, missing, ...rest }: JobFilter) {
  return {
    ...rest,
    ...(statusCode !== undefined && { status_code: statusCodesText(statusCode) }),
    ...(since !== undefined && { since: formatInstant(since) }),
    ...(until !== undefined && { until: formatInstant(until) }),
    ...(test && { test }),
    ...(missing && { missing }),
  };
}

const params = { id: "job" };
const theJob = (description: string) => ({ description, schema: Job, example: aJob });

export const createJob: Operation = {
  id: "createJob",
  tag: "Jobs",
  summary: "Act on many deliveries",
  description:
    "The set is fixed before the answer: later deliveries are not in it, and deliveries that no longer qualify when their turn comes are skipped. `dry_run` shows the set first; `expect` refuses a set of a different size. The pace applies to each endpoint, and new events never wait behind a job. A job survives a restart and repeats only what was on the wire.",
  example: aJobDraft,
  replies: {
    200: { description: "What the job would work on. Nothing was changed.", schema: JobPlan, example: aJobPlan },
    202: { ...theJob("The job is running."), headers: ["location"] },
  },
  problems: ["plan_changed"],
};

export const listJobs: Operation = {
  id: "listJobs",
  tag: "Jobs",
  summary: "List jobs",
  description: "Newest first, with the counts of each. Jobs that have ended stay listed for as long as they are kept.",
  replies: { 200: { description: "A page of jobs.", schema: JobPage, example: aPageOf(aJob), headers: ["link"] } },
};

export const getJob: Operation = {
  id: "getJob",
  tag: "Jobs",
  summary: "Get a job",
  description: "With its counts by endpoint, and what became of the canaries.",
  params,
  replies: { 200: { description: "The job.", schema: WholeJob, example: aWholeJob } },
};

export const pauseJob: Operation = {
  id: "pauseJob",
  tag: "Jobs",
  summary: "Pause a job",
  description: "The job starts no more deliveries. Those that it has already released are still attempted.",
  params,
  replies: { 200: theJob("The job was paused.") },
  problems: ["job_ended"],
};

export const resumeJob: Operation = {
  id: "resumeJob",
  tag: "Jobs",
  summary: "Resume a paused job",
  description:
    "If its canary failed, the body must say how to continue: with another canary, or with all that is left. For any other job the body makes no difference.",
  params,
  example: { canary: true },
  replies: { 200: theJob("The job is running.") },
  problems: ["canary_failed", "job_ended"],
};

export const cancelJob: Operation = {
  id: "cancelJob",
  tag: "Jobs",
  summary: "Cancel a job",
  description:
    "Deliveries that the job has not started stay as they are. Those that it has replayed stay on their ladder.",
  params,
  replies: { 200: theJob("The job was cancelled.") },
  problems: ["job_ended"],
};
