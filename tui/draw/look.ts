/** Colours and glyphs. A glyph and a word always repeat what the colour says. */
import type { FitOptions } from "./text.ts";

export interface Look {
  readonly color: boolean;
  readonly ascii: boolean;
}

/** Use only foregrounds from the 16 ANSI colours, because both light and dark terminals show them. */
const SGR = {
  red: ["31"],
  green: ["32"],
  yellow: ["33"],
  blue: ["34"],
  cyan: ["36"],
  grey: ["2"],
  bold: ["1"],
  reverse: ["7"],
  alarm: ["7", "31"],
  warning: ["7", "33"],
  calm: ["7", "32"],
} as const satisfies Readonly<Record<string, readonly string[]>>;
export type Style = keyof typeof SGR;
/** Styles that carry meaning without colours: the selection, and emphasis. */
const MONOCHROME: Readonly<Partial<Record<Style, readonly string[]>>> = {
  bold: ["1"],
  reverse: ["7"],
  alarm: ["7"],
  warning: ["7"],
  calm: ["7"],
};

/**
 * Writes its own sequences, because Ink's drop bold and reverse together with the colours. They begin and end as Ink
 * would write them: Ink parses any other row twice, which is a quarter of the cost of a frame.
 */
export function paint({ color }: Look, style: Style | undefined, text: string): string {
  const codes: readonly string[] | undefined = style && (color ? SGR[style] : MONOCHROME[style]);
  if (codes === undefined || text === "") return text;
  const ends = codes.toReversed().map(endOf);
  return `${codes.map(sequence).join("")}${text}${ends.map(sequence).join("")}`;
}

function endOf(code: string): string {
  if (code === "7") return "27";
  return code === "1" || code === "2" ? "22" : "39";
}

function sequence(code: string): string {
  return `\x1b[${code}m`;
}

const GLYPHS = {
  delivered: ["✓", "+"],
  failed: ["✗", "x"],
  retrying: ["↻", "r"],
  pending: ["○", "."],
  held: ["‖", "="],
  cancelled: ["–", "-"],
  shadowed: ["◌", "s"],
  unmatched: ["∅", "0"],
  interrupted: ["!", "!"],
  selected: ["▶", ">"],
  marked: ["*", "*"],
  live: ["●", "*"],
  lost: ["○", "o"],
  bar: ["│", "|"],
  rule: ["─", "-"],
  ellipsis: ["…", "~"],
  crumb: ["›", ">"],
  rises: ["▲", "^"],
  falls: ["▼", "v"],
  least: ["≥", ">="],
  first: ["┬", "+"],
  middle: ["├", "+"],
  last: ["└", "+"],
  block: ["█", "#"],
  shade: ["░", "."],
  cornerTopLeft: ["╭", "+"],
  cornerTopRight: ["╮", "+"],
  cornerBottomLeft: ["╰", "+"],
  cornerBottomRight: ["╯", "+"],
} as const;
export type Glyph = keyof typeof GLYPHS;

export function glyph({ ascii }: Look, name: Glyph): string {
  return GLYPHS[name][ascii ? 1 : 0];
}

export function fitOf({ ascii }: Look): FitOptions {
  return { ascii };
}

const BARS = ["▁▂▃▄▅▆▇█", "_.-=+*#@"] as const;

/** Draws one column for each value. Zero is a space, so that a small value looks different from none. */
export function sparkline({ ascii }: Look, values: readonly number[]): string {
  const bars = BARS[ascii ? 1 : 0];
  const most = Math.max(...values);
  return values
    .map((value) => (value <= 0 ? " " : bars[Math.max(0, Math.ceil((value / most) * 8 - 1e-9) - 1)]!))
    .join("");
}
