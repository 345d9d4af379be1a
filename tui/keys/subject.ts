/** Finds the thing that a key acts on. It is fixed when the key is pressed. */
import type { EventSummary } from "../../src/client/operations.ts";
import type { Dialog } from "../model/dialog.ts";
import type { State } from "../model/state.ts";
import { selectedRow } from "../state/lists/paged-list.ts";
import { changeHere, here, onList } from "../state/lists/places.ts";

/** The event, and its deliveries, that an action on this screen acts on. */
export interface Subject {
  readonly event: string;
  readonly type: string;
  readonly status: string;
  /** The endpoint of the selected delivery. Null if no single delivery is selected. */
  readonly endpoint: string | null;
  /** The deliveries, as far as they have been read. */
  readonly deliveries: readonly { readonly id: string; readonly endpoint: string; readonly status: string }[];
}

export function subject(state: State): Subject | null {
  const place = here(state);
  switch (place.kind) {
    case "events": {
      const row: EventSummary | null = selectedRow(place.list);
      return (
        row && { event: row.id, type: row.type, status: row.status, endpoint: null, deliveries: row.deliveries ?? [] }
      );
    }
    case "deliveries":
    case "endpoint": {
      const row = selectedRow(place.list);
      return row && { event: row.event, type: row.type, status: row.status, endpoint: row.endpoint, deliveries: [row] };
    }
    case "event": {
      const event = state.known.events.get(place.id)?.value;
      if (event === undefined) return null;
      const { id, type, status, deliveries } = event;
      return { event: id, type, status, endpoint: null, deliveries };
    }
    default:
      return null;
  }
}

/** Stops the list from following new rows, so that the selected row does not move while a person acts on it. */
export function hold(state: State): State {
  return changeHere(state, (place) => onList(place, (list) => (list.follow ? { ...list, follow: false } : list)));
}

export function ask(state: State, dialog: Dialog): State {
  return { ...state, modes: [...state.modes, { kind: "dialog", dialog }] };
}

/** Returns the id to copy on this screen, or null if there is none. */
export function idHere(state: State): string | null {
  const place = here(state);
  switch (place.kind) {
    case "event":
      return place.id;
    case "events":
    case "endpoints":
      return selectedRow<{ readonly id: string }>(place.list as never)?.id ?? null;
    case "deliveries":
    case "endpoint":
      return selectedRow(place.list)?.event ?? null;
    case "overview":
    case "failures":
      return selectedRow(place.list)?.endpoint ?? null;
    case "activity": {
      const row = selectedRow(place.list);
      return row === null ? null : "matched" in row ? row.id : row.object;
    }
  }
}
