import { printable } from "../../src/domain/printable.ts";
import type { Io } from "../io.ts";

/** Prints one line for people. Outside text in it is made safe for the terminal. */
export function say({ stdout }: Io, line: string): void {
  stdout.write(`${printable(line)}\n`);
}

/** Prints one line beside the data, on stderr: progress, or what to type next. */
export function note({ stderr }: Pick<Io, "stderr">, line: string): void {
  stderr.write(`${printable(line)}\n`);
}

/** Prints names and values below each other, leaving out fields without a value. */
export function sayFields(io: Io, fields: readonly (readonly [name: string, value: string | null])[]): void {
  const shown = fields.filter(([, value]) => value !== null && value !== "");
  const width = Math.max(...shown.map(([name]) => name.length));
  for (const [name, value] of shown) say(io, `  ${name.padEnd(width)}  ${value}`);
}

export function sayJson({ stdout }: Io, value: unknown): void {
  stdout.write(`${jsonText(value)}\n`);
}

/**
 * Writes JSON in pure ASCII. JSON itself escapes control characters, and this escapes everything beyond ASCII, so
 * nothing can control a terminal.
 */
export function jsonText(value: unknown): string {
  return JSON.stringify(value).replaceAll(/[^\x20-\x7e]/g, escape);
}

/** Prints JSON that arrived as text, on one line in ASCII, and leaves its numbers as they were written. */
export function sayJsonText({ stdout }: Io, text: string): void {
  // In valid JSON, raw line breaks and tabs can only stand between values.
  stdout.write(`${text.replaceAll(/[\t\n\r]/g, " ").replaceAll(/[^\x20-\x7e]/g, escape)}\n`);
}

function escape(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
