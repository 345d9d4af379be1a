/** Draws rows of cells with given widths. */
import { glyph, paint, type Look, type Style } from "./look.ts";
import { fit, shown, widthOf } from "./text.ts";

export interface Cell {
  readonly text: string;
  /** In columns. A cell without a width holds free text, and takes the remaining columns at the end of the row. */
  readonly width?: number;
  readonly style?: Style | undefined;
  readonly align?: "left" | "right";
}

export interface RowState {
  readonly selected?: boolean;
  readonly marked?: boolean;
  /** True for rows that may have changed since they were read. */
  readonly dim?: boolean;
}

/** Returns the marks of the row and its cells, one column apart: exactly `width` columns. */
export function tableRow(look: Look, cells: readonly Cell[], width: number, state: RowState = {}): string {
  const { selected = false, marked = false, dim = false } = state;
  const mark = (selected ? glyph(look, "selected") : " ") + (marked ? glyph(look, "marked") : " ");
  // A row may have only one style, because the reset of a second one within it would end the first.
  const plain = selected || dim;
  const line = join(look, [{ text: mark, width: 2 }, ...cells], width, plain);
  if (selected) return paint(look, "reverse", line);
  return dim ? paint(look, "grey", line) : line;
}

/** Joins cells with a space between them, except after the first. */
function join(look: Look, cells: readonly Cell[], width: number, plain: boolean): string {
  let [line, used] = ["", 0];
  for (const [index, cell] of cells.entries()) {
    const gap = index > 1 ? " " : "";
    const room = width - used - gap.length;
    if (room <= 0) break;
    const own = Math.min(cell.width ?? room, room);
    const text = fit(cell.text, own, { ascii: look.ascii, align: cell.align ?? "left" });
    line += gap + (plain ? text : paint(look, cell.style, text));
    used += gap.length + own;
  }
  return line + " ".repeat(Math.max(0, width - used));
}

export interface Span {
  readonly text: string;
  readonly style?: Style | undefined;
}

/** Joins spans, cut and padded to `width`. `right` keeps its place at the end. */
export function spanRow(look: Look, spans: readonly Span[], width: number, right: readonly Span[] = []): string {
  const wanted = widthOfSpans(look, right);
  const edge = width - Math.min(wanted, width);
  const [first, used] = put(look, spans, edge);
  const [last, usedLast] = put(look, right, width - edge);
  return first + " ".repeat(edge - used) + last + " ".repeat(width - edge - usedLast);
}

export function widthOfSpans(look: Look, spans: readonly Span[]): number {
  return spans.reduce((sum, { text }) => sum + widthOf(shown(text, look)), 0);
}

/** Returns as many of the spans as fit, and their width. */
function put(look: Look, spans: readonly Span[], width: number): [line: string, used: number] {
  let [line, used] = ["", 0];
  for (const { text, style } of spans) {
    const whole = shown(text, look);
    const wide = widthOf(whole);
    const fits = wide <= width - used;
    line += paint(look, style, fits ? whole : fit(whole, width - used, look));
    used += fits ? wide : width - used;
  }
  return [line, used];
}
