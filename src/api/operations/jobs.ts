import type { Operation } from "../operation.ts";
import { aJob, aJobDraft, aJobPlan, aWholeJob, Job, JobPage, JobPlan, WholeJob } from "../schemas/job.ts";
import { aPageOf } from "../schemas/wire.ts";

const params = { id: "job" };
const theJob = (description: string) => ({ description, schema: Job, example: aJob });

export const createJob: Operation = {
  id: "createJob",
  tag: "Jobs",
  summary: "Act on many deliveries",
  description:
    "The set is written down before the answer: what comes later is not in it, and what no longer qualifies when its " +
    "turn comes is skipped. `dry_run` shows it first, `expect` refuses a set of another size. The pace is kept for each " +
    "endpoint, and fresh events never wait behind a job. A job survives a restart and does nothing twice but what was " +
    "on the wire.",
  example: aJobDraft,
  replies: {
    200: { description: "What the job would be about: nothing was changed.", schema: JobPlan, example: aJobPlan },
    202: { ...theJob("It runs."), headers: ["location"] },
  },
  problems: ["plan_changed"],
};

export const listJobs: Operation = {
  id: "listJobs",
  tag: "Jobs",
  summary: "List jobs",
  replies: { 200: { description: "A page of them.", schema: JobPage, example: aPageOf(aJob), headers: ["link"] } },
};

export const getJob: Operation = {
  id: "getJob",
  tag: "Jobs",
  summary: "Look at one job",
  params,
  replies: { 200: { description: "The job.", schema: WholeJob, example: aWholeJob } },
};

export const pauseJob: Operation = {
  id: "pauseJob",
  tag: "Jobs",
  summary: "Pause a job",
  description: "It takes up no further delivery. What it has released is attempted.",
  params,
  replies: { 200: theJob("It is paused.") },
  problems: ["job_ended"],
};

export const resumeJob: Operation = {
  id: "resumeJob",
  tag: "Jobs",
  summary: "Let a paused job go on",
  description:
    "A job whose canary failed needs a body that says how it goes on: another canary, or all that is left. Of any other " +
    "job the body changes nothing.",
  params,
  example: { canary: true },
  replies: { 200: theJob("It runs.") },
  problems: ["canary_failed", "job_ended"],
};

export const cancelJob: Operation = {
  id: "cancelJob",
  tag: "Jobs",
  summary: "End a job",
  description: "What it has not taken up stays as it is. Deliveries that it has replayed go on by their ladder.",
  params,
  replies: { 200: theJob("It is cancelled.") },
  problems: ["job_ended"],
};
