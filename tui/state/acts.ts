/**
 * Sends the requests that change something in the daemon. An act keeps what it was requested for, and has an
 * idempotency key. If the daemon goes away before it responds, the act is sent again under the same key, so it is
 * neither lost nor done twice.
 */
import type { AttemptChange } from "../../src/client/stream.ts";
import { tookText } from "../draw/numbers.ts";
import type { Act, ActDraft, Answered, Call, Problem } from "../model/call.ts";
import type { Effect, State, Step } from "../model/state.ts";
import { knownAfter, outcomeOf } from "./act-answers.ts";
import { closeForm, refuseForm } from "./dialogs/form-answers.ts";
import { planAnswered, planFailed } from "./dialogs/plan-answers.ts";
import { readAnew } from "./lists/paged-list.ts";
import { changePlaces } from "./lists/places.ts";
import { toast } from "./toast.ts";

/** Returns why no act is possible now, or null. */
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

/** Records that the daemon completed the act. If the stream may report its result later, the act stays until then. */
export function actAnswered(state: State, key: string, answered: Answered): State {
  const act = state.acts.find((one) => one.key === key);
  if (act === undefined) return state;
  const isAwaited = act.event !== null;
  const acts = isAwaited
    ? state.acts.map((one) => (one === act ? { ...one, phase: "done" as const, at: state.now } : one))
    : state.acts.filter((one) => one !== act);
  const said = outcomeOf(answered);
  const known = knownAfter(state.known, answered, state.now);
  const made = answered.call.operation === "createJob" ? withActivityAtTop(state) : state;
  const closed = closeForm(planAnswered({ ...made, acts, known, actedAt: state.now }, key), key, answered);
  return toast(closed, `${act.label}: ${said.text}`, said.tone);
}

/** The message says "press 5 to see or stop it", so the job must be the first row there, wherever the cursor was. */
function withActivityAtTop(state: State): State {
  return changePlaces(state, (place) =>
    place.kind === "activity"
      ? { ...place, list: { ...readAnew(place.list, { follow: true }), selected: null, index: 0, top: 0 } }
      : place,
  );
}

export function actFailed(state: State, key: string, problem: Problem): State {
  const { failure, code, message, hint } = problem;
  const act = state.acts.find((one) => one.key === key);
  if (act === undefined) return state;
  const { tries } = act;
  if (failure === "unreachable" || code === "shutting_down") {
    const acts = state.acts.map((one) => (one === act ? { ...one, phase: "waiting" as const, at: state.now } : one));
    return toast(
      planAnswered({ ...state, acts }, key),
      `${act.label}: no answer; it will be sent again when the daemon is back`,
      "bad",
    );
  }
  const acts = state.acts.filter((one) => one !== act);
  const inDialog = planFailed({ ...state, acts, toast: null }, key, problem);
  if (inDialog !== null) return inDialog;
  const refused = refuseForm({ ...state, acts, toast: null }, key, problem);
  // The form shows the problem at its field.
  if (tries === 1 && refused.modes.some((mode, at) => mode !== state.modes[at])) return refused;
  return toast(
    refused,
    [`${act.label}: ${message}`, hint].filter((part) => part !== "").join(". ") + doubt(act, failure),
    "bad",
  );
}

/** Takes attempts that show the result of an act. */
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
        : `${answer}; ${attempt.next_attempt_at === null ? "failed" : "retries continue"}`;
    const acts = next.acts.filter((one) => one !== act);
    next = toast({ ...next, acts }, `${act.label}: ${how}`, outcome === "succeeded" ? "good" : "bad");
  }
  return next;
}

/**
 * The longest wait for the attempt that shows an act's result. Sending may be paused, or the stream may only have
 * counted the attempt.
 */
const PATIENCE_MS = 60_000;

/** Sends waiting acts again, under the same idempotency keys, and drops acts whose result never came. */
export function resendActs(state: State): Step {
  const waiting = state.acts.filter(({ phase }) => phase === "waiting");
  const isOver = ({ phase, at }: Act) => phase === "done" && state.now - at >= PATIENCE_MS;
  const over = state.acts.find(isOver);
  if (waiting.length === 0 && over === undefined) return { state, effects: [] };
  const acts = state.acts
    .filter((act) => !isOver(act))
    .map((act) => (waiting.includes(act) ? { ...act, phase: "sent" as const, tries: act.tries + 1 } : act));
  const next = { ...state, acts };
  return {
    state: over === undefined ? next : toast(next, `${over.label}: no attempt within a minute; look at the event`),
    effects: waiting.map(({ call }): Effect => ({ do: "call", call })),
  };
}

/** Explains the refusal of an act that was sent before, and whose first response was lost. */
export function doubt({ tries, event }: Act, failure: string): string {
  if (tries < 2 || (failure !== "conflict" && failure !== "not_found")) return "";
  return `; the answer was lost, but it may have been done: look at ${event === null ? "5 Activity" : "the event"}`;
}
