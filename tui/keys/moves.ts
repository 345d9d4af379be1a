/** Keys that move the cursor. Each of them stops a list from following new rows. */
import { layoutOf } from "../layout.ts";
import type { State } from "../model/state.ts";
import { moveBy, moveTo, readAnew } from "../state/lists/paged-list.ts";
import { changeHere, here, onList } from "../state/lists/places.ts";
import { only, type Binding } from "./binding.ts";

export const MOVES: readonly Binding[] = [
  move(["j", "down"], "j k", "move", () => 1, 90),
  move(["k", "up"], "k", "up", () => -1),
  move(["pagedown", "ctrl+f"], "PgDn ^f", "page down", (height) => height),
  move(["pageup", "ctrl+b"], "PgUp ^b", "page up", (height) => -height),
  move(["ctrl+d"], "^d", "half a page down", (height) => Math.ceil(height / 2)),
  move(["ctrl+u"], "^u", "half a page up", (height) => -Math.ceil(height / 2)),
  { keys: ["g", "home"], show: "g Home", label: "first row", run: (state) => only(toEdge(state, "first")) },
  { keys: ["G", "end"], show: "G End", label: "last row", run: (state) => only(toEdge(state, "last")) },
];

function move(keys: string[], show: string, label: string, by: (height: number) => number, footer?: number): Binding {
  const run = (state: State) => {
    const layout = layoutOf(state);
    const place = here(state);
    if (place.kind === "event") {
      const top = Math.max(0, place.top + by(layout.body));
      return only(changeHere(state, () => ({ ...place, top })));
    }
    if (state.focus === "pane") return only({ ...state, paneTop: Math.max(0, state.paneTop + by(layout.body)) });
    const moved = changeHere(state, (now) =>
      onList(now, (list, keyOf) => moveBy(list, by(layout.list), layout.list, keyOf)),
    );
    return only(moved === state ? state : { ...moved, paneTop: 0 });
  };
  return { keys, show, label, moves: true, run, ...(footer !== undefined && { footer }) };
}

function toEdge(state: State, edge: "first" | "last"): State {
  const place = here(state);
  if (place.kind === "event") return changeHere(state, () => ({ ...place, top: edge === "first" ? 0 : 10_000 }));
  const { list: height } = layoutOf(state);
  return changeHere(state, (now) =>
    onList(now, (list, keyOf) => {
      const isThere = edge === "first" ? list.edge === edge && list.pages[0]?.rows : list.next === null;
      if (isThere) return moveTo(list, edge === "first" ? 0 : list.rows.length - 1, height, keyOf);
      return { ...readAnew(list, { edge, follow: false }), selected: null, index: 0, top: 0 };
    }),
  );
}
