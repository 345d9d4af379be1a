/**
 * Turns a chunk from the terminal into named keys. Over a slow line several keys arrive in one chunk, and so does text
 * pasted into a terminal without bracketed paste. This file decides which of them count.
 */
import type { Key } from "ink";

/** `j`, `R`, `enter`, `ctrl+d`, `pagedown`, … Each character of typed text is its own name. */
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

/** Turns the arguments of Ink's `useInput` into keys. */
export function keysOf(input: string, key: Key): KeyName[] {
  if (key.eventType === "release") return [];
  for (const [flag, name] of NAMED) if (key[flag]) return [name];
  if (key.tab) return [key.shift ? "shift+tab" : "tab"];
  if (key.ctrl) return [`ctrl+${input}`];
  // Alt with a key looks the same as Esc and a key in one chunk, so neither is a command.
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

/** The kind of a key, for the rule below. */
export type Sort = "moves" | "types" | "acts";

/**
 * Takes all movements of a chunk, then at most one command, and that only as the last key: `jjjr` is a person on a slow
 * line, `read me` is text in the wrong window. A key that opens a line (`/`) may be followed by the text of that line.
 */
export function commandsOf(keys: readonly KeyName[], sortOf: (key: KeyName) => Sort): readonly KeyName[] {
  const command = keys.findIndex((key) => sortOf(key) !== "moves");
  if (command < 0 || command === keys.length - 1 || sortOf(keys[command]!) === "types") return keys;
  return keys.slice(0, command);
}

/** Returns the text that a key types, or null. */
export function typedText(key: KeyName): string | null {
  if (key === "space") return " ";
  return [...key].length === 1 ? key : null;
}
