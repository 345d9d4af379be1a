/** Edits a line of text, with history and completion. */
import { FILTER_WORDS, FILTERS, readFilter, type FilterWord } from "../../src/client/filter.ts";
import type { Filter } from "../../src/domain/lists.ts";
import { typedText, type KeyName } from "../keystrokes.ts";
import type { Line } from "../model/dialog.ts";
import type { State } from "../model/state.ts";

export function newLine(purpose: Line["for"], text = ""): Line {
  return { for: purpose, text, cursor: text.length, past: 0, typed: text, mistake: null };
}

/** Applies a key to the line. Returns null if the line does not use the key. */
export function editLine(line: Line, key: KeyName, state: State): Line | null {
  const { text, cursor } = line;
  switch (key) {
    case "left":
    case "ctrl+b":
      return { ...line, cursor: Math.max(0, cursor - 1) };
    case "right":
    case "ctrl+f":
      return { ...line, cursor: Math.min(text.length, cursor + 1) };
    case "home":
    case "ctrl+a":
      return { ...line, cursor: 0 };
    case "end":
    case "ctrl+e":
      return { ...line, cursor: text.length };
    case "backspace":
      return changed(line, text.slice(0, Math.max(0, cursor - 1)) + text.slice(cursor), Math.max(0, cursor - 1));
    case "delete":
      return changed(line, text.slice(0, cursor) + text.slice(cursor + 1), cursor);
    case "ctrl+u":
      return changed(line, text.slice(cursor), 0);
    case "ctrl+w": {
      const head = text.slice(0, cursor).replace(/\S+\s*$/, "");
      return changed(line, head + text.slice(cursor), head.length);
    }
    case "up":
      return recalled(line, state.history, line.past + 1);
    case "down":
      return recalled(line, state.history, line.past - 1);
    case "tab":
      return complete(line, state);
    default: {
      const typed = typedText(key);
      return typed === null ? null : insert(line, typed);
    }
  }
}

/** Inserts typed or pasted text, on one line. */
export function insert(line: Line, text: string): Line {
  const flat = text.replaceAll(/\s+/g, " ");
  return changed(
    line,
    line.text.slice(0, line.cursor) + flat + line.text.slice(line.cursor),
    line.cursor + flat.length,
  );
}

function changed(line: Line, text: string, cursor: number): Line {
  return { ...line, text, cursor, past: 0, typed: text, mistake: null };
}

function recalled(line: Line, history: readonly string[], past: number): Line {
  if (past < 0 || past > history.length) return line;
  const text = past === 0 ? line.typed : history.at(-past)!;
  return { ...line, text, cursor: text.length, past, mistake: null };
}

/** Completes the word before the cursor as far as it is certain, and shows the possible words. */
function complete(line: Line, state: State): Line {
  const head = line.text.slice(0, line.cursor);
  const word = /\S*$/.exec(head)![0];
  const choices = choicesFor(word, state);
  if (choices.length === 0) return { ...line, mistake: null };
  const known = choices.length === 1 ? choices[0]! : commonStart(choices);
  const rest = line.text.slice(line.cursor);
  const done = head.slice(0, head.length - word.length) + (known.length > word.length ? known : word);
  const next = changed(line, done + rest, done.length);
  return choices.length === 1 ? next : { ...next, mistake: choices.slice(0, 12).join("  ") };
}

/** Returns the words that the typed one may become. An endpoint is also found by a part of its URL. */
export function choicesFor(word: string, state: State): string[] {
  const colon = word.indexOf(":");
  if (colon < 0)
    return FILTER_WORDS.map((name) => (name === "data" ? "data." : `${name}:`)).filter((name) => name.startsWith(word));
  const [name, value] = [word.slice(0, colon) as FilterWord, word.slice(colon + 1)];
  const begins = (values: Iterable<string>) => [...values].filter((one) => one.startsWith(value));
  return (name === "endpoint" ? endpointIds(state, value) : begins(valuesOf(name, state))).map(
    (one) => `${name}:${one}`,
  );
}

function valuesOf(name: FilterWord, { known }: State): Iterable<string> {
  if (name === "type") {
    return new Set([
      ...[...known.endpoints.values()].flatMap(({ events }) => events),
      ...Object.keys(known.day?.value.published?.by_type ?? {}),
    ]);
  }
  const { form }: Filter = FILTERS[name];
  switch (form.takes) {
    case "one of":
    case "some of":
      return form.values;
    case "status code":
      return ["2xx", "3xx", "4xx", "5xx"];
    case "instant":
      return ["15m", "1h", "6h", "1d", "7d"];
    case "flag":
      return ["true", "false"];
    default:
      return [];
  }
}

function endpointIds({ known }: State, value: string): string[] {
  return [...known.endpoints.values()]
    .filter(({ id, url }) => id.startsWith(value) || (value.length > 1 && url.includes(value)))
    .map(({ id }) => id);
}

export function commonStart([first = "", ...others]: readonly string[]): string {
  let length = first.length;
  for (const other of others) while (!other.startsWith(first.slice(0, length))) length--;
  return first.slice(0, length);
}

/** Returns the filter's mistake as one line, or null. */
export function mistakeIn(text: string): string | null {
  const [mistake] = readFilter(text).mistakes;
  return mistake === undefined ? null : `${mistake.what}. ${mistake.hint}`;
}
