/**
 * What the dashboard knows and shows, as one immutable value. Strings from the daemon are outside text here; they are
 * made harmless where they are drawn.
 */
import type {
  Answers,
  Attempt,
  AuditRecord,
  Delivery,
  Endpoint,
  EndpointWithHealth,
  Event,
  EventSummary,
  EventType,
  FailureGroup,
  Job,
  Statistics,
  Status,
} from "../src/client/answers.ts";
import type { Ask } from "../src/client/client.ts";
import type { Fault } from "../src/client/error.ts";
import type { StreamMessage } from "../src/client/stream.ts";
import type { Dialog } from "./dialog.ts";
import type { Look } from "./draw/look.ts";
import type { KeyName } from "./keystrokes.ts";

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
  readonly acts: readonly Act[];
  readonly toast: Toast | null;
  readonly history: readonly string[];
  /** Numbers places, questions and acts. */
  readonly counter: number;
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
  /** Not to be tried again before somebody asks for it. */
  | { readonly kind: "refused"; readonly why: string; readonly hint: string }
  | { readonly kind: "differs"; readonly daemon: string };

export const TABS = ["events", "deliveries", "endpoints", "failures", "activity"] as const;
export type Tab = (typeof TABS)[number];

export interface Rows {
  readonly events: EventSummary;
  readonly deliveries: Delivery;
  readonly endpoints: Endpoint;
  readonly failures: FailureGroup;
  readonly activity: AuditRecord | Job;
}

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

/** A window on a list of the daemon's: pages next to each other, of which those far from what is shown are let go. */
export interface List<T> {
  /** As it was typed and accepted. */
  readonly filter: string;
  /** From which end it is read. */
  readonly edge: "newest" | "oldest";
  /** One more each time it is read anew: answers to older questions are dropped. */
  readonly generation: number;
  /** In the order of reading, all that were ever read: a page that was let go is read again by its cursor. */
  readonly pages: readonly ListPage<T>[];
  /** Of the page after the last; null at the end, undefined before the first. */
  readonly next: string | null | undefined;
  /** Rows before all others that belong to no page. */
  readonly pinned: readonly T[];
  /** The pinned ones and what the pages hold, newest first whichever end it was read from. */
  readonly rows: readonly T[];
  readonly selected: string | null;
  /** Of the selected row, or of where it was. */
  readonly index: number;
  /** Rows that the cursor is still to go, over those that are not read yet. */
  readonly owed: number;
  /** Of the first row on the screen. */
  readonly top: number;
  /** Whether the newest row stays on top. */
  readonly follow: boolean;
  /** Rows that came since it was held, as far as they were told one by one. */
  readonly newer: number;
  /** The greatest id of an event that was counted so. */
  readonly newest: string;
  readonly stale: boolean;
  /** Rows on the screen that may have changed since they were read. */
  readonly touched: ReadonlySet<string>;
  /** When it was read last. */
  readonly at: number;
  /** How long the answer was under way: what is much work for the daemon is asked less often. */
  readonly tookMs: number;
  readonly problem: string | null;
  readonly marks: ReadonlySet<string>;
}

export interface ListPage<T> {
  readonly cursor: string | null;
  /** Null once it was let go. */
  readonly rows: readonly T[] | null;
}

/** What was read beside the lists. */
export interface Known {
  readonly status: Read<Status> | null;
  readonly day: Read<Statistics> | null;
  readonly hour: Read<Statistics> | null;
  readonly jobs: Read<readonly Job[]> | null;
  /** The catalogue of event types. */
  readonly types: readonly EventType[] | null;
  /** What this key may not ask, so that it is asked once. */
  readonly forbidden: ReadonlySet<keyof Answers>;
  readonly endpoints: ReadonlyMap<string, Endpoint>;
  /** How many of them the first page of all had. */
  readonly roll: Read<number> | null;
  /** Endpoints that there are not any more. */
  readonly gone: ReadonlySet<string>;
  readonly health: ReadonlyMap<string, Read<EndpointWithHealth>>;
  readonly endpointStats: ReadonlyMap<string, Read<Statistics>>;
  /** Of endpoints, the latest first. */
  readonly lastAttempts: ReadonlyMap<string, Read<readonly Attempt[]>>;
  readonly events: ReadonlyMap<string, Read<Event>>;
  readonly attempts: ReadonlyMap<string, Read<readonly Attempt[]>>;
  /** Attempts by id, as samples of what failed. */
  readonly samples: ReadonlyMap<string, Attempt>;
  /** What the stream told since the statistics were read. */
  readonly since: { readonly delivered: number; readonly failed: number };
  /** Attempts of the last seconds, newest last. */
  readonly pace: readonly { readonly at: number; readonly attempts: number }[];
  /** How far behind the daemon's clock the news are, against the best that was seen. */
  readonly lagMs: number;
  readonly leastDelay: number | null;
  readonly lastEventId: string | null;
  readonly lastNews: number;
}

