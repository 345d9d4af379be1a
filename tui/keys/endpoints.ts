/** Keys that ask the daemon to do something with an endpoint. */
import type { Endpoint } from "../../src/client/operations.ts";
import type { Dialog } from "../model/dialog.ts";
import type { State } from "../model/state.ts";
import { freeChoice, rotationChoice, switchChoice } from "../state/dialogs/endpoint-choices.ts";
import { addForm, deleteForm, editForm, rotateForm, testForm } from "../state/dialogs/forms.ts";
import { selectedRow } from "../state/lists/paged-list.ts";
import { here } from "../state/lists/places.ts";
import { switchesAt } from "../state/act-answers.ts";
import { ask, hold, subject } from "./subject.ts";
import { only, type Binding } from "./binding.ts";
import { KEY } from "./names.ts";

const ENDPOINTS = ["endpoints", "endpoint"] as const;

export const ENDPOINT_ACTIONS: readonly Binding[] = [
  {
    keys: [KEY.add],
    show: KEY.add,
    label: "add",
    help: "add an endpoint",
    on: ["endpoints"],
    footer: 40,
    acts: true,
    run: (state) => only(ask(hold(state), addForm())),
  },
  {
    keys: [KEY.add],
    show: KEY.add,
    label: "add an endpoint",
    on: ["overview", "events", "deliveries"],
    acts: true,
    run: (state) => only(ask(hold(state), addForm())),
  },
  {
    keys: ["e"],
    show: "e",
    label: "edit",
    help: "edit this endpoint: its URL, types, filter, description, signatures, format and order",
    on: ENDPOINTS,
    footer: 40,
    acts: true,
    off: whyNoEndpoint,
    run: (state) => only(ask(hold(state), editForm(endpointHere(state)!))),
  },
  {
    keys: [KEY.test],
    show: KEY.test,
    label: "test",
    help: "send a test event, and wait for the answer",
    on: ["events", "event", "deliveries", "endpoints", "endpoint", "failures", "overview"],
    footer: 42,
    acts: true,
    off: (state) =>
      testTargets(state).length === 0 ? `there is no endpoint to send to; press ${KEY.add} to add one` : null,
    run: (state) =>
      only(
        ask(
          hold(state),
          testForm(
            testTargets(state),
            typeHere(state),
            (state.known.types ?? []).map(({ name }) => name),
          ),
        ),
      ),
  },
  {
    keys: ["z"],
    show: "z",
    label: "disable/enable",
    help: "disable this endpoint, or enable it again",
    on: [...ENDPOINTS, "deliveries", "failures", "overview"],
    footer: 43,
    acts: true,
    off: whyNoEndpoint,
    run: (state) => only(ask(hold(state), switchChoice(endpointHere(state)!))),
  },
  {
    keys: [KEY.freeKey],
    show: KEY.freeKey,
    label: "free key",
    help: "free the key that has been held for longest",
    on: ENDPOINTS,
    acts: true,
    off: whyNoHeldKey,
    run: (state) => only(ask(hold(state), freeChoice(endpointHere(state)!, heldKeysHere(state)!))),
  },
  {
    keys: [KEY.rotate],
    show: KEY.rotate,
    label: "rotate secret",
    help: "rotate this endpoint's secret, or finish the rotation in progress",
    on: ENDPOINTS,
    footer: 44,
    acts: true,
    off: whyNoEndpoint,
    run: (state) => only(ask(hold(state), secretDialog(state, endpointHere(state)!))),
  },
  {
    keys: ["D"],
    show: "D",
    label: "delete",
    help: "delete this endpoint",
    on: ENDPOINTS,
    footer: 45,
    acts: true,
    off: whyNoEndpoint,
    run: (state) => only(ask(hold(state), deleteForm(endpointHere(state)!))),
  },
];

function secretDialog(state: State, endpoint: Endpoint): Dialog {
  const at = switchesAt(state, endpoint.id);
  return at === null ? rotateForm(endpoint) : rotationChoice(endpoint, at);
}

/** Returns the endpoints of the row under the cursor, or else all known endpoints. */
function testTargets(state: State): (Endpoint | string)[] {
  const one = endpointHere(state);
  if (one !== null) return [one];
  const { known } = state;
  const place = here(state);
  const deliveries =
    place.kind === "events"
      ? (selectedRow(place.list)?.deliveries ?? [])
      : place.kind === "event"
        ? (known.events.get(place.id)?.value.deliveries ?? [])
        : [];
  const failedFirst = deliveries.toSorted((a, b) => Number(b.status === "failed") - Number(a.status === "failed"));
  const own = [...new Set(failedFirst.map(({ endpoint }) => endpoint))].filter((id) => !known.gone.has(id));
  const ids = own.length > 0 ? own : [...known.endpoints.keys()];
  return ids.map((id) => known.endpoints.get(id) ?? id);
}

function typeHere(state: State): string | null {
  return subject(state)?.type ?? null;
}

/** Returns the endpoint that is selected or shown. Null if there is none, or if it has not been read yet. */
export function endpointHere(state: State): Endpoint | null {
  const place = here(state);
  const known = (id: string) => state.known.endpoints.get(id) ?? state.known.health.get(id)?.value ?? null;
  switch (place.kind) {
    case "endpoints":
      return selectedRow(place.list);
    case "endpoint":
      return state.known.gone.has(place.id) ? null : known(place.id);
    case "deliveries":
    case "overview":
    case "failures": {
      const row: { readonly endpoint: string } | null = selectedRow<{ readonly endpoint: string }>(place.list as never);
      return row && known(row.endpoint);
    }
    default:
      return null;
  }
}

function heldKeysHere(state: State) {
  const endpoint = endpointHere(state);
  // An older daemon does not report held keys.
  return (endpoint && state.known.health.get(endpoint.id)?.value.health.held_keys) ?? null;
}

function whyNoHeldKey(state: State): string | null {
  return whyNoEndpoint(state) ?? (heldKeysHere(state) === null ? "no key is held" : null);
}

function whyNoEndpoint(state: State): string | null {
  if (endpointHere(state) !== null) return null;
  const place = here(state);
  return place.kind === "endpoint" && state.known.gone.has(place.id) ? "it is deleted" : "no endpoint is selected";
}
