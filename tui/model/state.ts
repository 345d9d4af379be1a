/**
 * What the dashboard knows and shows, as one immutable value. Strings from the daemon are outside text here; they are
 * made harmless where they are drawn.
 */
import type { Delivery } from "../../src/client/operations.ts";
import type { StreamMessage } from "../../src/client/stream.ts";
import type { Look } from "../draw/look.ts";
import type { KeyName } from "../keystrokes.ts";
import type { MouseReport } from "../mouse/reports.ts";
import type { Act, Answered, Call, Problem } from "./call.ts";
import type { Dialog, Line } from "./dialog.ts";
import type { Known } from "./known.ts";
import type { List, Rows, Tab } from "./list.ts";

export interface State {
  /** Epoch milliseconds of the last message. */
  readonly now: number;
  readonly openedAt: number;
  readonly size: Size;
  readonly settings: Settings;
  readonly link: Link;
  readonly tab: Tab;
  /** The tab that was shown before. */
  readonly lastTab: Tab;
  /** What was opened on each tab, the list itself first; Esc takes the last one off. */
  readonly tabs: { readonly [T in Tab]: readonly Place[] };
  readonly known: Known;
  /** Questions that have no answer yet, by `askKey`. */
  readonly asked: ReadonlyMap<string, { readonly call: Call; readonly at: number }>;
  /** Questions that failed, and until when they are not asked again: epoch milliseconds. */
  readonly resting: ReadonlyMap<string, number>;
  /** What lies over the screen and takes the keys, the topmost last. */
  readonly modes: readonly Mode[];
  /** Which half of a split screen the cursor keys move. */
  readonly focus: "list" | "pane";
  /** First line of the pane. */
  readonly paneTop: number;
  readonly mouse: Mouse;
  readonly acts: readonly Act[];
  /** When the daemon last did one: what was read before may have changed by it. Epoch milliseconds. */
  readonly actedAt: number;
  readonly toast: Toast | null;
  readonly history: readonly string[];
  /** What was looked for among the endpoints: the only one that matches is opened. */
  readonly finding: string | null;
  /** Numbers places, questions and acts. */
  readonly counter: number;
}

export interface Mouse {
  /** While it is off, it selects text as in any terminal. */
  readonly isOn: boolean;
  /** Where its button was pressed and not let go yet. */
  readonly pressed: { readonly column: number; readonly row: number } | null;
  /** The row that a second click soon would open. */
  readonly clicked: { readonly row: number; readonly at: number } | null;
}

export interface Size {
  readonly columns: number;
  readonly rows: number;
}

/** What does not change while it runs. */
export interface Settings {
  readonly target: string;
  readonly version: string;
  readonly label: string;
  readonly readOnly: boolean;
  /** Whether the mouse is taken from the start on. */
  readonly mouse: boolean;
  readonly look: Look;
  /** How often what came from the stream is drawn. */
  readonly refreshMs: number;
  /** Random; with a number behind it, the idempotency key of an act. */
  readonly session: string;
}

export type Link =
  | { readonly kind: "connecting" }
  | { readonly kind: "live" }
  /** `at`: when it broke; `tries` that failed since. */
  | {
      readonly kind: "lost";
      readonly at: number;
      readonly tries: number;
      readonly retryAt: number;
      readonly why: string;
      /** The box that says so was sent away. */
      readonly looked: boolean;
    }
  /** Not tried again until a person asks for it. */
  | { readonly kind: "refused"; readonly why: string; readonly hint: string }
  | { readonly kind: "differs"; readonly daemon: string };

export type ListPlace = {
  [T in Tab]: { readonly kind: T; readonly number: number; readonly list: List<Rows[T]> };
}[Tab];
export type EndpointPlace = {
  readonly kind: "endpoint";
  readonly number: number;
  readonly id: string;
  /** The deliveries owed to it. */
  readonly list: List<Delivery>;
};
export type EventPlace = { readonly kind: "event"; readonly number: number; readonly id: string; readonly top: number };
export type Place = ListPlace | EndpointPlace | EventPlace;

export type Mode =
  | { readonly kind: "line"; readonly line: Line }
  | { readonly kind: "help"; readonly top: number }
  | { readonly kind: "dialog"; readonly dialog: Dialog };

export interface Toast {
  readonly text: string;
  readonly tone: "good" | "bad" | "plain";
  readonly until: number;
}

/** Requests to make, as data. */
export type Effect =
  | { readonly do: "call"; readonly call: Call }
  /** Opens the stream, after closing the one before. */
  | { readonly do: "connect"; readonly lastEventId: string | null }
  | { readonly do: "copy"; readonly text: string }
  /** Into a new file in the folder where the dashboard was started. */
  | { readonly do: "save"; readonly name: string; readonly text: string }
  | { readonly do: "mouse"; readonly isOn: boolean }
  | { readonly do: "suspend" }
  | { readonly do: "redraw" }
  | { readonly do: "quit"; readonly exit: number };

export type Message = { readonly now: number } & (
  | { readonly kind: "keys"; readonly keys: readonly KeyName[] }
  | { readonly kind: "paste"; readonly text: string }
  | { readonly kind: "mouse"; readonly reports: readonly MouseReport[] }
  | { readonly kind: "size"; readonly size: Size }
  | { readonly kind: "tick" }
  /** What came of writing a file: its path, or why there is none. */
  | { readonly kind: "saved"; readonly path: string }
  | { readonly kind: "unsaved"; readonly why: string }
  | { readonly kind: "stream"; readonly messages: readonly StreamMessage[] }
  | { readonly kind: "lost"; readonly problem: Problem }
  | Answered
  | { readonly kind: "failed"; readonly call: Call; readonly problem: Problem }
);

/** What follows from a message. */
export interface Step {
  readonly state: State;
  readonly effects: readonly Effect[];
}
