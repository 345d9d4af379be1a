/** Dialogs as data. A dialog names what it acts on and keeps it, whatever the list behind it does. */
import type { Endpoint } from "../src/client/answers.ts";
import type { ActDraft, Line } from "./model.ts";

/** A new kind of dialog is one more member here, with its keys and its rows. */
export type Dialog = ConfirmDialog | FormDialog | SecretDialog;

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
export type Purpose = { readonly kind: "add" } | { readonly kind: "edit"; readonly before: Endpoint };

export interface Field {
  /** As the request calls it. */
  readonly name: string;
  readonly label: string;
  /** Event types are completed from the catalogue. */
  readonly takes: "text" | "types";
  readonly line: Line;
  /** What may be typed, while nothing is wrong. */
  readonly hint: string;
  readonly fault: string | null;
}

/** The only place where a secret is: once it is left there is none. */
export interface SecretDialog {
  readonly kind: "secret";
  readonly title: string;
  readonly facts: readonly string[];
  readonly secret: string;
}
