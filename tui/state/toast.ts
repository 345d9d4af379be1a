import type { State, Step, Toast } from "../model/state.ts";

const TOAST_MS = 8000;

/** Says something in the line for it, for a while. */
export function toast(state: State, text: string, tone: Toast["tone"] = "plain"): State {
  return { ...state, toast: { text, tone, until: state.now + TOAST_MS } };
}

/** Into the clipboard, if the terminal lets programs write to it; there is no telling whether it did. */
export function copy(state: State, what: string, text: string): Step {
  return {
    state: toast(state, `copied ${what}, if this terminal lets programs copy`),
    effects: [{ do: "copy", text }],
  };
}
