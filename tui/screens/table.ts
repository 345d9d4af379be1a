/** A list as a table: its head, the rows on the screen, and what is said when there are none. */
import { paint } from "../draw/look.ts";
import { spanRow, tableRow, type Cell } from "../draw/row.ts";
import type { List } from "../model/list.ts";
import type { State } from "../model/state.ts";
import { visibleRows, type KeyOf } from "../state/lists/paged-list.ts";

export interface Column<T> {
  readonly head: string;
  /** Without one it takes what is left. */
  readonly width?: number;
  readonly align?: "left" | "right";
  /** The fewest columns of the table at which it is shown. */
  readonly from?: number;
  cell(row: T): Omit<Cell, "width" | "align">;
}

export interface Table<T> {
  readonly list: List<T>;
  readonly keyOf: KeyOf<T>;
  readonly columns: readonly Column<T>[];
  readonly width: number;
  /** With its head. */
  readonly height: number;
  /** What is said when there is nothing in it. */
  readonly empty: readonly string[];
  readonly dimmed?: (row: T) => boolean;
}

export function tableRows<T>(state: State, table: Table<T>): string[] {
  const { list, keyOf, width, height, empty } = table;
  const { look } = state.settings;
  const columns = table.columns.filter(({ from = 0 }) => width >= from);
  const head = tableRow(
    look,
    columns.map(({ head: text, ...rest }) => ({ text, ...sizeOf(rest) })),
    width,
  );
  const isOld = state.link.kind !== "live";
  const rows = visibleRows(list, height - 1).map((row) => {
    const key = keyOf(row);
    const cells = columns.map(({ cell, ...rest }) => ({ ...cell(row), ...sizeOf(rest) }));
    return tableRow(look, cells, width, {
      selected: key === list.selected,
      marked: list.marks.has(key),
      dim: isOld || table.dimmed?.(row) === true,
    });
  });
  const said =
    rows.length > 0 ? [] : emptyText(list, empty).map((text) => spanRow(look, [{ text: `  ${text}` }], width));
  return filled([paint(look, "bold", head), ...rows, ...said], width, height);
}

function sizeOf({ width, align }: { readonly width?: number; readonly align?: "left" | "right" }) {
  return { ...(width !== undefined && { width }), ...(align !== undefined && { align }) };
}

function emptyText<T>(list: List<T>, empty: readonly string[]): readonly string[] {
  if (list.problem !== null)
    return ["", `This list cannot be read: ${list.problem}`, "It will be tried again; press ^r to try now."];
  if (list.next === undefined) return ["", "loading..."];
  if (list.next !== null) return ["", "Nothing so far, still looking…"];
  if (list.filter !== "") return ["", `Nothing matches "${list.filter}". Esc clears the filter.`];
  return empty;
}

/** Exactly so many lines. */
export function filled(lines: readonly string[], width: number, height: number): string[] {
  const missing = Math.max(0, height - lines.length);
  return [...lines.slice(0, height), ...Array<string>(missing).fill(" ".repeat(width))];
}
