/** Keys that ask the daemon to do something with an endpoint. */
import type { Endpoint } from "../../src/client/answers.ts";
import type { State } from "../model.ts";
import { addForm, editForm } from "../state/forms.ts";
import { selectedRow } from "../state/list.ts";
import { here } from "../state/places.ts";
import { ask, hold } from "./subject.ts";
import { only, type Binding } from "./binding.ts";

const ENDPOINTS = ["endpoints", "endpoint"] as const;

export const ENDPOINT_ACTIONS: readonly Binding[] = [
  {
    keys: ["a"],
    show: "a",
    label: "add",
    help: "add an endpoint",
    on: ["endpoints"],
    footer: 40,
    acts: true,
    run: (state) => only(ask(hold(state), addForm())),
  },
  {
    keys: ["a"],
    show: "a",
    label: "add an endpoint",
    on: ["events", "deliveries"],
    acts: true,
    run: (state) => only(ask(hold(state), addForm())),
  },
  {
    keys: ["e"],
    show: "e",
    label: "edit",
    help: "edit this endpoint: its URL, event types and description",
    on: ENDPOINTS,
    footer: 41,
    acts: true,
    off: whyNoEndpoint,
    run: (state) => only(ask(hold(state), editForm(endpointHere(state)!))),
  },
];

/** The endpoint that is selected or shown; null where there is none, or it is not read yet. */
export function endpointHere(state: State): Endpoint | null {
  const place = here(state);
  const known = (id: string) => state.known.endpoints.get(id) ?? state.known.health.get(id)?.value ?? null;
  switch (place.kind) {
    case "endpoints":
      return selectedRow(place.list);
    case "endpoint":
      return state.known.gone.has(place.id) ? null : known(place.id);
    case "deliveries":
    case "failures": {
      const row: { readonly endpoint: string } | null = selectedRow<{ readonly endpoint: string }>(place.list as never);
      return row && known(row.endpoint);
    }
    default:
      return null;
  }
}

function whyNoEndpoint(state: State): string | null {
  if (endpointHere(state) !== null) return null;
  const place = here(state);
  return place.kind === "endpoint" && state.known.gone.has(place.id) ? "it is deleted" : "no endpoint is selected";
}
