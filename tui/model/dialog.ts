/** Dialogs as data. A dialog keeps what it acts on, whatever happens to the list behind it. */
import type { Endpoint, Job, JobPlan } from "../../src/client/operations.ts";
import type { KeyName } from "../keystrokes.ts";
import type { ActDraft } from "./call.ts";

/**
 * To add a kind of dialog, add a member here, its keys (`state/dialogs/dialog-keys.ts`) and its rows
 * (`screens/dialogs.ts`).
 */
export type Dialog = ConfirmDialog | ChoiceDialog | FormDialog | SecretDialog | PlanDialog | CommandsDialog;

/** Asks yes or no. The default is no. */
export interface ConfirmDialog {
  readonly kind: "confirm";
  readonly title: string;
  /** Sentences about what it acts on and what it does. They may contain outside text. */
  readonly facts: readonly string[];
  /** Describes in a word or two what `y` does. */
  readonly yes: string;
  /** Sent on `y`. */
  readonly act: ActDraft;
}

/** Asks for one of several choices, each with its own key. Enter chooses none of them. */
export interface ChoiceDialog {
  readonly kind: "choice";
  readonly title: string;
  readonly facts: readonly string[];
  /** The endpoint whose deliveries are counted while the dialog is shown, and what would happen to them. */
  readonly waiting: Waiting | null;
  readonly choices: readonly { readonly key: KeyName; readonly label: string; readonly act: ActDraft }[];
}

export interface Waiting {
  readonly endpoint: string;
  readonly fate: "kept" | "sent" | "cancelled";
}

/** Fields to fill in. A mistake is shown at its field, and nothing is sent before Enter in the last field. */
export interface FormDialog {
  readonly kind: "form";
  readonly for: Purpose;
  readonly title: string;
  /** Sentences about what it acts on and what it does. They may contain outside text. */
  readonly facts: readonly string[];
  readonly fields: readonly Field[];
  /** The index of the field that gets the keys. */
  readonly at: number;
  /** Describes in a word or two what Enter does at the end. */
  readonly yes: string;
  /** A mistake that belongs to no single field. */
  readonly fault: string | null;
  /** The key of the act that has no response yet. */
  readonly sent: string | null;
}

/** The purpose of a form, and the thing that it is about. */
export type Purpose =
  | { readonly kind: "add" }
  | { readonly kind: "edit"; readonly before: Endpoint }
  | { readonly kind: "rotate"; readonly endpoint: Endpoint }
  | { readonly kind: "delete"; readonly endpoint: Endpoint }
  | { readonly kind: "pause" }
  /** The job whose canary failed. */
  | { readonly kind: "resume"; readonly job: Job }
  /** Null if the form has a field for the endpoint. */
  | { readonly kind: "test"; readonly endpoint: Endpoint | null };

export interface Field {
  /** The field's name in the request. */
  readonly name: string;
  readonly label: string;
  /** Event types are completed from the catalogue. Up and Down go through the choices for one of several. */
  readonly takes: "text" | "types" | "type" | "endpoint" | "filter" | "choice";
  /** All choices, or for event types the ones that are offered first. */
  readonly choices: readonly string[];
  readonly line: Line;
  /** Describes what may be typed, while there is no mistake. */
  readonly hint: string;
  readonly fault: string | null;
}

/** A line of text being typed: a filter, a place to jump to, or the value of a form's field. */
export interface Line {
  readonly for: "filter" | "jump" | "field";
  readonly text: string;
  readonly cursor: number;
  /** The number of steps back in the history. 0 is the text that is being typed. */
  readonly past: number;
  readonly typed: string;
  readonly mistake: string | null;
}

/** The only place that holds a secret. Leaving the dialog removes it. */
export interface SecretDialog {
  readonly kind: "secret";
  readonly title: string;
  readonly facts: readonly string[];
  readonly secret: string;
}

/** The action and the deliveries of a job, as its draft takes them. They are fixed when the dialog opens. */
export interface JobSet {
  readonly action: Job["action"];
  readonly filter: Readonly<Record<string, string | boolean | readonly string[]>>;
  readonly tenant: string | undefined;
}

/**
 * Acts on many deliveries by a plan that the daemon makes first. The person types their number, or sends a canary
 * first.
 */
export interface PlanDialog {
  readonly kind: "plan";
  /** Different for each plan that is requested, so that a late response to an older request is dropped. */
  readonly number: number;
  /** Describes the set in a few words. It may contain outside text. */
  readonly about: string;
  readonly set: JobSet;
  /** The period of a back-fill, one of `PERIODS`. Null if the list's filter has one, and for all other jobs. */
  readonly period: string | null;
  /** Null until the daemon has responded. */
  readonly plan: JobPlan | null;
  /** The reason that there is no plan, or that the job was refused. */
  readonly problem: string | null;
  /** Attempts per second, for each endpoint. */
  readonly pace: number;
  readonly canary: boolean;
  readonly field: "count" | "pace";
  readonly typed: string;
  /** Says what was wrong with the typed text, or what has changed. */
  readonly note: string | null;
  /** The idempotency key of the act that was sent. The dialog stays until it has a response. */
  readonly sent: string | null;
}

/** Returns the endpoint whose pending deliveries a dialog counts, and what happens to them. */
export function waitingOf(dialog: Dialog): Waiting | null {
  if (dialog.kind === "choice") return dialog.waiting;
  if (dialog.kind !== "form" || dialog.for.kind !== "delete") return null;
  return { endpoint: dialog.for.endpoint.id, fate: "cancelled" };
}

/** Commands to type in a shell. The number before a command copies it. */
export interface CommandsDialog {
  readonly kind: "commands";
  readonly title: string;
  readonly commands: readonly { readonly what: string; readonly command: string }[];
  /** The first row that is shown, because a small terminal does not fit them all. */
  readonly top: number;
}
