/** Ways from one screen to another. */
import { printFilter, readFilter } from "../../../src/client/filter.ts";
import { isAnyId } from "../../../src/domain/id.ts";
import { type Rows, type RowsKind, TABS } from "../../model/list.ts";
import type { State } from "../../model/state.ts";
import { mistakeIn } from "../line-editor.ts";
import { newList, readAnew } from "./paged-list.ts";
import { changeHere, here, onList, open, rowsKind, showTab } from "./places.ts";
import { FILTER_PARAMETERS } from "./list-query.ts";

export function openEvent(state: State, id: string): State {
  return open(state, (number) => ({ kind: "event", number, id, top: 0 }));
}

export function openEndpoint(state: State, id: string): State {
  return open(state, (number) => ({ kind: "endpoint", number, id, list: newList() }));
}

/** The deliveries of a group of failures, those given up and those that are tried again. */
export function openGroup(state: State, { endpoint, error, status_code: code, failed }: Rows["failures"]): State {
  const filter = printFilter({
    ...(failed > 0 && { status: "failed" }),
    endpoint,
    error,
    ...(code !== null && { status_code: String(code) }),
  });
  return open(state, (number) => ({ kind: "deliveries", number, list: newList(filter) }));
}

export function setFilter(state: State, filter: string): State {
  const next = changeHere(state, (place) =>
    onList(place, (list) => readAnew(list, { filter, edge: "newest", follow: true })),
  );
  if (filter === "") return next;
  return { ...next, toast: null, history: [...state.history.filter((one) => one !== filter), filter].slice(-50) };
}

/** Why this filter cannot be used on this screen; null when it can. */
export function filterFault(state: State, text: string): string | null {
  const mistake = mistakeIn(text);
  if (mistake !== null) return mistake;
  const place = here(state);
  if (place.kind === "event") return "an event cannot be filtered";
  const stranger = strangerIn(text, rowsKind(place));
  if (stranger === undefined) return null;
  const known = Object.keys(FILTER_PARAMETERS[rowsKind(place)]);
  return `${stranger}: does not apply here. These do: ${known.join(", ")}.`;
}

/** A word that this list does not take. */
function strangerIn(text: string, tab: RowsKind): string | undefined {
  return Object.keys(readFilter(text).filter).find((word) => !Object.hasOwn(FILTER_PARAMETERS[tab], word));
}

/** A screen's name, an id, or a filter of events. Null for none of them. */
export function jump(state: State, text: string): State | null {
  const tab = TABS.find((name) => text !== "" && name.startsWith(text.toLowerCase()));
  if (tab !== undefined) return showTab(state, tab);
  if (isAnyId(text)) {
    if (text.startsWith("evt_")) return openEvent(showTab(state, "events"), text);
    return text.startsWith("ep_") ? openEndpoint(showTab(state, "endpoints"), text) : null;
  }
  if (text === "" || mistakeIn(text) !== null || strangerIn(text, "events") !== undefined) return null;
  // Twice: the list itself, whatever was opened from it.
  return setFilter(showTab(showTab(state, "events"), "events"), text);
}
