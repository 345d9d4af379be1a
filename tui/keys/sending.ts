/** The brake: no attempt of any delivery starts while it is on. */
import type { ConfirmDialog } from "../model/dialog.ts";
import type { State } from "../model/state.ts";
import { brakeForm } from "../state/dialogs/forms.ts";
import { only, type Binding } from "./binding.ts";
import { ask, hold } from "./subject.ts";

export const SENDING: readonly Binding[] = [
  {
    keys: ["B"],
    show: "B",
    label: "brake",
    help: "pull the brake, so that no attempt starts at all, or release it",
    acts: true,
    off: (state) => (state.known.status === null ? "it is not known yet whether it is on" : null),
    run: (state) => only(ask(hold(state), state.known.status?.value.paused ? releaseDialog(state) : brakeForm())),
  },
];

function releaseDialog({ known }: State): ConfirmDialog {
  const { reason, by, at } = known.status!.value.paused!;
  return {
    kind: "confirm",
    title: "Release the brake",
    facts: [`On since ${at} by ${by}:`, reason, "", "Attempts to every endpoint go on, those that are due first."],
    yes: "release it",
    act: { label: "brake", request: { operation: "resumeDaemon", ask: {} }, event: null },
  };
}
