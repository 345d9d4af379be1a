/** The few characters that are not letters, chosen by what the terminal can show. */
import type { Io } from "../io.ts";

const UNICODE = {
  ok: "✓",
  failed: "✗",
  again: "↻",
  waits: "○",
  bar: "█",
  space: "░",
  cut: "…",
  least: "≥",
  steps: "▁▂▃▄▅▆▇█",
} as const;
const ASCII = {
  ok: "+",
  failed: "x",
  again: "~",
  waits: ".",
  bar: "#",
  space: "-",
  cut: ">",
  least: ">=",
  steps: "_.:-=+*#",
} as const;

export type Glyphs = { readonly [G in keyof typeof UNICODE]: string };

/** Uses only ASCII unless the terminal and the locale show that UTF-8 works. */
export function glyphsOf({ env }: Pick<Io, "env">): Glyphs {
  const locale = env.LC_ALL || env.LC_CTYPE || env.LANG || "";
  return env.TERM !== "dumb" && /utf-?8/i.test(locale) ? UNICODE : ASCII;
}

/** Draws `part` of `whole` as a bar of `width` characters. The bar is full only when nothing remains. */
export function bar({ bar: full, space }: Glyphs, part: number, whole: number, width: number): string {
  const filled = whole === 0 ? width : Math.floor((Math.min(part, whole) / whole) * width);
  return full.repeat(filled) + space.repeat(width - filled);
}

/** Draws one character for each number: zero is a space, the largest number is the highest bar. */
export function sparkline({ steps }: Glyphs, series: readonly number[]): string {
  const most = Math.max(0, ...series);
  const levels = [...steps];
  const level = (value: number) => levels[Math.max(0, Math.ceil((value / most) * levels.length) - 1)]!;
  return series.map((value) => (value === 0 ? " " : level(value))).join("");
}
