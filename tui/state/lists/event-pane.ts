/** Chooses the event for the pane beside a list. */
import { layoutOf } from "../../layout.ts";
import type { Known } from "../../model/known.ts";
import type { List } from "../../model/list.ts";
import type { State } from "../../model/state.ts";
import { visibleRows } from "./paged-list.ts";
import { here } from "./places.ts";

/**
 * On a list that follows, the selected event changes too fast to read, so the pane reads a new one at most this often.
 */
const FOLLOW_REST_MS = 1000;

interface Row {
  readonly id: string;
  readonly event?: string;
}

/** Returns null if there is no pane, or if the list is empty. */
export function paneEvent(state: State): string | null {
  const place = here(state);
  if (layoutOf(state).pane === 0 || (place.kind !== "events" && place.kind !== "deliveries")) return null;
  const list = place.list as List<Row>;
  const { events } = state.known;
  const rows = list.follow ? visibleRows(list, layoutOf(state).list) : list.rows.slice(list.index, list.index + 1);
  // Keep the newest event that has been read until a newer one has been.
  const row = rows.find((one) => events.has(eventOf(one))) ?? rows[0];
  return row === undefined ? null : eventOf(row);
}

/** Returns the event to read for the pane now. */
export function wantedEvent(state: State): string | null {
  const shown = paneEvent(state);
  const place = here(state);
  if (shown === null || place.kind === "event" || !place.list.follow) return shown;
  const [first] = place.list.rows as readonly Row[];
  const latest = [...state.known.events.values()].at(-1)?.at ?? 0;
  return state.now - latest >= FOLLOW_REST_MS && first !== undefined ? eventOf(first) : shown;
}

function eventOf({ id, event }: Row): string {
  return event ?? id;
}

/**
 * Returns the neighbours, which the next key may show. They are read in advance, so that the pane changes together with
 * the cursor.
 */
export function nextEvents(state: State): string[] {
  const place = here(state);
  if (paneEvent(state) === null || place.kind === "event" || place.list.follow) return [];
  const { rows, index } = place.list as List<Row>;
  const { events, gone } = state.known;
  const near = [rows[index + 1], rows[index - 1]].flatMap((row) => (row === undefined ? [] : [eventOf(row)]));
  return near.filter((id) => !events.has(id) && !gone.has(id));
}

/** The most endpoints of which an opened event tells why it did not reach them. */
const MAX_MISSED = 5;

/** Returns endpoints of the event's tenant that have no delivery of it, as far as they are known. */
export function missedBy({ endpoints, events, gone }: Known, id: string): string[] {
  const event = events.get(id)?.value;
  if (event === undefined || event.more_deliveries) return [];
  const reached = new Set(event.deliveries.map(({ endpoint }) => endpoint));
  const others = [...endpoints.values()].filter(
    (one) => one.tenant === event.tenant && !reached.has(one.id) && !gone.has(one.id),
  );
  return others.slice(0, MAX_MISSED).map((one) => one.id);
}
