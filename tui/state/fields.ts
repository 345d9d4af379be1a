/** The fields of a form as data: what they hold, what they may hold, and what is wrong with them. */
import type { Field, FormDialog } from "../dialog.ts";
import type { State } from "../model.ts";
import { commonStart, insert, newLine } from "./line.ts";

export function newField(field: Pick<Field, "name" | "label"> & Partial<Field>, text = ""): Field {
  return { takes: "text", hint: "", fault: null, ...field, line: newLine("field", text) };
}

export function textOf({ fields }: FormDialog, name: string): string {
  return fields.find((field) => field.name === name)?.line.text.trim() ?? "";
}

/** What the word before the cursor may become. */
export function choicesOf({ takes, line }: Field, { known }: State): string[] {
  if (takes === "text") return [];
  const [word, others] = [wordBefore(line), line.text.split(/[\s,]+/)];
  const names = (known.types ?? []).map(({ name }) => name).filter((name) => name === word || !others.includes(name));
  return names.filter((name) => name.startsWith(word));
}

export function wordBefore({ text, cursor }: Field["line"]): string {
  return /[^\s,]*$/.exec(text.slice(0, cursor))![0];
}

/** Null where there is nothing to complete: then Tab goes on. */
export function completed(field: Field, state: State): Field["line"] | null {
  const word = wordBefore(field.line);
  const choices = choicesOf(field, state);
  if (word === "" || choices.length === 0 || choices.includes(word)) return null;
  const known = commonStart(choices);
  return insert(field.line, known.slice(word.length) + (choices.length === 1 ? " " : ""));
}

/** Puts each fault where it belongs, and the cursor to the first. */
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
