import type { State, Step, Toast } from "../model/state.ts";

const TOAST_MS = 8000;

/** Shows a message for a while, in the line for messages. */
export function toast(state: State, text: string, tone: Toast["tone"] = "plain"): State {
  return { ...state, toast: { text, tone, until: state.now + TOAST_MS } };
}

/** Copies into the clipboard, if the terminal lets programs write to it. There is no way to tell whether it did. */
export function copy(state: State, what: string, text: string): Step {
  return {
    state: toast(state, `copied ${what}, if this terminal lets programs copy`),
    effects: [{ do: "copy", text }],
  };
}
