/** What keys do in a dialog. Esc always leaves it with nothing done. */
import type { Dialog } from "../dialog.ts";
import type { KeyName } from "../keystrokes.ts";
import type { State, Step } from "../model.ts";
import { perform } from "./acts.ts";
import { pressForm } from "./form-keys.ts";
import { pressPlan } from "./plan.ts";
import { copy } from "./copy.ts";
import { toast } from "./toast.ts";

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
    case "commands": {
      const chosen = dialog.commands[Number(key) - 1];
      return chosen === undefined ? { state, effects: [] } : copy(state, "the command", chosen.command);
    }
    case "plan":
      return pressPlan(state, dialog, key);
  }
}
