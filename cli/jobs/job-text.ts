import type { Job, WholeJob } from "../../src/client/operations.ts";
import { bar, type Glyphs } from "../output/glyphs.ts";
import { ago, count, grouped, span } from "../output/words.ts";

const BAR = 16;
/** The number of endpoints that are named. */
const NAMED = 20;

/** Returns the job's progress on one line. */
export function progressOf(job: Job, glyphs: Glyphs): string {
  const { id, matched, skipped, status } = job;
  const gone = job.done + skipped;
  const state = status === "running" ? "" : `, ${status}`;
  return `${id}  ${bar(glyphs, gone, matched, BAR)}  ${grouped(gone)}/${grouped(matched)}  ${countsOf(job, job.action)}${state}`;
}

type Counts = Pick<Job, "done" | "delivered" | "failed" | "skipped">;

function countsOf({ done, delivered, failed, skipped }: Counts, action: Job["action"]): string {
  const counts =
    action === "cancel"
      ? [`${grouped(done)} cancelled`]
      : [`${grouped(delivered)} delivered`, `${grouped(failed)} failed`];
  return [...counts, ...(skipped === 0 ? [] : [`${grouped(skipped)} skipped`])].join(", ");
}

/** Returns the job's result, and what to type next about the remaining deliveries. */
export function resultOf(job: Job): string[] {
  const { id, status, failed, paused_reason: pausedItself } = job;
  const what = status === "paused" && pausedItself !== null ? `paused itself because ${pausedItself}` : status;
  return [
    `${id} ${what}${job.ended_at === null ? "" : ` in ${lasted(job)}`}: ${countsOf(job, job.action)} of ${grouped(job.matched)}.`,
    ...(status === "paused"
      ? [pausedItself === null ? `To resume it: webhookd jobs resume ${id}.` : howToResume(id)]
      : []),
    ...(status === "paused" ? [`To give up: webhookd jobs cancel ${id}.`] : []),
    ...(failed === 0 ? [] : [failedHint(job)]),
  ];
}

export function jobLines(job: WholeJob, glyphs: Glyphs, now: number): string[] {
  const { id, action, status, matched, done, skipped, rate_per_second: pace, canary } = job;
  const gone = done + skipped;
  const made = job.reason === "" ? "" : `: ${job.reason}`;
  return [
    `${id}  ${action}  ${status}`,
    ...(job.paused_reason === null ? [] : [`  paused    itself because ${job.paused_reason}`]),
    `  progress  ${bar(glyphs, gone, matched, BAR)}  ${grouped(gone)} of ${count(matched, "delivery", "deliveries")}`,
    `  counts    ${countsOf(job, action)}`,
    ...job.endpoints
      .slice(0, NAMED)
      .map((one) => `    ${one.endpoint}  ${countsOf(one, action)} of ${grouped(one.matched)}`),
    ...(job.endpoints.length > NAMED ? ["    and more endpoints; --json shows 100 of them"] : []),
    `  filter    ${filterText(job.filter)}`,
    `  pace      ${pace}/s per endpoint${canary ? ", after a canary" : ""}`,
    `  created   ${job.created_at}, ${ago(job.created_at, now)}${made}`,
    ...(job.ended_at === null ? [] : [`  ended     ${job.ended_at}, after ${lasted(job)}`]),
    ...(job.failed === 0 ? [] : [`  failed    ${failedHint(job)}`]),
    ...nextOf(job),
  ];
}

function lasted({ created_at: from, ended_at: to }: Job): string {
  return span((Date.parse(to!) - Date.parse(from)) / 1000);
}

function nextOf({ id, status, paused_reason: pausedItself }: Job): string[] {
  if (status === "running") return [`  next      webhookd jobs pause ${id}`];
  if (status !== "paused") return [];
  const resume = `webhookd jobs resume ${id}${pausedItself === null ? "" : " --canary"}`;
  return [`  next      ${resume}, or webhookd jobs cancel ${id}`];
}

/** Returns the command that resumes a job whose canary failed. */
export function howToResume(id: string): string {
  return `To try one more: webhookd jobs resume ${id} --canary. To send the rest: webhookd jobs resume ${id} --send-all.`;
}

/** A delivery that failed once is pending again until the ladder ends, so searching by status does not find it. */
function failedHint({ filter }: Job): string {
  const flags = ["endpoint", "since"].flatMap((flag) =>
    filter[flag] === undefined ? [] : [`--${flag} ${String(filter[flag])}`],
  );
  return `Failed attempts are retried on the ladder. To see why they failed: webhookd failures ${flags.join(" ")}`.trimEnd();
}

/** Writes the filter in the syntax of `--filter`. */
export function filterText(filter: Job["filter"]): string {
  const events = Array.isArray(filter.events) ? [`${count(filter.events.length, "event", "events")} by id`] : [];
  return [...events, ...filterWords(filter)].join(" ") || "everything";
}

function filterWords(filter: Job["filter"]): string[] {
  return Object.entries(filter).flatMap(([word, value]) => (word === "events" ? [] : [`${word}:${String(value)}`]));
}
