import type { State, Step } from "../model.ts";
import { toast } from "./toast.ts";

/** Into the clipboard, if the terminal lets programs write to it: nobody is told whether it did. */
export function copy(state: State, what: string, text: string): Step {
  return {
    state: toast(state, `copied ${what}, if this terminal lets programs copy`),
    effects: [{ do: "copy", text }],
  };
}