/** A thing that was read, when, and whether something happened to it since. */
export interface Read<T> {
  readonly value: T;
  readonly at: number;
  readonly stale: boolean;
}

export type Mode =
  | { readonly kind: "line"; readonly line: Line }
  | { readonly kind: "help"; readonly top: number }
  | { readonly kind: "dialog"; readonly dialog: Dialog };

/** A line that is typed: a filter, where to go, or what a field of a form holds. */
export interface Line {
  readonly for: "filter" | "jump" | "field";
  readonly text: string;
  readonly cursor: number;
  /** How far up in the history; 0: what is typed now. */
  readonly past: number;
  readonly typed: string;
  readonly mistake: string | null;
}

/** Something to ask of the daemon that changes something. */
export interface ActDraft {
  /** What is said while it runs: `replay evt_…`. */
  readonly label: string;
  readonly request: Request;
  /** The event whose next attempt tells how it went; null where the answer says it all. */
  readonly event: string | null;
  /** Only the attempt of this one delivery tells it. */
  readonly delivery?: string;
}

/** One that was asked. */
export interface Act extends ActDraft {
  /** The idempotency key: an act whose answer was lost is sent again under the same one. */
  readonly key: string;
  readonly call: Call;
  /** Since when it is in its phase. */
  readonly at: number;
  /** `sent`: no answer yet. `waiting`: the daemon went away; sent again when it is back. `done`: its effect is awaited. */
  readonly phase: "sent" | "waiting" | "done";
  /** How often it was sent. */
  readonly tries: number;
}

export interface Toast {
  readonly text: string;
  readonly tone: "good" | "bad" | "plain";
  readonly until: number;
}

/** One question to the daemon: an operation of the API by name, and what the answer is for. */
export type Call = { [O in keyof Answers]: CallOf<O> }[keyof Answers];
/** One that nobody waits for yet. */
export type Request = { [O in keyof Answers]: Omit<CallOf<O>, "about"> }[keyof Answers];
export interface CallOf<O extends keyof Answers> {
  readonly operation: O;
  readonly ask: Ask;
  readonly about: About;
}

export type About =
  | { readonly for: "page"; readonly place: number; readonly generation: number; readonly page: number }
  | { readonly for: "row"; readonly id: string }
  | { readonly for: "act"; readonly key: string }
  /** Of the plan dialog with this number. */
  | { readonly for: "plan"; readonly number: number }
  /** Into `known`, under the operation and this. */
  | { readonly for: "known"; readonly id: string };

/** Requests to make, as data. */
export type Effect =
  | { readonly do: "call"; readonly call: Call }
  /** Opens the stream, after closing the one before. */
  | { readonly do: "connect"; readonly lastEventId: string | null }
  | { readonly do: "copy"; readonly text: string }
  /** Into a new file in the folder where the dashboard was started. */
  | { readonly do: "save"; readonly name: string; readonly text: string }
  | { readonly do: "suspend" }
  | { readonly do: "redraw" }
  | { readonly do: "quit"; readonly exit: number };

export type Message = { readonly now: number } & (
  | { readonly kind: "keys"; readonly keys: readonly KeyName[] }
  | { readonly kind: "paste"; readonly text: string }
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

export type Answered = {
  [O in keyof Answers]: { readonly kind: "answered"; readonly call: CallOf<O>; readonly answer: Answers[O] };
}[keyof Answers];

/** Of a `ClientError`. */
export interface Problem {
  readonly failure: string;
  readonly code: string;
  readonly message: string;
  readonly hint: string;
  /** Of the fields of what was sent. */
  readonly faults?: readonly Fault[];
}

/** What follows from a message. */
export interface Step {
  readonly state: State;
  readonly effects: readonly Effect[];
}
