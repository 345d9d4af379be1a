/** Draws the last row: the keys that can be pressed here, or clicked. */
import { spanRow, widthOfSpans, type Span } from "../draw/row.ts";
import type { Binding } from "../keys/binding.ts";
import { bindingsHere, whyOff } from "../keys/table.ts";
import type { State } from "../model/state.ts";

interface Item {
  readonly binding: Binding;
  readonly spans: readonly Span[];
}

/** Shows the keys of this screen, as many as fit. Keys that are off are dim. */
export function keysRow(state: State): string {
  const { settings, size, modes } = state;
  const mode = modes.at(-1);
  if (mode?.kind === "line" && mode.line.mistake !== null) {
    return spanRow(settings.look, [{ text: ` ${mode.line.mistake}`, style: "yellow" }], size.columns);
  }
  const fixed = mode && FOOTERS[mode.kind];
  if (fixed !== undefined) return spanRow(settings.look, [{ text: ` ${fixed}` }], size.columns);
  const { left, right } = itemsOf(state);
  const spans = (items: readonly Item[]) => items.flatMap((item) => item.spans);
  return spanRow(settings.look, spans(left), size.columns, spans(right));
}

/** Returns the key that is drawn in this column while nothing covers the screen. */
export function bindingAt(state: State, column: number): Binding | null {
  const { left, right } = itemsOf(state);
  const widthOf = (items: readonly Item[]) =>
    items.reduce((sum, { spans }) => sum + widthOfSpans(state.settings.look, spans), 0);
  const start = state.size.columns - widthOf(right);
  const [items, offset] = column < start ? [left, column] : [right, column - start];
  const at = items.findIndex((_, index) => offset < widthOf(items.slice(0, index + 1)));
  return items[at]?.binding ?? null;
}

function itemsOf(state: State): { readonly left: readonly Item[]; readonly right: readonly Item[] } {
  const { settings, size } = state;
  const items = bindingsHere(state)
    .filter(({ footer }) => footer !== undefined)
    .sort((one, other) => one.footer! - other.footer!)
    .map((binding): Item => ({ binding, spans: spansOf(state, binding) }));
  const right = items.filter(({ binding }) => binding.footer! >= LAST_RANK);
  let room = size.columns - right.reduce((sum, { spans }) => sum + widthOfSpans(settings.look, spans), 0);
  const left = items
    .filter(({ binding }) => binding.footer! < LAST_RANK)
    .filter(({ spans }) => (room -= widthOfSpans(settings.look, spans)) >= 0);
  return { left, right };
}

function spansOf(state: State, binding: Binding): Span[] {
  return whyOff(state, binding) === null
    ? [{ text: ` ${binding.show}`, style: "bold" }, { text: ` ${binding.label} ` }]
    : [{ text: ` ${binding.show} ${binding.label} `, style: "grey" }];
}

/** Keys from this rank on are shown on any screen, however narrow. */
const LAST_RANK = 98;

const FOOTERS = {
  line: "Enter apply  Esc cancel  Tab complete  Up Down history  ^u clear",
  help: "j k move  any other key closes",
  dialog: "",
};
