/**
 * Everything that the dashboard knows and shows, as one immutable value. Strings from the daemon are outside text here.
 * They are made safe where they are drawn.
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
  /**
   * For each tab, the stack of places that were opened on it, starting with the list itself. Esc removes the last one.
   */
  readonly tabs: { readonly [T in Tab]: readonly Place[] };
  readonly known: Known;
  /** Requests that have no response yet, by `askKey`. */
  readonly asked: ReadonlyMap<string, { readonly call: Call; readonly at: number }>;
  /** Requests that failed, and the time in epoch milliseconds until which they are not repeated. */
  readonly resting: ReadonlyMap<string, number>;
  /** The layers over the screen, which take the keys. The topmost is last. */
  readonly modes: readonly Mode[];
  /** The half of a split screen that the cursor keys move. */
  readonly focus: "list" | "pane";
  /** The first line shown in the pane. */
  readonly paneTop: number;
  readonly mouse: Mouse;
  readonly acts: readonly Act[];
  /**
   * Epoch milliseconds at which the daemon last completed an act, which may have changed anything that was read before.
   */
  readonly actedAt: number;
  readonly toast: Toast | null;
  readonly history: readonly string[];
  /** The text of a search among the endpoints. A single match is opened. */
  readonly finding: string | null;
  /** Numbers places, requests and acts. */
  readonly counter: number;
}

export interface Mouse {
  /** While this is false, the mouse selects text as in any terminal. */
  readonly isOn: boolean;
  /** The place where the button was pressed, until it is released. */
  readonly pressed: { readonly column: number; readonly row: number } | null;
  /** The row that a second click soon after would open. */
  readonly clicked: { readonly row: number; readonly at: number } | null;
}

export interface Size {
  readonly columns: number;
  readonly rows: number;
}

/** Settings that do not change while the dashboard runs. */
export interface Settings {
  readonly target: string;
  readonly version: string;
  readonly label: string;
  readonly readOnly: boolean;
  /** True if the mouse is on from the start. */
  readonly mouse: boolean;
  readonly look: Look;
  /** The interval at which messages of the stream are drawn. */
  readonly refreshMs: number;
  /** A random string. With a number appended, it is the idempotency key of an act. */
  readonly session: string;
}

export type Link =
  | { readonly kind: "connecting" }
  | { readonly kind: "live" }
  /** `at` is the time at which the connection broke, `tries` the number of failed attempts since. */
  | {
      readonly kind: "lost";
      readonly at: number;
      readonly tries: number;
      readonly retryAt: number;
      readonly why: string;
      /** True if the person closed the box about the lost connection. */
      readonly looked: boolean;
    }
  /** The dashboard does not try again until a person asks it to. */
  | { readonly kind: "refused"; readonly why: string; readonly hint: string }
  | { readonly kind: "differs"; readonly daemon: string };

export type ListPlace = {
  [T in Tab]: { readonly kind: T; readonly number: number; readonly list: List<Rows[T]> };
}[Tab];
export type EndpointPlace = {
  readonly kind: "endpoint";
  readonly number: number;
  readonly id: string;
  /** The endpoint's deliveries. */
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

/** Side effects to carry out, as data. */
export type Effect =
  | { readonly do: "call"; readonly call: Call }
  /** Opens the stream, after closing the previous one. */
  | { readonly do: "connect"; readonly lastEventId: string | null }
  | { readonly do: "copy"; readonly text: string }
  /** Writes a new file in the folder where the dashboard was started. */
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
  /** The result of writing a file: its path, or the reason why there is none. */
  | { readonly kind: "saved"; readonly path: string }
  | { readonly kind: "unsaved"; readonly why: string }
  | { readonly kind: "stream"; readonly messages: readonly StreamMessage[] }
  | { readonly kind: "lost"; readonly problem: Problem }
  | Answered
  | { readonly kind: "failed"; readonly call: Call; readonly problem: Problem }
);

/** The result of a message: the next state, and the effects to carry out. */
export interface Step {
  readonly state: State;
  readonly effects: readonly Effect[];
}
