/** Draws forms, and the box with a secret. */
import { typeNotes, typeState } from "../../src/client/type-notes.ts";
import { HEALTH_COUNT_LIMIT } from "../../src/domain/endpoints/endpoint.ts";
import {
  waitingOf,
  type ChoiceDialog,
  type Dialog,
  type Field,
  type FormDialog,
  type SecretDialog,
} from "../model/dialog.ts";
import { glyph, type Look } from "../draw/look.ts";
import { countText } from "../draw/numbers.ts";
import type { Span } from "../draw/row.ts";
import { shortUrl } from "../draw/status.ts";
import { prose, tailOf, wrap } from "../draw/text.ts";
import type { State } from "../model/state.ts";
import { choicesOf, isPicked, wordBefore } from "../state/dialogs/fields.ts";
import { readFilterText } from "../state/dialogs/filter-text.ts";
import { changesOf } from "../state/dialogs/form-requests.ts";

interface Area {
  readonly width: number;
  readonly height: number;
}

const LABEL = 14;
const MOST_CHOICES = 6;
/** The rows that fields need at least, for a field with its choices. */
const LEAST_FIELDS = 1 + MOST_CHOICES;

/** Returns the content of the box, `inner` columns wide. */
export function formRows(state: State, form: FormDialog, { width: inner, height }: Area): Span[][] {
  const { look } = state.settings;
  const facts = [...form.facts.flatMap((text) => prose(text, inner, look)), ...waitingText(state, form)].map(
    (text): Span[] => [{ text }],
  );
  const fields = form.fields.map((field, index) => fieldRows(state, form, { field, index, inner }));
  const fault =
    form.fault === null ? [] : prose(form.fault, inner, look).map((text): Span[] => [{ text, style: "red" }]);
  const changes = differences(state, form);
  const rows = [...fields.flat(), ...changes, ...fault, [], keys(state, form)];
  if (facts.length + rows.length <= height) return [...facts, ...rows];
  // A low screen shows the field that gets the keys, and its neighbours while there is room. The changes go first.
  const foot = [...fault, keys(state, form)];
  const last = changes.length + foot.length + LEAST_FIELDS <= height ? [...changes, ...foot] : foot;
  return within(height, facts, [...around(fields, form.at, height - last.length), ...last]);
}

/** Returns the rows of the field at the index, and of as many fields around it as fit. */
function around(fields: readonly Span[][][], at: number, room: number): Span[][] {
  let [first, end] = [at, at + 1];
  const fits = (from: number, to: number) => fields.slice(from, to).flat().length <= room;
  while (first > 0 && fits(first - 1, end)) first--;
  while (end < fields.length && fits(first, end + 1)) end++;
  return fields.slice(first, end).flat().slice(0, Math.max(1, room));
}

interface OfField {
  readonly field: Field;
  readonly index: number;
  readonly inner: number;
}

function fieldRows(state: State, { at, sent }: FormDialog, { field, index, inner }: OfField): Span[][] {
  const { look } = state.settings;
  const isHere = index === at && sent === null;
  const label: Span = { text: field.label.padEnd(LABEL), style: isHere ? "bold" : "grey" };
  const value = isHere ? cursorSpans(look, field.line, inner - LABEL) : [{ text: field.line.text }];
  const row: Span[] = [label, ...value];
  if (isHere && field.fault === null && isPicked(field)) return [row, ...pickRows(state, field)];
  const under = underField(state, field, isHere);
  if (under === null) return [row];
  const lines = prose(under.text, inner - LABEL, look).slice(0, 3);
  return [row, ...lines.map((text): Span[] => [{ text: " ".repeat(LABEL) }, { text, style: under.style }])];
}

/** Shows the choices around the chosen one. */
function pickRows(state: State, field: Field): Span[][] {
  const { look } = state.settings;
  const choices = choicesOf(field, state);
  const at = Math.max(0, choices.indexOf(field.line.text));
  const top = Math.max(0, Math.min(at - 2, choices.length - MOST_CHOICES));
  return choices.slice(top, top + MOST_CHOICES).map((choice): Span[] => {
    const url = field.takes === "endpoint" ? state.known.endpoints.get(choice)?.url : undefined;
    const mark = choice === field.line.text ? glyph(look, "selected") : " ";
    const text = `${mark} ${marked(state, choice)}${url === undefined ? "" : `  ${shortUrl(url)}`}`;
    return [{ text: " ".repeat(LABEL) }, { text, style: "grey" }];
  });
}

function underField(state: State, field: Field, isHere: boolean): Span | null {
  if (field.fault !== null) return { text: field.fault, style: "red" };
  if (!isHere) return null;
  if (field.takes === "filter") return underFilter(field);
  const choices = choicesOf(field, state);
  const all = choices.map((name) => marked(state, name)).join("  ");
  const notes = field.takes === "types" ? notesOn(state, field) : "";
  if (wordBefore(field.line) !== "" && choices.length > 0) return { text: all, style: "grey" };
  const offer = choices.length === 0 ? field.hint : `${field.hint}: ${all}`;
  return { text: notes === "" ? offer : `${notes}. ${offer}`, style: "grey" };
}

/** Says while a filter is typed if it can be read. Text that is not JSON yet is no mistake. */
function underFilter({ line, hint }: Field): Span {
  const read = readFilterText(line.text);
  if ("fault" in read) return { text: read.fault, style: read.isJson ? "red" : "grey" };
  const trial = "It can be read. To try it on an event: webhookd endpoints filter-test";
  return { text: read.document === null ? hint : trial, style: "grey" };
}

