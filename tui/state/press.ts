/** Decides who takes a key: the topmost layer over the screen, or else the key table. */
import { commandsOf, type KeyName, type Sort } from "../keystrokes.ts";
import { bindingFor, whyOff } from "../keys/table.ts";
import type { Line } from "../model/dialog.ts";
import type { Mode, State, Step } from "../model/state.ts";
import { pasteInto, pressDialog } from "./dialogs/dialog-keys.ts";
import { editLine, insert } from "./line-editor.ts";
import { isBoxed, retry } from "./connection.ts";
import { filterEvents, filterFault, findEndpoint, isSearch, jump, setFilter } from "./lists/navigation.ts";
import { here } from "./lists/places.ts";
import { toast } from "./toast.ts";

const EVERYWHERE: readonly KeyName[] = ["ctrl+c", "ctrl+z", "ctrl+l"];

/** Handles the keys of one chunk. */
export function press(state: State, keys: readonly KeyName[]): Step {
  if (state.link.kind === "differs") return { state, effects: [{ do: "quit", exit: 5 }] };
  const isTyping = takesText(state.modes.at(-1));
  const place = here(state);
  const sortOf = (key: KeyName): Sort => {
    const { moves, types } = bindingFor(key, place) ?? {};
    return moves ? "moves" : types ? "types" : "acts";
  };
  const taken = isTyping ? keys : commandsOf(keys, sortOf);
  let step: Step = { state, effects: [] };
  for (const key of taken) {
    // Keys that come after the text of a line are not commands.
    if (isTyping && !takesText(step.state.modes.at(-1))) break;
    const next = pressOne(step.state, key);
    step = { state: next.state, effects: [...step.effects, ...next.effects] };
  }
  return step;
}

function takesText(mode: Mode | undefined): boolean {
  return (
    mode?.kind === "line" || (mode?.kind === "dialog" && (mode.dialog.kind === "plan" || mode.dialog.kind === "form"))
  );
}

function pressOne(state: State, key: KeyName): Step {
  const mode = state.modes.at(-1);
  if (mode === undefined && key === "r" && isBoxed(state.link)) return retry(state, { atOnce: true });
  // These keys do the same whatever lies over the screen.
  if (mode === undefined || EVERYWHERE.includes(key)) return pressScreen(state, key);
  switch (mode.kind) {
    case "line":
      return { state: pressLine(state, mode.line, key), effects: [] };
    case "help":
      return { state: pressHelp(state, mode.top, key), effects: [] };
    case "dialog":
      return pressDialog(state, mode.dialog, key);
  }
}

export function pressScreen(state: State, key: KeyName): Step {
  const binding = bindingFor(key, here(state));
  if (binding === undefined) return { state, effects: [] };
  const why = whyOff(state, binding);
  return why === null ? binding.run(state) : { state: toast(state, `${binding.show} is off: ${why}`), effects: [] };
}

function pressLine(state: State, line: Line, key: KeyName): State {
  if (key === "esc") return pop(state);
  if (key === "enter") return acceptLine(state, line);
  const edited = editLine(line, key, state);
  return edited === null ? state : withTop(state, { kind: "line", line: edited });
}

function acceptLine(state: State, line: Line): State {
  const text = line.text.trim();
  if (line.for === "jump") {
    const there = jump(pop(state), text);
    const mistake = `"${text}" is not a screen, the id of an event or endpoint, or a filter`;
    return there ?? withTop(state, { kind: "line", line: { ...line, mistake } });
  }
  if (isSearch(state, text)) return findEndpoint(pop(state), text);
  const events = filterEvents(state, text);
  if (events !== null) return pop(events);
  const mistake = filterFault(state, text);
  return mistake === null ? setFilter(pop(state), text) : withTop(state, { kind: "line", line: { ...line, mistake } });
}

function pressHelp(state: State, top: number, key: KeyName): State {
  const by = { j: 1, down: 1, k: -1, up: -1, pagedown: 10, pageup: -10, space: 10 }[key];
  return by === undefined ? pop(state) : withTop(state, { kind: "help", top: Math.max(0, top + by) });
}

/** Handles a paste, which is text and never keys. */
export function typeText(state: State, text: string): State {
  const mode = state.modes.at(-1);
  if (mode?.kind === "line") return withTop(state, { kind: "line", line: insert(mode.line, text) });
  if (mode?.kind === "dialog" && mode.dialog.kind === "form") {
    return withTop(state, { kind: "dialog", dialog: pasteInto(mode.dialog, text) });
  }
  return mode === undefined ? toast(state, "text can only be pasted into a line: press / or : first") : state;
}

export function pop(state: State): State {
  return { ...state, modes: state.modes.slice(0, -1) };
}

export function withTop(state: State, mode: Mode): State {
  return { ...state, modes: [...state.modes.slice(0, -1), mode] };
}
