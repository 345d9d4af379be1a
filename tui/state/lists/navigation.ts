/** Moves from one screen to another. */
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

/** Opens the deliveries of a group of failures: those that failed, or all of them if none has failed for good. */
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
    onList(place, (list) => readAnew(list, { filter, edge: "first", follow: true })),
  );
  if (filter === "") return next;
  return { ...next, toast: null, history: [...state.history.filter((one) => one !== filter), filter].slice(-50) };
}

/** Returns why this filter cannot be used on this screen, or null. */
export function filterFault(state: State, text: string): string | null {
  const mistake = mistakeIn(text);
  if (mistake !== null) return mistake;
  const place = here(state);
  if (place.kind === "event") return "an event cannot be filtered";
  const stranger = strangerIn(text, rowsKind(place));
  if (stranger === undefined) return null;
  if (stranger === "match") return "A bare word finds an endpoint: find it first, then filter on its page.";
  const known = Object.keys(FILTER_PARAMETERS[rowsKind(place)]).filter(
    (word) => word !== "match" || place.kind === "endpoints",
  );
  const isOfEvents = place.kind !== "events" && strangerIn(text, "events") === undefined;
  const where = isOfEvents ? " It applies to events: press Esc, then 1." : "";
  return `${stranger}: does not apply here. These do: ${known.join(", ")}.${where}`;
}

/** Applies a filter that the overview does not take to the list of events, if that takes it. */
export function filterEvents(state: State, text: string): State | null {
  const place = here(state);
  if (place.kind !== "overview" || mistakeIn(text) !== null) return null;
  if (strangerIn(text, rowsKind(place)) === undefined || strangerIn(text, "events") !== undefined) return null;
  return setFilter(showTab(showTab(state, "events"), "events"), text);
}

/** Returns a word that this list does not accept. Only the list of endpoints accepts a bare word. */
function strangerIn(text: string, tab: RowsKind): string | undefined {
  const words = Object.keys(readFilter(text).filter);
  return words.find(
    (word) => !Object.hasOwn(FILTER_PARAMETERS[tab], word) || (word === "match" && tab !== "endpoints"),
  );
}

/** True for one bare word on a screen that does not take it. It then searches endpoints. */
export function isSearch(state: State, text: string): boolean {
  const { filter, mistakes } = readFilter(text);
  if (mistakes.length > 0 || filter.match === undefined || Object.keys(filter).length > 1) return false;
  const place = here(state);
  return place.kind === "event" || strangerIn(text, rowsKind(place)) !== undefined;
}

/**
 * Searches endpoints by their host, description, tenant or `uid`. A single match is opened. Without a match, the events
 * with this publisher's id or tag are listed.
 */
export function findEndpoint(state: State, text: string): State {
  const found = setFilter(showTab(showTab(state, "endpoints"), "endpoints"), text);
  return { ...found, finding: text };
}

/** Opens the only match once the endpoints are read, unless the person has gone elsewhere. */
export function openFound(state: State): State {
  const place = here(state);
  if (state.finding === null || place.kind !== "endpoints" || place.list.filter !== state.finding) return state;
  if (place.list.next === undefined) return state;
  const [only, ...others] = place.list.rows;
  const next = { ...state, finding: null };
  if (only === undefined && place.list.next === null) return setFilter(showTab(next, "events"), state.finding);
  return only !== undefined && others.length === 0 && place.list.next === null ? openEndpoint(next, only.id) : next;
}

/** Opens the only row whose id ends like this, because lists show the ends of ids. */
function endingIn(state: State, text: string): State | null {
  const place = here(state);
  if (place.kind === "event" || text.length < LEAST_ENDING) return null;
  const rows = place.list.rows as readonly { readonly id?: string; readonly event?: string }[];
  const ids = new Set(rows.map(({ id, event }) => event ?? id ?? "").filter((id) => id.endsWith(text)));
  const [id, ...others] = ids;
  return id === undefined || others.length > 0 ? null : jump(state, id);
}

const LEAST_ENDING = 4;

/**
 * Goes to a screen by its name, to an id, to the events that a filter matches, or to an endpoint by a word. Returns
 * null for any other text.
 */
export function jump(state: State, text: string): State | null {
  const tab = TABS.find((name) => text !== "" && name.startsWith(text.toLowerCase()));
  if (tab !== undefined) return showTab(state, tab);
  if (isAnyId(text)) {
    if (text.startsWith("evt_")) return openEvent(showTab(state, "events"), text);
    return text.startsWith("ep_") ? openEndpoint(showTab(state, "endpoints"), text) : null;
  }
  const ending = endingIn(state, text.replace(/^(\w+_)?(…|\.\.\.)/, ""));
  if (ending !== null) return ending;
  if (text === "" || mistakeIn(text) !== null) return null;
  if (isSearch(showTab(state, "events"), text)) return findEndpoint(state, text);
  if (strangerIn(text, "events") !== undefined) return null;
  // Call this twice to show the list itself, whatever was opened from it.
  return setFilter(showTab(showTab(state, "events"), "events"), text);
}