/** Says what the patterns that are typed match today, and which of the types are on their way out. */
function notesOn({ known }: State, { line }: Field): string {
  return known.types === null ? "" : typeNotes(line.text.split(/[\s,]+/), known.types).join("; ");
}

/** Marks a type that is on its way out. */
function marked({ known }: State, name: string): string {
  const type = known.types?.find((one) => one.name === name);
  return type?.deprecated ? `${name} (${typeState(type)})` : name;
}

/** Draws the text with its cursor, which is always visible. */
export function cursorSpans(look: Look, { text, cursor }: Field["line"], width: number): Span[] {
  return [
    { text: tailOf(text.slice(0, cursor), width - 2, look) },
    { text: text.slice(cursor, cursor + 1) || " ", style: "reverse" },
    { text: text.slice(cursor + 1) },
  ];
}

/** Shows the changes of an edit before it is sent. */
function differences(state: State, form: FormDialog): Span[][] {
  if (form.for.kind !== "edit") return [];
  const changes = changesOf(form, form.for.before, state);
  const said = (value: string) => (value === "" ? "-" : value);
  return changes.flatMap(({ name, before, after }, index): Span[][] => [
    ...(index === 0 ? [[]] : []),
    [
      { text: `${name} `.padEnd(LABEL), style: "grey" },
      { text: said(before), style: "red" },
    ],
    [
      { text: "becomes ".padStart(LABEL), style: "grey" },
      { text: said(after), style: "green" },
    ],
  ]);
}

function keys({ link }: State, { at, fields, yes, sent }: FormDialog): Span[] {
  if (sent !== null) {
    const wait =
      link.kind === "live" ? "Sent; waiting for the answer." : "It will be sent again when the daemon is back.";
    return [{ text: `${wait}      ` }, { text: "Esc", style: "bold" }, { text: "  stop waiting" }];
  }
  const isLast = at === fields.length - 1;
  return [
    ...(isPicked(fields[at]!) ? [{ text: "Up Down", style: "bold" as const }, { text: "  choose      " }] : []),
    { text: "Enter", style: "bold" },
    { text: `  ${isLast ? yes : "next"}      ` },
    ...(fields.length > 1 ? [{ text: "Tab", style: "bold" as const }, { text: "  complete, next      " }] : []),
    { text: "Esc", style: "bold" },
    { text: "  cancel" },
  ];
}

export function choiceRows(state: State, dialog: ChoiceDialog, { width: inner, height }: Area): Span[][] {
  const { look } = state.settings;
  const facts = [...dialog.facts.flatMap((text) => prose(text, inner, look)), ...waitingText(state, dialog)];
  const choices = dialog.choices.flatMap(({ key, label }) =>
    prose(label, inner - 3, look).map((text, index): Span[] => [
      { text: index === 0 ? `${key}  ` : "   ", style: "bold" },
      { text },
    ]),
  );
  const cancel: Span[] = [
    { text: "Esc", style: "bold" },
    { text: dialog.choices.length === 0 ? "  close" : "  cancel" },
  ];
  return within(
    height,
    facts.map((text): Span[] => [{ text }]),
    [[], ...choices, cancel],
  );
}

/** Counts the waiting deliveries of an endpoint, as far as is known, and says what happens to them. */
function waitingText({ known }: State, dialog: Dialog): string[] {
  const waiting = waitingOf(dialog);
  if (waiting === null) return [];
  const health = known.health.get(waiting.endpoint)?.value.health;
  if (health === undefined) return ["Counting its waiting deliveries…"];
  const { pending, held } = health;
  const [open, kept] = [countOf(pending + held), countOf(held)];
  switch (waiting.fate) {
    case "kept":
      return [`${open} for it, and will be held until it is enabled.`];
    case "sent":
      return [held === 0 ? "Nothing is held for it." : `${kept} for it, and will be sent now, slowly at first.`];
    case "cancelled":
      return [pending + held === 0 ? "Nothing is waiting for it." : `${open} for it, and will be cancelled.`];
  }
}

function countOf(count: number): string {
  const number = `${countText(count)}${count >= HEALTH_COUNT_LIMIT ? "+" : ""}`;
  return count === 1 ? "1 delivery is waiting" : `${number} deliveries are waiting`;
}

export function secretRows(look: Look, { facts, secret }: SecretDialog, { width: inner, height }: Area): Span[][] {
  const said = facts.flatMap((text) => prose(text, inner, look)).map((text): Span[] => [{ text }]);
  return within(height, said, [
    [],
    ...wrap(secret, inner, look).map((text): Span[] => [{ text, style: "bold" }]),
    [],
    [{ text: "y", style: "bold" }, { text: "  copy      " }, { text: "Esc", style: "bold" }, { text: "  close" }],
  ]);
}

/** Fits the rows to a short screen: empty lines go first, then the facts except the first and the last. */
function within(height: number, facts: readonly Span[][], rest: readonly Span[][]): Span[][] {
  if (facts.length + rest.length <= height) return [...facts, ...rest];
  const [said, needed] = [facts, rest].map((rows) => rows.filter((row) => row.some(({ text }) => text !== "")));
  const room = Math.max(0, height - needed!.length);
  const kept = said!.length <= room ? said! : room === 0 ? [] : [said![0]!, ...said!.slice(said!.length - room + 1)];
  // The last row has the keys, so it always stays.
  return [...kept, ...needed!.slice(0, -1).slice(0, Math.max(0, height - 1 - kept.length)), needed!.at(-1)!];
}
