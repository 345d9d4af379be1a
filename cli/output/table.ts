/** Apart from print.ts, which every command loads: to measure text as a terminal does takes 10 ms to get ready. */
import cliTruncate from "cli-truncate";
import stringWidth from "string-width";
import { printable } from "../../src/domain/printable.ts";
import { glyphsOf } from "./glyphs.ts";
import type { Io } from "../io.ts";

/** Columns two spaces apart, each as wide as its longest cell; on a terminal a line is cut to its width. */
export function sayTable(io: Io, rows: readonly (readonly string[])[]): void {
  const safe = rows.map((row) => row.map((cell) => printable(cell)));
  const widths = safe[0]!.map((_, column) => Math.max(...safe.map((row) => stringWidth(row[column]!))));
  for (const row of safe) {
    const cells = row.map((cell, column) => cell + " ".repeat(widths[column]! - stringWidth(cell)));
    io.stdout.write(`${fitted(cells.join("  ").trimEnd(), io)}\n`);
  }
}

function fitted(line: string, io: Io): string {
  const { columns } = io.stdout;
  return columns === undefined ? line : cliTruncate(line, columns, { truncationCharacter: glyphsOf(io).cut });
}
