/** Describes the fields of a form as data: their values, their choices and their mistakes. */
import type { Field, FormDialog } from "../../model/dialog.ts";
import type { State } from "../../model/state.ts";
import { commonStart, insert, newLine } from "../line-editor.ts";

export function newField(field: Pick<Field, "name" | "label"> & Partial<Field>, text = ""): Field {
  return { takes: "text", choices: [], hint: "", fault: null, ...field, line: newLine("field", text) };
}

export function textOf({ fields }: FormDialog, name: string): string {
  return fields.find((field) => field.name === name)?.line.text.trim() ?? "";
}

/** Returns the completions of the word before the cursor, or all values that the field may hold. */
export function choicesOf({ takes, choices, line }: Field, { known }: State): string[] {
  const names = (known.types ?? []).filter(({ archived }) => !archived).map(({ name }) => name);
  const url = (id: string) => known.endpoints.get(id)?.url ?? "";
  switch (takes) {
    case "text":
    case "filter":
      return [];
    case "choice":
      return narrowed(choices, line.text, (one) => one.startsWith(line.text));
    case "types": {
      const [word, others] = [wordBefore(line), line.text.split(/[\s,]+/)];
      return names.filter((name) => name.startsWith(word) && (name === word || !others.includes(name)));
    }
    case "type":
      return narrowed([...new Set([...choices, ...names])], line.text, (name) => name.startsWith(line.text));
    case "endpoint":
      return narrowed(choices, line.text, (id) => id.startsWith(line.text) || url(id).includes(line.text));
  }
}

/** Returns all choices once one is chosen, so that it is shown among its neighbours. */
function narrowed(all: readonly string[], text: string, fits: (one: string) => boolean): string[] {
  return all.filter((one) => all.includes(text) || fits(one));
}

export function isPicked({ takes }: Field): boolean {
  return takes === "type" || takes === "endpoint" || takes === "choice";
}

/** Chooses the neighbour above or below. */
export function picked(field: Field, by: number, state: State): Field {
  const choices = choicesOf(field, state);
  const at = choices.indexOf(field.line.text);
  const next = choices[at < 0 ? 0 : (at + by + choices.length) % choices.length];
  return next === undefined ? field : { ...field, line: newLine("field", next), fault: null };
}

export function wordBefore({ text, cursor }: Field["line"]): string {
  return /[^\s,]*$/.exec(text.slice(0, cursor))![0];
}

/** Returns null if there is nothing to complete. Tab then goes to the next field. */
export function completed(field: Field, state: State): Field["line"] | null {
  const word = wordBefore(field.line);
  const choices = choicesOf(field, state);
  if (word === "" || choices.length === 0 || choices.includes(word)) return null;
  const known = commonStart(choices);
  // An endpoint is also found by a part of its URL.
  if (isPicked(field)) return newLine("field", known.length > word.length ? known : word);
  return insert(field.line, known.slice(word.length) + (choices.length === 1 ? " " : ""));
}

/** Puts each mistake at its field, and the cursor into the first of them. */
export function faulted(form: FormDialog, faults: Readonly<Record<string, string>>): FormDialog {
  const { "": whole = null, ...own } = faults;
  const fields = form.fields.map((field) => ({ ...field, fault: own[field.name] ?? null }));
  const first = fields.findIndex(({ fault }) => fault !== null);
  return { ...form, fields, fault: whole, at: first < 0 ? form.at : first, sent: null };
}

export function moved(form: FormDialog, by: number): FormDialog {
  return { ...form, at: (form.at + by + form.fields.length) % form.fields.length };
}

export function withField(form: FormDialog, field: Field): FormDialog {
  return { ...form, fields: form.fields.map((one, index) => (index === form.at ? field : one)) };
}
