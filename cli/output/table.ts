/**
 * Prints tables. This is not in print.ts, which every command loads, because the code that measures text takes 10 ms to
 * load.
 */
import cliTruncate from "cli-truncate";
import stringWidth from "string-width";
import { printable } from "../../src/domain/printable.ts";
import { glyphsOf } from "./glyphs.ts";
import type { Io } from "../io.ts";
import { shortIds } from "./short-id.ts";

export interface Column {
  readonly title: string;
  readonly cells: readonly string[];
  /** The same cells in fewer characters. Ids are shortened anyway. */
  readonly brief?: readonly string[];
  /** The column may be narrowed to this width. */
  readonly least?: number;
  /**
   * On a narrow terminal the columns with the lowest rank are dropped first. A column without a rank is never dropped.
   */
  readonly rank?: number;
}

const GAP = 2;

/**
 * Prints columns two spaces apart, as many as fit the terminal. Returns the titles of the columns that were dropped.
 */
export function sayColumns(io: Io, columns: readonly Column[]): string[] {
  const safe = columns.map((column) => measured(column));
  const fitting = fit(safe, io.stdout.columns ?? Number.POSITIVE_INFINITY);
  const cut = { truncationCharacter: glyphsOf(io).cut };
  const rows = ["title" as const, ...columns[0]!.cells.keys()];
  for (const row of rows) {
    const cells = fitting.map(({ title, cells, width }) => {
      const text = cliTruncate(row === "title" ? title : cells[row]!, width, cut);
      return text + " ".repeat(width - stringWidth(text));
    });
    io.stdout.write(`${fitted(cells.join(" ".repeat(GAP)).trimEnd(), io)}\n`);
  }
  const kept = new Set(fitting.map(({ title }) => title));
  return safe.flatMap(({ title }) => (kept.has(title) ? [] : [title]));
}

interface Measured {
  readonly title: string;
  readonly cells: readonly string[];
  readonly width: number;
  readonly brief: readonly string[];
  readonly least: number | undefined;
  readonly rank: number;
}

function measured({ title, cells, brief, least, rank = Number.POSITIVE_INFINITY }: Column): Measured {
  const safe = cells.map((cell) => printable(cell));
  const shorter = shortIds((brief ?? cells).map((cell) => printable(cell)));
  return { title, cells: safe, width: widthOf(title, safe), brief: shorter, least, rank };
}

function widthOf(title: string, cells: readonly string[]): number {
  return cells.reduce((widest, cell) => Math.max(widest, stringWidth(cell)), stringWidth(title));
}

function lengthOf(widths: readonly number[]): number {
  return widths.reduce((sum, width) => sum + width + GAP, -GAP);
}

/**
 * Shows everything if it fits. Otherwise uses the brief texts, drops columns by rank, and gives the remaining width to
 * the columns of the highest rank first.
 */
function fit(columns: readonly Measured[], available: number): Measured[] {
  if (lengthOf(columns.map(({ width }) => width)) <= available) return [...columns];
  let kept = columns.map((column) => ({ ...column, cells: column.brief, width: widthOf(column.title, column.brief) }));
  const leastOf = ({ title, width, least }: Measured) =>
    least === undefined ? width : Math.min(width, Math.max(least, stringWidth(title)));
  const needed = () => lengthOf(kept.map(leastOf));
  while (needed() > available) {
    const lowest = kept.reduce((least, column) => (column.rank <= least.rank ? column : least), kept[0]!);
    if (lowest.rank === Number.POSITIVE_INFINITY) break;
    kept = kept.filter((column) => column !== lowest);
  }
  let spare = Math.max(0, available - needed());
  const widths = new Map(kept.map((column) => [column, leastOf(column)]));
  for (const column of [...kept].sort((one, other) => other.rank - one.rank)) {
    const more = Math.min(spare, column.width - widths.get(column)!);
    widths.set(column, widths.get(column)! + more);
    spare -= more;
  }
  return kept.map((column) => ({ ...column, width: widths.get(column)! }));
}

/** Prints rows whose columns have no rank. On a terminal, lines are cut to its width. */
export function sayTable(io: Io, rows: readonly (readonly string[])[]): void {
  const safe = rows.map((row) => row.map((cell) => printable(cell)));
  const widths = safe[0]!.map((_, column) => Math.max(...safe.map((row) => stringWidth(row[column]!))));
  for (const row of safe) {
    const cells = row.map((cell, column) => cell + " ".repeat(widths[column]! - stringWidth(cell)));
    io.stdout.write(`${fitted(cells.join(" ".repeat(GAP)).trimEnd(), io)}\n`);
  }
}

function fitted(line: string, io: Io): string {
  const { columns } = io.stdout;
  return columns === undefined ? line : cliTruncate(line, columns, { truncationCharacter: glyphsOf(io).cut });
}
