/** Keys that replay one delivery, and keys that act on many by a plan. */
import type { Dialog } from "../model/dialog.ts";
import { shortId } from "../draw/numbers.ts";
import type { Request } from "../model/call.ts";
import type { State, Step } from "../model/state.ts";
import { openPlan } from "../state/dialogs/plan.ts";
import { jobSetHere, missingSetHere, type Many } from "../state/job-set.ts";
import { only, type Binding } from "./binding.ts";
import { ask, hold, subject, type Subject } from "./subject.ts";
import { KEY } from "./names.ts";

const MANY = ["events", "deliveries", "endpoint", "endpoints", "failures", "overview"] as const;
const replayable = (state: State) => jobSetHere(state, "replay");
const triable = (state: State) => jobSetHere(state, "attempt_now");
const cancellable = (state: State) => jobSetHere(state, "cancel");

export const REPLAYS: readonly Binding[] = [
  {
    keys: [KEY.replay],
    show: KEY.replay,
    label: "replay",
    help: "replay this event: its failed deliveries start over",
    on: ["events", "deliveries", "endpoint", "event"],
    footer: 40,
    acts: true,
    off: whyNoReplay,
    run: (state) => only(ask(hold(state), replayDialog(state, subject(state)!))),
  },
  {
    keys: [KEY.replayMany],
    show: KEY.replayMany,
    label: "many",
    help: "replay the marked rows, or everything listed that failed; shows the plan first",
    on: MANY,
    footer: 41,
    acts: true,
    off: whyNot(replayable),
    run: plan(replayable),
  },
  {
    keys: ["c"],
    show: "c",
    label: "canary",
    help: "replay this group with a canary: one first, the rest if it is delivered",
    on: ["failures", "overview"],
    footer: 40,
    acts: true,
    off: whyNot(replayable),
    run: plan(replayable, { canary: true }),
  },
  {
    keys: [KEY.tryMany],
    show: KEY.tryMany,
    label: "try all now",
    help: "try the marked rows now, or everything listed that is waiting for a retry; shows the plan first",
    on: MANY,
    footer: 56,
    acts: true,
    off: whyNot(triable),
    run: plan(triable),
  },
  {
    keys: [KEY.cancelMany],
    show: KEY.cancelMany,
    label: "cancel many",
    help: "cancel the marked rows, or everything listed that is waiting; shows the plan first",
    on: MANY,
    footer: 52,
    acts: true,
    off: whyNot(cancellable),
    run: plan(cancellable),
  },
  {
    keys: ["M"],
    show: "M",
    label: "back-fill",
    help: "send this endpoint the events of its types that it never got; shows the plan first",
    on: ["endpoints", "endpoint"],
    footer: 53,
    acts: true,
    off: whyNot(missingSetHere),
    run: plan(missingSetHere),
  },
];

function whyNot(find: (state: State) => Many | string): (state: State) => string | null {
  return (state) => {
    const found = find(state);
    return typeof found === "string" ? found : null;
  };
}

function plan(find: (state: State) => Many | string, { canary = false } = {}): (state: State) => Step {
  return (state) => {
    const found = find(state);
    return only(typeof found === "string" ? state : openPlan(hold(state), { ...found, canary }));
  };
}

function whyNoReplay(state: State): string | null {
  const about = subject(state);
  if (about === null) return "no event is selected";
  if (state.acts.some(({ event, phase }) => event === about.event && phase !== "done"))
    return "it is already being replayed";
  return about.status === "failed" ? null : `only failed events can be replayed; this one is ${about.status}`;
}

function replayDialog(state: State, { event, type, endpoint }: Subject): Dialog {
  const to =
    endpoint === null ? "every endpoint where it failed" : (state.known.endpoints.get(endpoint)?.url ?? endpoint);
  const request: Request = {
    operation: "replayEvent",
    ask: { id: event, body: endpoint === null ? {} : { endpoint } },
  };
  return {
    kind: "confirm",
    title: "Replay event",
    facts: [event, `${type} to`, to, "", "The same id and bytes are sent again, on a fresh ladder."],
    yes: "replay",
    act: { label: `replay ${shortId(event)}`, request, event },
  };
}
