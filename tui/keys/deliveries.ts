/** Keys that act on single deliveries whose attempts are still to come. */
import type { Dialog } from "../model/dialog.ts";
import { shortId } from "../draw/numbers.ts";
import { shortUrl } from "../draw/status.ts";
import type { State, Step } from "../model/state.ts";
import { perform } from "../state/acts.ts";
import { only, type Binding } from "./binding.ts";
import { ask, hold, subject, type Subject } from "./subject.ts";

const EVENTS = ["events", "deliveries", "endpoint", "event"] as const;

export const DELIVERIES: readonly Binding[] = [
  {
    keys: ["n"],
    show: "n",
    label: "try now",
    help: "try a waiting delivery now; the ladder stays as it is",
    on: EVENTS,
    footer: 50,
    acts: true,
    off: whyNoTry,
    run: tryNow,
  },
  {
    keys: ["x"],
    show: "x",
    label: "cancel",
    help: "cancel the open deliveries of this event, or only this delivery",
    on: EVENTS,
    footer: 51,
    acts: true,
    off: whyNoCancel,
    run: (state) => only(ask(hold(state), cancelDialog(state, subject(state)!))),
  },
];

function waiting({ deliveries }: Subject) {
  return deliveries.filter(({ status }) => status === "pending");
}

function open({ deliveries }: Subject) {
  return deliveries.filter(({ status }) => status === "pending" || status === "held");
}

function whyNoTry(state: State): string | null {
  const about = subject(state);
  if (about === null) return "no event is selected";
  const [first, ...others] = waiting(about);
  if (first === undefined) return `it has no waiting delivery; it is ${about.status}`;
  if (others.length > 0) return `it has ${others.length + 1} waiting deliveries: choose one on 2 Deliveries`;
  return state.acts.some(({ delivery }) => delivery === first.id) ? "this was already requested" : null;
}

function tryNow(state: State): Step {
  const about = subject(state)!;
  const { id } = waiting(about)[0]!;
  const label = `try ${shortId(about.event)} now`;
  return perform(hold(state), {
    label,
    request: { operation: "attemptDelivery", ask: { id } },
    event: about.event,
    delivery: id,
  });
}

function whyNoCancel(state: State): string | null {
  const about = subject(state);
  if (about === null) return "no event is selected";
  return open(about).length === 0 ? `it has no open delivery; it is ${about.status}` : null;
}

function cancelDialog(state: State, about: Subject): Dialog {
  const { event, type, endpoint } = about;
  const all = open(about);
  const hosts = all.slice(0, SHOWN).map(({ endpoint: id }) => {
    const url = state.known.endpoints.get(id)?.url;
    return `  ${url === undefined ? id : shortUrl(url)}`;
  });
  return {
    kind: "confirm",
    title: endpoint === null ? "Cancel event" : "Cancel delivery",
    facts: [
      `${event} ${type}`,
      all.length === 1 ? "will not be sent to" : `will not be sent to ${all.length} endpoints:`,
      ...hosts,
      ...(all.length > SHOWN ? ["  and others"] : []),
      "",
      "Attempts already made cannot be undone.",
    ],
    yes: "cancel it",
    act: {
      label: `cancel ${shortId(event)}`,
      request: { operation: "cancelEvent", ask: { id: event, body: endpoint === null ? {} : { endpoint } } },
      event: null,
    },
  };
}

const SHOWN = 5;
