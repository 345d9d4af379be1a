/** Keys that ask the daemon to do something. What they act on is pinned when they are pressed: the list is held. */
import type { EventSummary } from "../../src/client/answers.ts";
import type { Dialog } from "../dialog.ts";
import { shortId } from "../draw/numbers.ts";
import type { Request, State } from "../model.ts";
import { selectedRow } from "../state/list.ts";
import { changeHere, here, onList } from "../state/places.ts";
import { only, type Binding } from "./binding.ts";

export const ACTIONS: readonly Binding[] = [
  {
    keys: ["r"],
    show: "r",
    label: "replay",
    help: "replay this event: its failed deliveries, once more from the first try",
    on: ["events", "deliveries", "endpoint", "event"],
    footer: 40,
    acts: true,
    off: whyNoReplay,
    run: (state) => only(ask(hold(state), replayDialog(state, subject(state)!))),
  },
];

/** What an action on this screen is about. */
export interface Subject {
  readonly event: string;
  readonly type: string;
  readonly status: string;
  /** Only this endpoint's delivery, where a delivery is selected. */
  readonly endpoint: string | null;
}

export function subject(state: State): Subject | null {
  const place = here(state);
  switch (place.kind) {
    case "events": {
      const row: EventSummary | null = selectedRow(place.list);
      return row && { event: row.id, type: row.type, status: row.status, endpoint: null };
    }
    case "deliveries":
    case "endpoint": {
      const row = selectedRow(place.list);
      return row && { event: row.event, type: row.type, status: row.status, endpoint: row.endpoint };
    }
    case "event": {
      const event = state.known.events.get(place.id)?.value;
      return event === undefined ? null : { event: event.id, type: event.type, status: event.status, endpoint: null };
    }
    default:
      return null;
  }
}

/** Nothing moves under the finger. */
export function hold(state: State): State {
  return changeHere(state, (place) => onList(place, (list) => (list.follow ? { ...list, follow: false } : list)));
}

export function ask(state: State, dialog: Dialog): State {
  return { ...state, modes: [...state.modes, { kind: "dialog", dialog }] };
}

function whyNoReplay(state: State): string | null {
  const about = subject(state);
  if (about === null) return "no event is selected";
  if (state.acts.some(({ event, phase }) => event === about.event && phase !== "done")) return "it is being replayed";
  return about.status === "failed" ? null : `only what failed is replayed; this is ${about.status}`;
}

function replayDialog(state: State, { event, type, endpoint }: Subject): Dialog {
  const to =
    endpoint === null ? "every endpoint it failed for" : (state.known.endpoints.get(endpoint)?.url ?? endpoint);
  const request: Request = { operation: "retryEvent", ask: { id: event, body: endpoint === null ? {} : { endpoint } } };
  return {
    kind: "confirm",
    title: "Replay event",
    facts: [event, `${type} to`, to, "", "Sends the same id and bytes again, from the first try."],
    yes: "replay",
    act: { label: `replay ${shortId(event)}`, request, event },
  };
}
