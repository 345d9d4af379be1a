import type { KeyName } from "../keystrokes.ts";
import type { Place, State, Step } from "../model/state.ts";

export interface Binding {
  readonly keys: readonly KeyName[];
  /** As the footer and the help call the keys. */
  readonly show: string;
  /** In the footer, in a word or two. */
  readonly label: string;
  /** In the help, where the label does not say it all. */
  readonly help?: string;
  /** Where it is; everywhere without it. */
  readonly on?: readonly Place["kind"][];
  /** Its rank in the footer, the lowest first; without one it is in the help alone. */
  readonly footer?: number;
  /** Many in one chunk are taken. */
  readonly moves?: true;
  /** Opens a line: what comes in the same chunk is its text. */
  readonly types?: true;
  /** Changes something at the daemon: off while it cannot be reached, and in read-only mode. */
  readonly acts?: true;
  off?(state: State): string | null;
  run(state: State): Step;
}

export function only(state: State): Step {
  return { state, effects: [] };
}

export const LISTS = ["overview", "events", "deliveries", "endpoints", "failures", "activity", "endpoint"] as const;
