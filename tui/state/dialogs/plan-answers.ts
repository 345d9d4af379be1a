/** Applies the daemon's responses to a plan dialog. */
import type { JobPlan } from "../../../src/client/operations.ts";
import type { PlanDialog } from "../../model/dialog.ts";
import { countText } from "../../draw/numbers.ts";
import type { Problem } from "../../model/call.ts";
import type { State } from "../../model/state.ts";

export function planMade(state: State, number: number, plan: JobPlan): State {
  return changePlan(state, number, (dialog) => ({ ...dialog, plan }));
}

export function planRefused(state: State, number: number, problem: Problem): State {
  return changePlan(state, number, (dialog) => ({ ...dialog, problem: textOf(problem) }));
}

export function changePlan(state: State, number: number, change: (dialog: PlanDialog) => PlanDialog): State {
  const modes = state.modes.map((mode) =>
    mode.kind === "dialog" && mode.dialog.kind === "plan" && mode.dialog.number === number
      ? { ...mode, dialog: change(mode.dialog) }
      : mode,
  );
  return { ...state, modes };
}

function textOf({ message, hint }: Problem): string {
  return [message, hint].filter((part) => part !== "").join(". ");
}

/** Closes the dialog, because its job was created. */
export function planAnswered(state: State, key: string): State {
  const modes = state.modes.filter((mode) => !isSent(mode, key));
  return modes.length === state.modes.length ? state : { ...state, modes };
}

/**
 * Shows a failure in the dialog. Returns null if no dialog can show it, so that it is reported like any other act's
 * failure.
 */
export function planFailed(state: State, key: string, problem: Problem): State | null {
  const mode = state.modes.find((one) => isSent(one, key));
  if (mode?.kind !== "dialog" || mode.dialog.kind !== "plan" || problem.failure === "unreachable") return null;
  const { dialog } = mode;
  const refused = { ...dialog, sent: null, typed: "", plan: null };
  // A new number makes the dialog request a new plan.
  const next: PlanDialog =
    problem.code === "plan_changed"
      ? {
          ...refused,
          number: state.counter,
          note: `The count is no longer ${countText(dialog.plan?.matched ?? 0)}, so nothing was done. The new plan:`,
        }
      : { ...refused, problem: textOf(problem) };
  const modes = state.modes.map((one) => (one === mode ? { kind: "dialog" as const, dialog: next } : one));
  return { ...state, counter: state.counter + 1, modes };
}

function isSent(mode: State["modes"][number], key: string): boolean {
  return mode.kind === "dialog" && mode.dialog.kind === "plan" && mode.dialog.sent === key;
}
