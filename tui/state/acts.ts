/**
 * What changes something at the daemon. An act is pinned to what it was asked for, sent under an idempotency key, and
 * sent again under the same one when the daemon went away before it answered: it is neither lost nor done twice.
 */
import type { Job } from "../../src/client/answers.ts";
import type { AttemptChange } from "../../src/client/stream.ts";
import { tookText } from "../draw/numbers.ts";
import type { ActDraft, Answered, Call, Problem, State, Step } from "../model.ts";
import { brakeKnown } from "./brake.ts";
import { closeForm, refuseForm } from "./form-answers.ts";
import { withJob } from "./jobs.ts";
import { outcomeOf } from "./outcomes.ts";
import { planAnswered, planFailed } from "./plan-answers.ts";
import { rotationKnown } from "./rotations.ts";
import { doubt } from "./tend.ts";
import { toast } from "./toast.ts";

/** Why no act can be asked for now; null when one can. */
export function whyNoActs({ settings, link }: State): string | null {
  if (settings.readOnly) return "this dashboard is read-only";
  return link.kind === "live" ? null : "actions are off until the daemon answers";
}

export function perform(state: State, draft: ActDraft): Step {
  const why = whyNoActs(state);
  if (why !== null) return { state: toast(state, why, "bad"), effects: [] };
  const key = `${state.settings.session}-${state.counter}`;
  const { operation, ask } = draft.request;
  const call = { operation, ask: { ...ask, idempotencyKey: key }, about: { for: "act", key } } as Call;
  const acts = [...state.acts, { ...draft, call, key, phase: "sent" as const, at: state.now, tries: 1 }];
  const next = toast({ ...state, acts, counter: state.counter + 1 }, `${draft.label}: asked`, "plain");
  return { state: next, effects: [{ do: "call", call }] };
}

/** The daemon did it. What comes of it may be told by the stream later: then the act stays until then. */
export function actAnswered(state: State, key: string, answered: Answered): State {
  const act = state.acts.find((one) => one.key === key);
  if (act === undefined) return state;
  const isAwaited = act.event !== null;
  const acts = isAwaited
    ? state.acts.map((one) => (one === act ? { ...one, phase: "done" as const, at: state.now } : one))
    : state.acts.filter((one) => one !== act);
  const said = outcomeOf(answered);
  const known = JOB_ANSWERS.has(answered.call.operation)
    ? withJob(state.known, answered.answer as Job, state.now)
    : brakeKnown(rotationKnown(state.known, answered), answered);
  const closed = closeForm(planAnswered({ ...state, acts, known }, key), key, answered);
  return toast(closed, `${act.label}: ${said.text}`, said.tone);
}

/** These answer with the job as it is by then. */
const JOB_ANSWERS: ReadonlySet<string> = new Set(["createJob", "pauseJob", "resumeJob", "cancelJob"]);

export function actFailed(state: State, key: string, problem: Problem): State {
  const { failure, code, message, hint } = problem;
  const act = state.acts.find((one) => one.key === key);
  if (act === undefined) return state;
  if (failure === "unreachable" || code === "shutting_down") {
    const acts = state.acts.map((one) => (one === act ? { ...one, phase: "waiting" as const, at: state.now } : one));
    return toast(
      planAnswered({ ...state, acts }, key),
      `${act.label}: no answer; sent again when the daemon is back`,
      "bad",
    );
  }
  const acts = state.acts.filter((one) => one !== act);
  const inDialog = planFailed({ ...state, acts, toast: null }, key, problem);
  if (inDialog !== null) return inDialog;
  const told = refuseForm({ ...state, acts }, key, problem);
  return toast(
    told,
    [`${act.label}: ${message}`, hint].filter((part) => part !== "").join(". ") + doubt(act, failure),
    "bad",
  );
}

/** Attempts that tell how an act went. */
export function actsSeen(state: State, attempts: readonly AttemptChange[]): State {
  let next = state;
  for (const attempt of attempts) {
    const act = next.acts.find(
      ({ event, delivery = attempt.delivery, phase }) =>
        phase === "done" && event === attempt.event && delivery === attempt.delivery,
    );
    if (act === undefined) continue;
    const { outcome, status_code, error, duration_ms } = attempt;
    const answer = `${status_code ?? error ?? outcome} in ${tookText(duration_ms)}`;
    const how =
      outcome === "succeeded"
        ? `delivered, ${answer}`
        : `${answer}; ${attempt.next_attempt_at === null ? "failed" : "retries go on"}`;
    const acts = next.acts.filter((one) => one !== act);
    next = toast({ ...next, acts }, `${act.label}: ${how}`, outcome === "succeeded" ? "good" : "bad");
  }
  return next;
}
