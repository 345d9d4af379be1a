import { printable } from "../../src/domain/printable.ts";
import type { Io } from "../io.ts";

/** One line of text for people; every outside string in it is made harmless. */
export function say({ stdout }: Io, line: string): void {
  stdout.write(`${printable(line)}\n`);
}

/** One line of talk beside the data: progress, what to type next. */
export function note({ stderr }: Pick<Io, "stderr">, line: string): void {
  stderr.write(`${printable(line)}\n`);
}

/** Names and values under each other; what has no value is left out. */
export function sayFields(io: Io, fields: readonly (readonly [name: string, value: string | null])[]): void {
  const shown = fields.filter(([, value]) => value !== null && value !== "");
  const width = Math.max(...shown.map(([name]) => name.length));
  for (const [name, value] of shown) say(io, `  ${name.padEnd(width)}  ${value}`);
}

export function sayJson({ stdout }: Io, value: unknown): void {
  stdout.write(`${jsonText(value)}\n`);
}

/** JSON in ASCII: what could steer a terminal is escaped by JSON itself or, beyond ASCII, here. */
export function jsonText(value: unknown): string {
  return JSON.stringify(value).replaceAll(/[^\x20-\x7e]/g, escape);
}

/** JSON that came as text, with its numbers as they were written, on one line in ASCII. */
export function sayJsonText({ stdout }: Io, text: string): void {
  // Raw line breaks and tabs can only stand between values.
  stdout.write(`${text.replaceAll(/[\t\n\r]/g, " ").replaceAll(/[^\x20-\x7e]/g, escape)}\n`);
}

function escape(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
