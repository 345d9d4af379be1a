/** The forms there are: how each begins, and what it asks of the daemon once it is filled in. */
import type { Endpoint } from "../../src/client/answers.ts";
import { nearest } from "../../src/config/nearest.ts";
import type { Field, FormDialog } from "../dialog.ts";
import { shortId } from "../draw/numbers.ts";
import { shortUrl } from "../draw/status.ts";
import type { ActDraft, State } from "../model.ts";
import { newField, textOf } from "./fields.ts";

/** By the name of the field; under no name what is wrong with all of it. */
export interface Faults {
  readonly faults: Readonly<Record<string, string>>;
}

const BLANK = { at: 0, facts: [], fault: null, sent: null } as const;

export function addForm(): FormDialog {
  return {
    ...BLANK,
    kind: "form",
    for: { kind: "add" },
    title: "Add endpoint",
    fields: settings({ url: "", events: [], description: "" }),
    yes: "add",
  };
}

export function editForm(before: Endpoint): FormDialog {
  return {
    ...BLANK,
    kind: "form",
    for: { kind: "edit", before },
    title: `Edit ${before.id}`,
    fields: settings(before),
    yes: "change",
  };
}

function settings({ url, events, description }: Pick<Endpoint, "url" | "events" | "description">): Field[] {
  return [
    newField({ name: "url", label: "URL", hint: "https://, where the events go" }, url),
    newField(
      { name: "events", label: "Event types", takes: "types", hint: "with spaces between, or all" },
      events.join(" "),
    ),
    newField({ name: "description", label: "Description", hint: "for people; may stay empty" }, description),
  ];
}

export function requestOf(form: FormDialog, state: State): ActDraft | Faults {
  switch (form.for.kind) {
    case "add":
      return registration(form, state);
    case "edit":
      return change(form, form.for.before, state);
  }
}

function registration(form: FormDialog, state: State): ActDraft | Faults {
  const faults = settingFaults(form, state);
  if (faults !== null) return faults;
  const body = { url: textOf(form, "url"), events: typesIn(form, state), description: textOf(form, "description") };
  return { label: `add ${shortUrl(body.url)}`, request: { operation: "registerEndpoint", ask: { body } }, event: null };
}

function change(form: FormDialog, before: Endpoint, state: State): ActDraft | Faults {
  const faults = settingFaults(form, state);
  if (faults !== null) return faults;
  const changes = changesOf(form, before, state);
  if (changes.length === 0) return { faults: { "": "Nothing is other than before. Esc leaves it." } };
  const body = Object.fromEntries(changes.map(({ name, after }) => [name, after]));
  const { id } = before;
  return {
    label: `change ${shortId(id)}`,
    request: { operation: "changeEndpoint", ask: { id, body } },
    event: null,
  };
}

export interface Change {
  readonly name: "url" | "events" | "description";
  readonly before: string | readonly string[];
  readonly after: string | readonly string[];
}

/** What is other than before, and nothing else. */
export function changesOf(form: FormDialog, before: Endpoint, state: State): Change[] {
  const after = { url: textOf(form, "url"), events: typesIn(form, state), description: textOf(form, "description") };
  return (["url", "events", "description"] as const)
    .map((name) => ({ name, before: before[name], after: after[name] }))
    .filter((one) => String(one.before).trim() !== String(one.after));
}

/** What can be known here: whether a URL may be called, the daemon judges. */
function settingFaults(form: FormDialog, state: State): Faults | null {
  const types = typesIn(form, state);
  const known = state.known.types?.map(({ name }) => name);
  const unknown = types.find((type) => known !== undefined && !known.includes(type));
  const faults = {
    ...(textOf(form, "url") === "" && { url: "Where do the events go? Such as https://example.com/hook" }),
    ...(types.length === 0 && { events: "Name at least one event type, or all" }),
    ...(unknown !== undefined && { events: unknownType(unknown, known!) }),
  };
  return Object.keys(faults).length === 0 ? null : { faults };
}

function unknownType(type: string, known: readonly string[]): string {
  const near = nearest(type, known);
  return `There is no event type "${type}". ${near === null ? `There are ${known.join(", ")}` : `Did you mean ${near}?`}`;
}

function typesIn(form: FormDialog, { known }: State): string[] {
  const types = textOf(form, "events")
    .split(/[\s,]+/)
    .filter((type) => type !== "");
  if (types.length === 1 && types[0] === "all" && known.types !== null) return known.types.map(({ name }) => name);
  return [...new Set(types)];
}
