/** Applies a response to the form that requested it, and shows a secret in the response. */
import type { Answers } from "../../../src/client/operations.ts";
import type { ChoiceDialog, Dialog, FormDialog, SecretDialog } from "../../model/dialog.ts";
import type { Answered, Problem } from "../../model/call.ts";
import type { Mode, State } from "../../model/state.ts";
import { rotationChoice } from "./endpoint-choices.ts";
import { faulted } from "./fields.ts";
import { filterFault } from "./filter-text.ts";
import { readAnew } from "../lists/paged-list.ts";
import { testResult } from "../act-answers.ts";
import { changePlaces, onList } from "../lists/places.ts";

/** The maximum number of characters shown of a receiver's response. */
const SHOWN_CHARACTERS = 300;

/** Closes the form of an act that was done. A secret that the act made covers everything else. */
export function closeForm(state: State, key: string, answered: Answered): State {
  const modes = state.modes.filter((mode) => formOf(mode, key) === null);
  const isOpen = modes.length < state.modes.length;
  const dialog = secretOf(answered) ?? (isOpen ? refusalOf(answered) : null);
  return { ...listed(state, answered), modes: dialog === null ? modes : [...modes, { kind: "dialog", dialog }] };
}

/**
 * Reads the list of endpoints again, because the stream does not report new endpoints, and a list that does not follow
 * keeps deleted ones.
 */
function listed(state: State, { call }: Answered): State {
  const { operation, ask } = call;
  if (operation !== "registerEndpoint" && operation !== "deleteEndpoint") return state;
  const { known } = state;
  const endpoints = new Map(known.endpoints);
  endpoints.delete(ask.id ?? "");
  const gone = operation === "deleteEndpoint" ? new Set([...known.gone, ask.id!]) : known.gone;
  return changePlaces({ ...state, known: { ...known, endpoints, gone } }, (place) =>
    place.kind === "endpoints" ? onList(place, (list) => readAnew(list)) : place,
  );
}

/** Shows a receiver's response to a test event that failed. */
function refusalOf({ call, answer }: Answered): ChoiceDialog | null {
  if (call.operation !== "sendTestEvent") return null;
  const attempt = answer as Answers["sendTestEvent"];
  if (!("outcome" in attempt) || attempt.outcome === "succeeded") return null;
  const { url, detail, response_body: body, event } = attempt;
  const said = body === "" ? [] : ["", body.slice(0, SHOWN_CHARACTERS)];
  const facts = [url, "", testResult(attempt), detail, ...said, "", `To see all of it: :${event}`];
  return { kind: "choice", title: `Test event to ${attempt.endpoint}`, facts, waiting: null, choices: [] };
}

/** Shows a refusal at the fields of the form, which can be filled in again. */
export function refuseForm(state: State, key: string, problem: Problem): State {
  const modes = state.modes.map((mode): Mode => {
    const form = formOf(mode, key);
    if (form?.for.kind === "rotate" && problem.code === "rotation_in_progress") {
      return { kind: "dialog", dialog: rotationChoice(form.for.endpoint, null) };
    }
    return form === null ? mode : { kind: "dialog", dialog: faulted(form, faultsOf(form, problem)) };
  });
  return { ...state, modes };
}

function formOf(mode: Mode, key: string): FormDialog | null {
  const dialog: Dialog | null = mode.kind === "dialog" ? mode.dialog : null;
  return dialog?.kind === "form" && dialog.sent === key ? dialog : null;
}

function faultsOf({ fields }: FormDialog, { message, hint, faults = [] }: Problem): Record<string, string> {
  const found: Record<string, string> = {};
  for (const { pointer, detail } of faults) {
    const [, name = "", index] = pointer.split("/");
    const field = fields.find((one) => one.name === name);
    const item = field?.takes === "types" ? field.line.text.trim().split(/[\s,]+/)[Number(index)] : undefined;
    const text = field?.takes === "filter" ? filterFault(pointer.slice("/filter".length), detail) : detail;
    if (field !== undefined) found[name] ??= item === undefined ? text : `"${item}" ${detail}`;
  }
  if (Object.keys(found).length > 0) return found;
  return { "": [message, hint].filter((part) => part !== "").join(". ") };
}

function secretOf({ call, answer }: Answered): SecretDialog | null {
  switch (call.operation) {
    case "registerEndpoint": {
      const { id, url, signing_secret: secret } = answer as Answers["registerEndpoint"];
      return {
        kind: "secret",
        title: "The endpoint was added",
        facts: [id, url, "", "This is its signing secret: give it to the receiver now.", againText(id)],
        secret,
      };
    }
    case "rotateSecret": {
      const secrets = answer as Answers["rotateSecret"];
      const at = secrets.switches_at;
      const when = at === undefined ? "It is in use from now on." : `It takes over at ${at}.`;
      return {
        kind: "secret",
        title: "The next secret",
        facts: [
          call.ask.id ?? "",
          "",
          `${when} Give it to the receiver now.`,
          againText(`${call.ask.id}${secrets.next_signing_secret === undefined ? "" : " --next"}`),
        ],
        secret: secrets.next_signing_secret ?? secrets.signing_secret,
      };
    }
    default:
      return null;
  }
}

function againText(words: string): string {
  return `To print it again: webhookd endpoints secret ${words}`;
}
