/** Keys that change the view, but nothing in the daemon. */
import { printFilter, readFilter } from "../../src/client/filter.ts";
import type { Line } from "../model/dialog.ts";
import { type Tab, TABS } from "../model/list.ts";
import type { State, Step } from "../model/state.ts";
import { newLine } from "../state/line-editor.ts";
import { retry } from "../state/connection.ts";
import { moveBy, readAnew, selectedRow } from "../state/lists/paged-list.ts";
import { openEndpoint, openEvent, openGroup, setFilter } from "../state/lists/navigation.ts";
import { back, changeHere, here, onList, rowsKind, showTab } from "../state/lists/places.ts";
import { nextSort } from "../state/lists/sorts.ts";
import { toast } from "../state/toast.ts";
import { layoutOf } from "../layout.ts";
import { LISTS, only, type Binding } from "./binding.ts";
import { KEY } from "./names.ts";

export const VIEWS: readonly Binding[] = [
  {
    keys: ["enter"],
    show: "Enter",
    label: "open",
    on: ["overview", "events", "deliveries", "endpoints", "failures", "endpoint"],
    footer: 10,
    off: (state) => {
      const place = here(state);
      if (place.kind === "event" || place.list.rows.length > 0) return null;
      return place.list.next === undefined ? "the list is still being read" : "there is nothing to open";
    },
    run: (state) => only(openSelected(state)),
  },
  {
    keys: ["esc"],
    show: "Esc",
    label: "back",
    help: "go back, or clear the filter",
    footer: 11,
    run: (state) => only(leave(state)),
  },
  {
    keys: ["/"],
    types: true,
    show: "/",
    label: "filter",
    on: LISTS,
    footer: 20,
    run: (state) => only(openLine(state, "filter")),
  },
  {
    keys: [KEY.failed],
    show: KEY.failed,
    label: "failed",
    help: "show only failed rows, or all of them again",
    on: ["events", "deliveries", "endpoint"],
    footer: 30,
    run: (state) => only(toggleFailed(state)),
  },
  {
    keys: ["p"],
    show: "p",
    label: "hold/follow",
    help: "hold the list still, or follow new rows",
    on: LISTS,
    footer: 60,
    run: (state) => only(toggleFollow(state)),
  },
  {
    keys: ["o"],
    show: "o",
    label: "sort",
    help: "sort the list another way; the line below it names the order",
    on: LISTS,
    footer: 61,
    run: (state) => only(sortAnew(state)),
  },
  {
    keys: ["space"],
    show: "Space",
    label: "mark",
    help: "mark or unmark this row, and move down",
    on: ["events", "deliveries", "endpoint"],
    run: (state) => only(toggleMark(state)),
  },
  {
    keys: ["ctrl+\\"],
    show: "^\\",
    label: "no marks",
    help: "remove all marks",
    on: ["events", "deliveries", "endpoint"],
    run: (state) => only(changeHere(state, (place) => onList(place, (list) => ({ ...list, marks: new Set() })))),
  },
  {
    keys: ["tab", "shift+tab"],
    show: "Tab",
    label: "pane",
    help: "move to the other pane",
    on: ["events", "deliveries"],
    off: (state) => (layoutOf(state).pane === 0 ? "there is only one pane below 120 columns" : null),
    run: (state) => only({ ...state, focus: state.focus === "list" ? "pane" : "list" }),
  },
  ...TABS.map((tab, index) => tabKey(tab, String(index))),
  { keys: ["-"], show: "-", label: "previous screen", run: (state) => only(showTab(state, state.lastTab)) },
  {
    keys: [":"],
    types: true,
    show: ":",
    label: "go to a screen, an id, a filter, or an endpoint by its host or description",
    run: (state) => only(openLine(state, "jump")),
  },
  { keys: ["ctrl+r"], show: "^r", label: "reload, or reconnect now", run: refresh },
  {
    keys: ["ctrl+l"],
    show: "^l",
    label: "redraw the screen",
    run: (state) => ({ state, effects: [{ do: "redraw" }] }),
  },
  {
    keys: ["m"],
    show: "m",
    label: "mouse",
    help: "turn the mouse off or on; drag to select text (hold Shift while it is on)",
    run: toggleMouse,
  },
  { keys: ["ctrl+z"], show: "^z", label: "suspend", run: (state) => ({ state, effects: [{ do: "suspend" }] }) },
  {
    keys: ["?"],
    show: "?",
    label: "help",
    footer: 98,
    run: (state) => only({ ...state, modes: [{ kind: "help", top: 0 }] }),
  },
  {
    keys: ["q"],
    show: "q",
    label: "quit",
    footer: 99,
    run: (state) => ({ state, effects: [{ do: "quit", exit: 0 }] }),
  },
  { keys: ["ctrl+c"], show: "^c", label: "quit", run: (state) => ({ state, effects: [{ do: "quit", exit: 130 }] }) },
];

