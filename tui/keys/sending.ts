/** Keys that pause and resume all sending. */
import type { ConfirmDialog } from "../model/dialog.ts";
import type { State } from "../model/state.ts";
import { pauseForm } from "../state/dialogs/forms.ts";
import { only, type Binding } from "./binding.ts";
import { ask, hold } from "./subject.ts";
import { KEY } from "./names.ts";

export const SENDING: readonly Binding[] = [
  {
    keys: [KEY.pauseSending],
    show: KEY.pauseSending,
    label: "pause sending",
    help: "pause all sending, or resume it",
    acts: true,
    off: (state) => (state.known.status === null ? "whether sending is paused is not known yet" : null),
    run: (state) => only(ask(hold(state), state.known.status?.value.paused ? resumeDialog(state) : pauseForm())),
  },
];

function resumeDialog({ known }: State): ConfirmDialog {
  const { reason, by, at } = known.status!.value.paused!;
  return {
    kind: "confirm",
    title: "Resume sending",
    facts: [`Paused since ${at} by ${by}:`, reason, "", "Attempts to every endpoint start again, overdue ones first."],
    yes: "resume",
    act: { label: "resume sending", request: { operation: "resumeDaemon", ask: {} }, event: null },
  };
}
