/** Dialogs as data. A dialog names what it acts on and keeps it, whatever the list behind it does. */
import type { Endpoint, Job, JobPlan } from "../../src/client/operations.ts";
import type { KeyName } from "../keystrokes.ts";
import type { ActDraft } from "./call.ts";

/** A new kind of dialog is one more member here, with its keys (`state/dialogs/dialog-keys.ts`) and rows (`screens/dialogs.ts`). */
export type Dialog = ConfirmDialog | ChoiceDialog | FormDialog | SecretDialog | PlanDialog | CommandsDialog;

/** Asks yes or no; no is the default. */
export interface ConfirmDialog {
  readonly kind: "confirm";
  readonly title: string;
  /** What it acts on and what it does; outside text. */
  readonly facts: readonly string[];
  /** What `y` does, in a word or two. */
  readonly yes: string;
  /** Sent on `y`. */
  readonly act: ActDraft;
}

/** Asks which of several, with a key for each; none of them is Enter. */
export interface ChoiceDialog {
  readonly kind: "choice";
  readonly title: string;
  readonly facts: readonly string[];
  /** Whose deliveries are counted as it is shown, and what would become of them. */
  readonly waiting: Waiting | null;
  readonly choices: readonly { readonly key: KeyName; readonly label: string; readonly act: ActDraft }[];
}

export interface Waiting {
  readonly endpoint: string;
  readonly fate: "kept" | "sent" | "cancelled";
}

/** Fields to be filled in. What is wrong is said at its field, and nothing is sent before Enter in the last one. */
export interface FormDialog {
  readonly kind: "form";
  readonly for: Purpose;
  readonly title: string;
  /** What it acts on and what it does; outside text. */
  readonly facts: readonly string[];
  readonly fields: readonly Field[];
  /** The field that takes the keys. */
  readonly at: number;
  /** What Enter does at the end, in a word or two. */
  readonly yes: string;
  /** What is wrong with no one field. */
  readonly fault: string | null;
  /** The key of the act that has no answer yet. */
  readonly sent: string | null;
}

/** What a form is filled in for, and what that is about. */
export type Purpose =
  | { readonly kind: "add" }
  | { readonly kind: "edit"; readonly before: Endpoint }
  | { readonly kind: "rotate"; readonly endpoint: Endpoint }
  | { readonly kind: "delete"; readonly endpoint: Endpoint }
  | { readonly kind: "pause" }
  /** Whose canary failed. */
  | { readonly kind: "resume"; readonly job: Job }
  /** Null: which one is a field of its own. */
  | { readonly kind: "test"; readonly endpoint: Endpoint | null };

export interface Field {
  /** As the request calls it. */
  readonly name: string;
  readonly label: string;
  /** Words are completed from the catalogue; one of several is gone through with Up and Down. */
  readonly takes: "text" | "types" | "type" | "endpoint";
  /** Those there are; of event types those that come first. */
  readonly choices: readonly string[];
  readonly line: Line;
  /** What may be typed, while nothing is wrong. */
  readonly hint: string;
  readonly fault: string | null;
}

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

/** The only place where a secret is: once it is left there is none. */
export interface SecretDialog {
  readonly kind: "secret";
  readonly title: string;
  readonly facts: readonly string[];
  readonly secret: string;
}

/** What a job is to do, and with which deliveries, as its draft takes it: settled when the dialog was opened. */
export interface JobSet {
  readonly action: Job["action"];
  readonly filter: Readonly<Record<string, string | boolean | readonly string[]>>;
  readonly tenant: string | undefined;
}

/** Acts on many by a plan that the daemon makes first: the number is typed, or a canary goes ahead. */
export interface PlanDialog {
  readonly kind: "plan";
  /** Another one for each plan that is asked for: a late answer to an older question is dropped. */
  readonly number: number;
  /** What the set is, in a few words; outside text. */
  readonly about: string;
  readonly set: JobSet;
  /** How far back a back-fill looks, among `PERIODS`; null where the list's filter says it, and for all other jobs. */
  readonly period: string | null;
  /** Null until the daemon has answered. */
  readonly plan: JobPlan | null;
  /** Why there is no plan, or why the job was refused. */
  readonly problem: string | null;
  /** Attempts a second, for each endpoint. */
  readonly pace: number;
  readonly canary: boolean;
  readonly field: "count" | "pace";
  readonly typed: string;
  /** What was wrong with what was typed, or what has changed. */
  readonly note: string | null;
  /** The idempotency key of the act that was sent; the dialog stays until it is answered. */
  readonly sent: string | null;
}

/** Whose waiting deliveries a dialog names. */
export function waitingOf(dialog: Dialog): Waiting | null {
  if (dialog.kind === "choice") return dialog.waiting;
  if (dialog.kind !== "form" || dialog.for.kind !== "delete") return null;
  return { endpoint: dialog.for.endpoint.id, fate: "cancelled" };
}

/** What to type in a shell; the number before a command copies it. */
export interface CommandsDialog {
  readonly kind: "commands";
  readonly title: string;
  readonly commands: readonly { readonly what: string; readonly command: string }[];
  /** The first row that is shown: not all have room in a small terminal. */
  readonly top: number;
}
