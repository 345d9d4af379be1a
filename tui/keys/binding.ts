import type { KeyName } from "../keystrokes.ts";
import type { Place, State, Step } from "../model/state.ts";

export interface Binding {
  readonly keys: readonly KeyName[];
  /** The name of the keys in the footer and the help. */
  readonly show: string;
  /** The text in the footer: a word or two. */
  readonly label: string;
  /** The text in the help, if the label does not say everything. */
  readonly help?: string;
  /** The places where the key works. Undefined means everywhere. */
  readonly on?: readonly Place["kind"][];
  /** The rank in the footer, lowest first. A key without a rank is only in the help. */
  readonly footer?: number;
  /** If true, every one of several in a chunk counts. */
  readonly moves?: true;
  /** Opens a line. Keys that follow in the same chunk are its text. */
  readonly types?: true;
  /** Changes something in the daemon. The key is off in read-only mode, and while the daemon cannot be reached. */
  readonly acts?: true;
  off?(state: State): string | null;
  run(state: State): Step;
}

export function only(state: State): Step {
  return { state, effects: [] };
}

export const LISTS = ["overview", "events", "deliveries", "endpoints", "failures", "activity", "endpoint"] as const;