function tabKey(tab: Tab, key: string): Binding {
  return {
    keys: [key],
    show: key,
    label: `${tab[0]!.toUpperCase()}${tab.slice(1)}`,
    run: (state) => only(showTab(state, tab)),
  };
}

function openSelected(state: State): State {
  const place = here(state);
  switch (place.kind) {
    case "events": {
      const row = selectedRow(place.list);
      return row === null ? state : openEvent(state, row.id);
    }
    case "deliveries":
    case "endpoint": {
      const row = selectedRow(place.list);
      return row === null ? state : openEvent(state, row.event);
    }
    case "endpoints": {
      const row = selectedRow(place.list);
      return row === null ? state : openEndpoint(state, row.id);
    }
    case "overview":
    case "failures": {
      const row = selectedRow(place.list);
      return row === null ? state : openGroup(state, row);
    }
    default:
      return state;
  }
}

function leave(state: State): State {
  if (state.focus === "pane") return { ...state, focus: "list" };
  if (state.link.kind === "lost" && !state.link.looked) return { ...state, link: { ...state.link, looked: true } };
  if (state.tabs[state.tab].length > 1) return back(state);
  const place = here(state);
  return place.kind !== "event" && place.list.filter !== "" ? setFilter(state, "") : { ...state, toast: null };
}

function openLine(state: State, purpose: Line["for"]): State {
  const place = here(state);
  const text =
    purpose === "filter" && place.kind !== "event" && place.list.filter !== "" ? `${place.list.filter} ` : "";
  return { ...state, modes: [{ kind: "line", line: newLine(purpose, text) }] };
}

function toggleFailed(state: State): State {
  const place = here(state);
  if (place.kind === "event") return state;
  const { status, ...others } = readFilter(place.list.filter).filter;
  return setFilter(state, printFilter(status === "failed" ? others : { ...others, status: "failed" }));
}

function toggleFollow(state: State): State {
  return changeHere(state, (place) =>
    onList(place, (list) =>
      list.follow ? { ...list, follow: false } : readAnew(list, { follow: true, edge: "first" }),
    ),
  );
}

/** Reads the list from its top, because people sort in order to see the top. */
function sortAnew(state: State): State {
  return changeHere(state, (place) => {
    if (place.kind === "event") return place;
    const sort = nextSort(rowsKind(place), place.list);
    return onList(place, (list) => readAnew(list, { sort, edge: "first", follow: sort === null }));
  });
}

function toggleMark(state: State): State {
  const { list: height } = layoutOf(state);
  return changeHere(state, (place) =>
    onList(place, (list, keyOf) => {
      if (list.selected === null) return list;
      const marks = new Set(list.marks);
      if (!marks.delete(list.selected)) marks.add(list.selected);
      return moveBy({ ...list, marks }, 1, height, keyOf);
    }),
  );
}

function toggleMouse(state: State): Step {
  const isOn = !state.mouse.isOn;
  const said = isOn
    ? "mouse on: click a row, a tab or a key below; to select text, hold Shift while dragging"
    : "mouse off: drag to select text; m turns it on";
  const next = toast({ ...state, mouse: { isOn, pressed: null, clicked: null } }, said);
  return { state: next, effects: [{ do: "mouse", isOn }] };
}

function refresh(state: State) {
  if (state.link.kind !== "live") return retry(state, { atOnce: true });
  const read = changeHere(state, (place) => onList(place, (list) => readAnew(list)));
  return only(toast(read, "reloaded"));
}
