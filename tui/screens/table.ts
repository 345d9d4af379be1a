/** Draws a list as a table: its head, the rows on the screen, and a text if there are none. */
import { glyph, paint, type Look } from "../draw/look.ts";
import { spanRow, tableRow, type Cell } from "../draw/row.ts";
import { readFilter } from "../../src/client/filter.ts";
import { age, shortCount } from "../draw/numbers.ts";
import { prose } from "../draw/text.ts";
import type { List, RowsKind, Searched } from "../model/list.ts";
import type { State } from "../model/state.ts";
import { visibleRows, type KeyOf } from "../state/lists/paged-list.ts";
import { KEY_OF } from "../state/lists/places.ts";
import { sortOf } from "../state/lists/sorts.ts";

export interface Column<T> {
  readonly head: string;
  /** The width if there is space. */
  readonly width: number;
  /** The width on a narrow screen. The default is `width`. */
  readonly least?: number;
  /** The width that it gets before any column of a higher rank is shown. */
  readonly fair?: number;
  /** The width if all other columns have their full width, and this much is left. */
  readonly ample?: number;
  /** Takes the remaining width. */
  readonly rest?: true;
  /** The order in which columns are kept on a narrow screen. 0 is the answer of this list, and is dropped last. */
  readonly rank: number;
  readonly align?: "left" | "right";
  cell(row: T, width: number): Omit<Cell, "width" | "align">;
}

export interface Table<T> {
  readonly kind: RowsKind;
  readonly list: List<T>;
  readonly columns: readonly Column<T>[];
  readonly width: number;
  /** Includes the head. */
  readonly height: number;
  /** The text of an empty list. */
  readonly empty: readonly string[];
  readonly dimmed?: (row: T) => boolean;
}

export function tableRows<T>(state: State, table: Table<T>): string[] {
  const { list, kind, width, height } = table;
  const keyOf = KEY_OF[kind] as unknown as KeyOf<T>;
  const { look } = state.settings;
  const columns = fitColumns(table.columns, width);
  const head = tableRow(
    look,
    columns.map(({ head: text, ...rest }) => ({ text: headText(state, table, text, rest.width), ...sizeOf(rest) })),
    width,
  );
  const isOld = state.link.kind !== "live";
  const rows = visibleRows(list, height - 1).map((row) => {
    const key = keyOf(row);
    const cells = columns.map(({ cell, ...rest }) => ({ ...cell(row, rest.width), ...sizeOf(rest) }));
    return tableRow(look, cells, width, {
      selected: key === list.selected,
      marked: list.marks.has(key),
      dim: isOld || table.dimmed?.(row) === true,
    });
  });
  const said =
    rows.length > 0
      ? []
      : emptyText(state, table)
          .flatMap((text) => emptyLines(text, width - 3, look))
          .map((text) => spanRow(look, [{ text: `  ${text}` }], width));
  return filled([paint(look, "bold", head), ...rows, ...said], width, height);
}

/** Indented text, such as a command, stays on a separate line. */
function emptyLines(text: string, width: number, look: Look): string[] {
  return text.startsWith(" ") ? [text] : prose(text, width, look);
}

/** Marks the column by which the list is sorted, unless the list has its default order. */
function headText(
  { settings: { look } }: State,
  { list, kind }: Pick<Table<unknown>, "kind"> & { readonly list: Pick<List<unknown>, "sort"> },
  head: string,
  width: number,
): string {
  const sort = sortOf(kind, list);
  if (list.sort === null || sort.head !== head) return head;
  return head.slice(0, width - 1) + glyph(look, sort.falls ? "falls" : "rises");
}

function sizeOf({ width, align }: { readonly width: number; readonly align?: "left" | "right" }) {
  return { width, ...(align !== undefined && { align }) };
}

/** The mark of the selection. */
const MARK_COLUMNS = 2;

/**
 * Returns the columns that fit: the answer first, then as many others as possible. Remaining width goes to the lowest
 * ranks first.
 */
export function fitColumns<T>(columns: readonly Column<T>[], width: number): Column<T>[] {
  const leastOf = ({ width: wanted, least = wanted }: Column<T>) => least;
  const fairOf = (column: Column<T>) => column.fair ?? leastOf(column);
  const kept = columns.toSorted((one, other) => one.rank - other.rank);
  const room = width - MARK_COLUMNS + 1;
  // The last column is kept only if those before it have their fair width.
  const needed = () => kept.slice(0, -1).reduce((sum, column) => sum + fairOf(column) + 1, leastOf(kept.at(-1)!) + 1);
  while (kept.length > 1 && needed() > room) kept.pop();
  const widths = new Map(kept.map((column) => [column, leastOf(column)]));
  let spare = room - kept.reduce((sum, column) => sum + leastOf(column) + 1, 0);
  const grow = (to: (column: Column<T>) => number, { whole }: { whole: boolean }) => {
    for (const column of kept) {
      const wanted = to(column) - widths.get(column)!;
      const more = wanted <= spare ? Math.max(0, wanted) : whole ? 0 : Math.max(0, spare);
      widths.set(column, widths.get(column)! + more);
      spare -= more;
    }
  };
  grow(fairOf, { whole: false });
  grow((column) => column.width, { whole: false });
  grow((column) => column.ample ?? column.width, { whole: true });
  const rest = kept.find((column) => column.rest === true);
  if (rest !== undefined) widths.set(rest, widths.get(rest)! + Math.max(0, spare));
  return columns.flatMap((column) => (widths.has(column) ? [{ ...column, width: widths.get(column)! }] : []));
}

function emptyText<T>(state: State, { list, kind, empty }: Table<T>): readonly string[] {
  if (list.problem !== null)
    return ["", `This list cannot be read: ${list.problem}`, "It will be retried; press ^r to try now."];
  if (list.next === undefined) return ["", "loading..."];
  if (list.next !== null) {
    const { searched } = list;
    return ["", `Nothing so far${searched === null ? "" : `, ${searchedText(state, searched)}`}, still looking…`];
  }
  if (list.filter !== "") {
    const isLabel = kind === "events" && readFilter(list.filter).filter.match !== undefined;
    const what = isLabel ? "No endpoint, publisher's id or tag" : "Nothing";
    const far = list.searched === null ? "" : ` (${searchedText(state, list.searched)})`;
    return ["", `${what} matches "${list.filter}"${far}. Esc clears the filter.`];
  }
  return empty;
}

/** Describes the progress of a search through events' data. */
export function searchedText({ now }: State, { events, until }: Searched): string {
  const far = until === null ? "" : `, as far as ${age(now - Date.parse(until))} ago`;
  return `searched ${shortCount(events)} ${events === 1 ? "event" : "events"}${far}`;
}

/** Returns exactly `height` lines. */
export function filled(lines: readonly string[], width: number, height: number): string[] {
  const missing = Math.max(0, height - lines.length);
  return [...lines.slice(0, height), ...Array<string>(missing).fill(" ".repeat(width))];
}
