/** Handles the mouse: the wheel moves, and a click selects, opens, or does what the key under it does. */
import { isTooSmall, layoutOf, listTop, HEAD_ROWS } from "../layout.ts";
import type { State, Step } from "../model/state.ts";
import { bindingFor } from "../keys/table.ts";
import { tabAt } from "../screens/chrome.ts";
import { bindingAt } from "../screens/footer.ts";
import { isBoxed } from "../state/connection.ts";
import { moveBy, moveTo } from "../state/lists/paged-list.ts";
import { changeHere, here, onList, showTab } from "../state/lists/places.ts";
import { pressScreen } from "../state/press.ts";
import type { MouseReport } from "./reports.ts";

const WHEEL_ROWS = 3;
const DOUBLE_MS = 500;

export function point(state: State, reports: readonly MouseReport[]): Step {
  let step: Step = { state, effects: [] };
  for (const report of reports) {
    const next = pointOnce(step.state, report);
    step = { state: next.state, effects: [...step.effects, ...next.effects] };
  }
  return step;
}

function pointOnce(state: State, report: MouseReport): Step {
  const { link, size, mouse } = state;
  const isOutside = report.column >= size.columns || report.row >= size.rows;
  if (!mouse.isOn || isOutside || link.kind === "differs" || isTooSmall(size)) return { state, effects: [] };
  switch (report.kind) {
    case "up":
    case "down":
      return { state: roll(state, report, report.kind === "down" ? WHEEL_ROWS : -WHEEL_ROWS), effects: [] };
    case "press":
      return { state: down({ ...state, mouse: { ...mouse, pressed: report } }, report), effects: [] };
    case "release": {
      // Releasing the button elsewhere is not a click. A click acts on release, so that no button is down if it quits.
      const { pressed } = mouse;
      const next = { ...state, mouse: { ...mouse, pressed: null } };
      const isClick = pressed !== null && pressed.row === report.row && Math.abs(pressed.column - report.column) <= 1;
      return isClick ? click(next, report) : { state: next, effects: [] };
    }
  }
}

/** Layers over the screen ignore clicks, because a person must type to agree. */
function isCovered({ modes, link }: State): boolean {
  return modes.length > 0 || isBoxed(link);
}

function roll(state: State, { column }: MouseReport, by: number): State {
  const mode = state.modes.at(-1);
  if (mode?.kind === "help") {
    return { ...state, modes: [...state.modes.slice(0, -1), { ...mode, top: Math.max(0, mode.top + by) }] };
  }
  if (isCovered(state)) return state;
  const place = here(state);
  if (place.kind === "event") return changeHere(state, () => ({ ...place, top: Math.max(0, place.top + by) }));
  const { pane, main, list: height } = layoutOf(state);
  if (pane > 0 && column > main) return { ...state, paneTop: Math.max(0, state.paneTop + by) };
  const moved = changeHere(state, (now) => onList(now, (list, keyOf) => moveBy(list, by, height, keyOf)));
  return moved === state ? state : { ...moved, focus: "list", paneTop: 0 };
}

/** Selects a row as soon as the button is pressed, and stops following. */
function down(state: State, { column, row }: MouseReport): State {
  if (isCovered(state)) return state;
  const { pane, main } = layoutOf(state);
  if (pane > 0 && column > main && isInBody(state, row)) return { ...state, focus: "pane" };
  const index = rowAt(state, column, row);
  if (index === null) return state;
  const { list: height } = layoutOf(state);
  const moved = changeHere(state, (place) =>
    onList(place, (list, keyOf) => moveTo({ ...list, unread: 0 }, index, height, keyOf)),
  );
  return { ...moved, focus: "list", paneTop: 0 };
}

function click(state: State, { column, row }: MouseReport): Step {
  const only = (next: State): Step => ({ state: next, effects: [] });
  if (state.modes.at(-1)?.kind === "help") return only({ ...state, modes: state.modes.slice(0, -1) });
  if (isCovered(state)) return only(state);
  if (row === TABS_ROW) {
    const tab = tabAt(state, column);
    return only(tab === null ? state : showTab(state, tab));
  }
  if (row === state.size.rows - 1) {
    const binding = bindingAt(state, column);
    return binding === null || binding.moves === true ? only(state) : pressScreen(state, binding.keys[0]!);
  }
  if (rowAt(state, column, row) === null) return only(state);
  const { clicked } = state.mouse;
  const isSecond = clicked !== null && clicked.row === row && state.now - clicked.at <= DOUBLE_MS;
  const next = { ...state, mouse: { ...state.mouse, clicked: isSecond ? null : { row, at: state.now } } };
  return isSecond && bindingFor("enter", here(state)) !== undefined ? pressScreen(next, "enter") : only(next);
}

const TABS_ROW = HEAD_ROWS - 1;

function isInBody({ size }: State, row: number): boolean {
  return row >= HEAD_ROWS && row < size.rows - 2;
}

/** Returns the index of the row that is drawn there, or null. */
function rowAt(state: State, column: number, row: number): number | null {
  const place = here(state);
  if (place.kind === "event" || !isInBody(state, row)) return null;
  const { main, list: height, body } = layoutOf(state);
  const below = row - HEAD_ROWS - listTop(place, body);
  const index = place.list.top + below;
  return column < main && below >= 0 && below < height && index < place.list.rows.length ? index : null;
}
