import type { State, Toast } from "../model.ts";

const TOAST_MS = 8000;

/** Says something in the line for it, for a while. */
export function toast(state: State, text: string, tone: Toast["tone"] = "plain"): State {
  return { ...state, toast: { text, tone, until: state.now + TOAST_MS } };
}
