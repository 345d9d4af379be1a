/** Tracks the jobs that the dashboard knows: running jobs are read each second, and their results are shown. */
import type { Job } from "../../src/client/operations.ts";
import { countText, shortId } from "../draw/numbers.ts";
import type { Known } from "../model/known.ts";
import type { State } from "../model/state.ts";
import { toast } from "./toast.ts";

export function hasRunningJob({ jobs }: Known): boolean {
  return jobs?.value.some(({ status }) => status === "running") ?? false;
}

/** Returns the newest running job, or else the newest paused one. */
export function openJob({ jobs }: Known): Job | null {
  const newest = (status: Job["status"]) => jobs?.value.find((job) => job.status === status);
  return newest("running") ?? newest("paused") ?? null;
}

/** Describes what a job does, in a word or two. */
export function jobAction({ action, filter }: Pick<Job, "action" | "filter">): string {
  return filter["missing"] === true ? "back-fill" : action.replaceAll("_", " ");
}

/** Stores a job as it is now, without waiting until jobs are read again. */
export function withJob(known: Known, job: Job, now: number): Known {
  const before = known.jobs?.value ?? [];
  const value = before.some(({ id }) => id === job.id)
    ? before.map((one) => (one.id === job.id ? job : one))
    : [job, ...before];
  return { ...known, jobs: { value, at: known.jobs?.at ?? now, stale: true } };
}

/** Shows the result of a job that was running before. */
export function tellJobs(before: State, after: State): State {
  if (before.known.jobs === after.known.jobs || before.known.jobs === null) return after;
  const ran = new Set(before.known.jobs.value.filter(({ status }) => status === "running").map(({ id }) => id));
  const ended = after.known.jobs?.value.find(({ id, status }) => ran.has(id) && status !== "running");
  if (ended === undefined) return after;
  return toast(after, resultText(ended), ended.status === "done" && ended.failed === 0 ? "good" : "bad");
}

function resultText(job: Job): string {
  const { id, action, status, done, delivered, failed, skipped, paused_reason: why } = job;
  const counts = [
    ...(action === "cancel"
      ? [`${countText(done)} cancelled`]
      : [`${countText(delivered)} delivered`, `${countText(failed)} failed`]),
    ...(skipped === 0 ? [] : [`${countText(skipped)} skipped`]),
  ];
  // The message must fit into 80 columns, and the endpoint is named where the job is resumed.
  if (status === "paused" && why !== null) {
    return `${shortId(id)} paused itself: ${why.replace(/ to ep_[0-9a-z]{26}\b/, "")}; ${counts.join(", ")}`;
  }
  return `${jobAction(job)} ${shortId(id)} ${status}; ${counts.join(", ")}`;
}
