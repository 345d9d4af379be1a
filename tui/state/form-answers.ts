/** What an answer does to the form it was asked from, and where a secret in it is shown. */
import type { Answers } from "../../src/client/answers.ts";
import type { Dialog, FormDialog, SecretDialog } from "../dialog.ts";
import type { Answered, Mode, Problem, State } from "../model.ts";
import { faulted } from "./fields.ts";

/** It was done: its form goes, and a secret that comes of it lies over all else. */
export function closeForm(state: State, key: string, answered: Answered): State {
  const secret = secretOf(answered);
  const modes = state.modes.filter((mode) => !isFormOf(mode, key));
  return { ...state, modes: secret === null ? modes : [...modes, { kind: "dialog", dialog: secret }] };
}

/** It was refused: what is wrong is said at its fields, which can be filled in again. */
export function refuseForm(state: State, key: string, problem: Problem): State {
  const modes = state.modes.map((mode): Mode => {
    const form = formOf(mode, key);
    return form === null ? mode : { kind: "dialog", dialog: faulted(form, faultsOf(form, problem)) };
  });
  return { ...state, modes };
}

function isFormOf(mode: Mode, key: string): boolean {
  return formOf(mode, key) !== null;
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
    if (field !== undefined) found[name] ??= item === undefined ? detail : `"${item}" ${detail}`;
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
        title: "The endpoint is added",
        facts: [id, url, "", "This signs what it gets. It is shown once: hand it to the receiver now."],
        secret,
      };
    }
    default:
      return null;
  }
}
