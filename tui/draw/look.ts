/** Colours and glyphs. A glyph and a word always say what the colour says. */
import type { FitOptions } from "./text.ts";

export interface Look {
  readonly color: boolean;
  readonly ascii: boolean;
}

/** Foregrounds of the 16 ANSI colours alone, so that light and dark terminals show them. */
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
/** These carry meaning where colours are off: what is selected, and what is stressed. */
const MONOCHROME: Readonly<Partial<Record<Style, readonly string[]>>> = {
  bold: ["1"],
  reverse: ["7"],
  alarm: ["7"],
  warning: ["7"],
  calm: ["7"],
};

/**
 * Our own sequences, because Ink's drop bold and reverse with the colours. They begin and end as those that Ink writes:
 * a row that Ink would write otherwise it takes apart twice, which is a quarter of what a frame costs.
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

/** One column a value; nothing is a space, so that little is told from none. */
export function sparkline({ ascii }: Look, values: readonly number[]): string {
  const bars = BARS[ascii ? 1 : 0];
  const most = Math.max(...values);
  return values
    .map((value) => (value <= 0 ? " " : bars[Math.max(0, Math.ceil((value / most) * 8 - 1e-9) - 1)]!))
    .join("");
}
