/** Keys that pass something to other programs: an id, a command, a report. None of them changes anything. */
import { hold, idHere, subject } from "./subject.ts";
import { commandsHere, curlCommand, mostWanted, withCommands } from "../state/shell-commands.ts";
import { copy } from "../state/toast.ts";
import { reportHere } from "../state/failure-report.ts";
import { only, type Binding } from "./binding.ts";
import type { State } from "../model/state.ts";

export const COPIES: readonly Binding[] = [
  {
    keys: ["y"],
    show: "y",
    label: "copy id",
    help: "copy the id of this event, endpoint or job, and show it",
    off: (state) => (idHere(state) === null ? "nothing with an id is selected" : null),
    run: (state) => copy(state, idHere(state)!, idHere(state)!),
  },
  {
    keys: ["Y"],
    show: "Y",
    label: "signed curl",
    help: "show the command that prints this request as a curl script, signed when it runs",
    on: ["events", "deliveries", "endpoint", "event"],
    off: (state) => (requestHere(state) === null ? "none of its deliveries is loaded here" : null),
    run: (state) => {
      const { event, endpoint } = requestHere(state)!;
      return only(withCommands(hold(state), [curlCommand(event, endpoint)]));
    },
  },
  {
    keys: ["C"],
    show: "C",
    label: "commands",
    help: "show the shell commands for what is on the screen",
    run: (state) => only(withCommands(hold(state), commandsHere(state))),
  },
  {
    keys: ["w"],
    show: "w",
    label: "report",
    help: "write a report about this group (Markdown) for the people who run the receiver",
    on: ["failures", "overview"],
    footer: 55,
    off: (state) => {
      const report = reportHere(state);
      return typeof report === "string" ? report : null;
    },
    run: (state) => {
      const report = reportHere(state);
      return typeof report === "string" ? only(state) : { state, effects: [{ do: "save", ...report }] };
    },
  },
];

function requestHere(state: State): { readonly event: string; readonly endpoint: string } | null {
  const about = subject(state);
  const endpoint = about?.endpoint ?? mostWanted(about?.deliveries ?? [])?.endpoint;
  return about === null || endpoint === undefined ? null : { event: about.event, endpoint };
}
