/**
 * The key layer: what a terminal sends in one chunk, as named keys. Over a slow line several keys come in one chunk, and
 * so does text that is pasted into a terminal without bracketed paste: what is done with a chunk is decided here.
 */
import type { Key } from "ink";

/** `j`, `R`, `enter`, `ctrl+d`, `pagedown`, …; text is its own name, one character each. */
export type KeyName = string;

const NAMED = [
  ["upArrow", "up"],
  ["downArrow", "down"],
  ["leftArrow", "left"],
  ["rightArrow", "right"],
  ["pageDown", "pagedown"],
  ["pageUp", "pageup"],
  ["home", "home"],
  ["end", "end"],
  ["return", "enter"],
  ["escape", "esc"],
  ["backspace", "backspace"],
  ["delete", "delete"],
] as const;

/** What Ink's `useInput` hands over, as the keys in it. */
export function keysOf(input: string, key: Key): KeyName[] {
  if (key.eventType === "release") return [];
  for (const [flag, name] of NAMED) if (key[flag]) return [name];
  if (key.tab) return [key.shift ? "shift+tab" : "tab"];
  if (key.ctrl) return [`ctrl+${input}`];
  // Alt and a key, and an Esc that came glued to one, look the same: neither is a command.
  if (key.meta && input.length > 0) return ["esc"];
  return Array.from(input, nameOf).filter((name) => name !== "");
}

function nameOf(char: string): KeyName {
  if (char === "\r" || char === "\n") return "enter";
  if (char === "\t") return "tab";
  if (char === "\x7f" || char === "\b") return "backspace";
  if (char === " ") return "space";
  const code = char.codePointAt(0)!;
  if (code >= 1 && code <= 26) return `ctrl+${String.fromCodePoint(code + 96)}`;
  if (code === 28) return "ctrl+\\";
  return code < 32 ? "" : char;
}

/** What a key is, for the rule below. */
export type Sort = "moves" | "types" | "acts";

/**
 * Of one chunk all that moves, then at most one command, and that only as its last key: `jjjr` is a person on a slow
 * line, `read me` is text that went astray. Behind a key that opens a line (`/`) comes the text of that line.
 */
export function commandsOf(keys: readonly KeyName[], sortOf: (key: KeyName) => Sort): readonly KeyName[] {
  const command = keys.findIndex((key) => sortOf(key) !== "moves");
  if (command < 0 || command === keys.length - 1 || sortOf(keys[command]!) === "types") return keys;
  return keys.slice(0, command);
}

/** A key as text that is typed, or null. */
export function typedText(key: KeyName): string | null {
  if (key === "space") return " ";
  return [...key].length === 1 ? key : null;
}
