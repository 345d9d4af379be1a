/** Handles the keys of a dialog. Esc always leaves it without doing anything. */
import type { KeyName } from "../../keystrokes.ts";
import type { CommandsDialog, Dialog, FormDialog } from "../../model/dialog.ts";
import type { State, Step } from "../../model/state.ts";
import { perform } from "../acts.ts";
import { completed, faulted, isPicked, moved, picked, withField } from "./fields.ts";
import { requestOf } from "./form-requests.ts";
import { pressPlan } from "./plan.ts";
import { editLine, insert } from "../line-editor.ts";
import { copy, toast } from "../toast.ts";

export function pressDialog(state: State, dialog: Dialog, key: KeyName): Step {
  const closed = { ...state, modes: state.modes.slice(0, -1) };
  if (key === "esc") return { state: closed, effects: [] };
  switch (dialog.kind) {
    case "confirm":
      if (key === "y") return perform(closed, dialog.act);
      if (key !== "n" && key !== "enter") return { state, effects: [] };
      return { state: toast(closed, "nothing was done"), effects: [] };
    case "choice": {
      const chosen = dialog.choices.find((one) => one.key === key);
      return chosen === undefined ? { state, effects: [] } : perform(closed, chosen.act);
    }
    case "form":
      return pressForm(state, dialog, key);
    case "secret":
      if (key !== "y") return { state, effects: [] };
      return copy(state, "the secret", dialog.secret);
    case "commands":
      return pressCommands(state, dialog, key);
    case "plan":
      return pressPlan(state, dialog, key);
  }
}

function pressCommands(state: State, dialog: CommandsDialog, key: KeyName): Step {
  const chosen = dialog.commands[Number(key) - 1];
  if (chosen !== undefined) return copy(state, "the command", chosen.command);
  const by = { j: 1, down: 1, k: -1, up: -1 }[key];
  if (by === undefined) return { state, effects: [] };
  const next = { ...dialog, top: Math.max(0, dialog.top + by) };
  return { state: { ...state, modes: [...state.modes.slice(0, -1), { kind: "dialog", dialog: next }] }, effects: [] };
}

export function pressForm(state: State, form: FormDialog, key: KeyName): Step {
  // The form was sent, so it must not change.
  if (form.sent !== null) return { state, effects: [] };
  const field = form.fields[form.at]!;
  const only = (next: FormDialog): Step => ({ state: withForm(state, next), effects: [] });
  switch (key) {
    case "enter":
      return form.at === form.fields.length - 1 ? submit(state, form) : only(moved(form, 1));
    case "tab": {
      const line = completed(field, state);
      return only(line === null ? moved(form, 1) : withField(form, { ...field, line, fault: null }));
    }
    case "shift+tab":
      return only(moved(form, -1));
    case "down":
    case "up": {
      const by = key === "down" ? 1 : -1;
      return only(isPicked(field) ? withField(form, picked(field, by, state)) : moved(form, by));
    }
    default: {
      const line = editLine(field.line, key, state);
      return only(line === null ? form : withField(form, { ...field, line, fault: null }));
    }
  }
}

/** Inserts pasted text into the field, on one line. */
export function pasteInto(form: FormDialog, text: string): FormDialog {
  if (form.sent !== null) return form;
  const field = form.fields[form.at]!;
  return withField(form, { ...field, line: insert(field.line, text.trim()), fault: null });
}

function submit(state: State, form: FormDialog): Step {
  const asked = requestOf(form, state);
  if ("faults" in asked) return { state: withForm(state, faulted(form, asked.faults)), effects: [] };
  const step = perform(state, asked);
  const sent = step.effects.length > 0 ? step.state.acts.at(-1)!.key : null;
  return { ...step, state: withForm(step.state, { ...form, fault: null, sent }) };
}

/** Replaces the form on top. */
function withForm(state: State, dialog: FormDialog): State {
  return { ...state, modes: [...state.modes.slice(0, -1), { kind: "dialog", dialog }] };
}
