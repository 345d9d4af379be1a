/** Keys that pause, resume and cancel a job. The job continues without this dashboard. */
import type { Job } from "../../src/client/operations.ts";
import { countText, shortId } from "../draw/numbers.ts";
import type { State, Step } from "../model/state.ts";
import { perform } from "../state/acts.ts";
import { jobAction } from "../state/jobs.ts";
import { resumeForm } from "../state/dialogs/forms.ts";
import { selectedRow } from "../state/lists/paged-list.ts";
import { here } from "../state/lists/places.ts";
import { only, type Binding } from "./binding.ts";
import { ask, hold } from "./subject.ts";
import { KEY } from "./names.ts";

export const JOBS: readonly Binding[] = [
  {
    keys: [KEY.pauseJob],
    show: KEY.pauseJob,
    label: "pause job",
    help: "pause the selected job, or resume it",
    on: ["activity"],
    footer: 40,
    acts: true,
    off: whyNotSteered,
    run: pauseOrResume,
  },
  {
    keys: ["x"],
    show: "x",
    label: "cancel job",
    help: "cancel the selected job, without undoing what it has done",
    on: ["activity"],
    footer: 41,
    acts: true,
    off: whyNotSteered,
    run: (state) => only(ask(hold(state), cancelDialog(selectedJob(state)!))),
  },
];

function selectedJob(state: State): Job | null {
  const place = here(state);
  const row = place.kind === "activity" ? selectedRow(place.list) : null;
  return row !== null && "matched" in row ? row : null;
}

function whyNotSteered(state: State): string | null {
  const job = selectedJob(state);
  if (job === null) return "this row is not a job; jobs are at the top";
  if (job.ended_at !== null) return `the job is ${job.status}`;
  return state.acts.some(({ request }) => request.ask.id === job.id) ? "this was already requested" : null;
}

function pauseOrResume(state: State): Step {
  const job = selectedJob(state)!;
  const { id, status } = job;
  if (status === "paused" && job.paused_reason !== null) return only(ask(hold(state), resumeForm(job)));
  const [operation, verb] = status === "paused" ? (["resumeJob", "resume"] as const) : (["pauseJob", "pause"] as const);
  return perform(hold(state), { label: `${verb} ${shortId(id)}`, request: { operation, ask: { id } }, event: null });
}

function cancelDialog(job: Job) {
  const { id, done, skipped, matched } = job;
  const left = Math.max(0, matched - done - skipped);
  return {
    kind: "confirm",
    title: "Cancel job",
    facts: [
      `${id}, ${jobAction(job)} of ${countText(matched)}`,
      "",
      `The remaining ${countText(left)} are not touched. Events that were already sent cannot be recalled.`,
    ],
    yes: "cancel the job",
    act: { label: `cancel ${shortId(id)}`, request: { operation: "cancelJob", ask: { id } }, event: null },
  } as const;
}
