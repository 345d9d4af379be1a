/** Dialogs as data. A dialog names what it acts on and keeps it, whatever the list behind it does. */
import type { ActDraft } from "./model.ts";

/** Asks yes or no; no is the default. A new kind of dialog is one more member here, with its keys and its rows. */
export type Dialog = ConfirmDialog;

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
