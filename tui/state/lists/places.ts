/** Handles the stack of places that were opened on each tab. */
import type { List, Rows, RowsKind, Tab } from "../../model/list.ts";
import type { EndpointPlace, ListPlace, Place, State } from "../../model/state.ts";
import { newList, type KeyOf } from "./paged-list.ts";

export function here(state: State): Place {
  return state.tabs[state.tab].at(-1)!;
}

export const KEY_OF: { readonly [T in RowsKind]: KeyOf<Rows[T]> } = {
  events: ({ id }) => id,
  deliveries: ({ id }) => id,
  endpoints: ({ id }) => id,
  failures: ({ endpoint, error, status_code }) => `${endpoint} ${error} ${status_code}`,
  activity: (row) => ("id" in row ? row.id : `${row.request_id} ${row.action} ${row.object}`),
};

/** Returns the first place of a tab. */
export function firstPlace(tab: Tab, number: number, filter = ""): ListPlace {
  return { kind: tab, number, list: newList(filter) } as ListPlace;
}

export type WithList = ListPlace | EndpointPlace;

/** Returns the kind of rows that a place lists. */
export function rowsKind({ kind }: WithList): RowsKind {
  if (kind === "overview") return "failures";
  return kind === "endpoint" ? "deliveries" : kind;
}

/** Changes the list of a place without knowing the type of its rows. */
export function onList<P extends Place>(place: P, change: <T>(list: List<T>, keyOf: KeyOf<T>) => List<T>): P {
  if (place.kind === "event") return place;
  const keyOf = KEY_OF[rowsKind(place)] as KeyOf<unknown>;
  const list = change(place.list as List<unknown>, keyOf);
  return list === place.list ? place : ({ ...place, list } as P);
}

export function changeHere(state: State, change: (place: Place) => Place): State {
  const place = here(state);
  const changed = change(place);
  return changed === place ? state : put(state, [...state.tabs[state.tab].slice(0, -1), changed]);
}

/** Changes every place, or the one with this number. */
export function changePlaces(state: State, change: (place: Place) => Place, number?: number): State {
  let tabs = state.tabs;
  for (const tab of Object.keys(tabs) as Tab[]) {
    const stack = tabs[tab].map((place) => (number === undefined || place.number === number ? change(place) : place));
    if (stack.some((place, index) => place !== tabs[tab][index])) tabs = { ...tabs, [tab]: stack };
  }
  return tabs === state.tabs ? state : { ...state, tabs };
}

export function open(state: State, make: (number: number) => Place): State {
  const place = make(state.counter);
  return withStack({ ...state, counter: state.counter + 1 }, [...state.tabs[state.tab], place]);
}

export function back(state: State): State {
  const stack = state.tabs[state.tab];
  return stack.length > 1 ? withStack(state, stack.slice(0, -1)) : state;
}

export function showTab(state: State, tab: Tab): State {
  if (tab !== state.tab) return { ...state, tab, lastTab: state.tab, focus: "list", paneTop: 0 };
  // Pressing the same key again goes back to the list.
  return withStack(state, state.tabs[tab].slice(0, 1));
}

function withStack(state: State, stack: readonly Place[]): State {
  return { ...put(state, stack), focus: "list", paneTop: 0 };
}

function put(state: State, stack: readonly Place[]): State {
  return { ...state, tabs: { ...state.tabs, [state.tab]: stack } };
}
