/** Keys that send again what failed. */
import type { Dialog } from "../model/dialog.ts";
import { shortId } from "../draw/numbers.ts";
import type { Request } from "../model/call.ts";
import type { State } from "../model/state.ts";
import { openPlan } from "../state/dialogs/plan.ts";
import { replaySetHere } from "../state/replay-set.ts";
import { only, type Binding } from "./binding.ts";
import { ask, hold, subject, type Subject } from "./subject.ts";

export const REPLAYS: readonly Binding[] = [
  {
    keys: ["r"],
    show: "r",
    label: "replay",
    help: "replay this event: its failed deliveries start over",
    on: ["events", "deliveries", "endpoint", "event"],
    footer: 40,
    acts: true,
    off: whyNoReplay,
    run: (state) => only(ask(hold(state), replayDialog(state, subject(state)!))),
  },
  {
    keys: ["R"],
    show: "R",
    label: "many",
    help: "replay the marked rows, or everything listed that failed; shows the plan first",
    on: ["events", "deliveries", "endpoint", "failures", "overview"],
    footer: 41,
    acts: true,
    off: whyNoMany,
    run: (state) => only(planMany(state, false)),
  },
  {
    keys: ["c"],
    show: "c",
    label: "canary",
    help: "replay this group with a canary: one first, the others if it is delivered",
    on: ["failures", "overview"],
    footer: 40,
    acts: true,
    off: whyNoMany,
    run: (state) => only(planMany(state, true)),
  },
];

function whyNoMany(state: State): string | null {
  const found = replaySetHere(state);
  return typeof found === "string" ? found : null;
}

function planMany(state: State, canary: boolean): State {
  const found = replaySetHere(state);
  return typeof found === "string" ? state : openPlan(hold(state), { ...found, canary });
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
