/** The few signs that are not letters, by what the terminal can show. */
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

/** ASCII alone where the terminal or the locale says that it knows no more. */
export function glyphsOf({ env }: Pick<Io, "env">): Glyphs {
  const locale = env.LC_ALL || env.LC_CTYPE || env.LANG || "";
  return env.TERM !== "dumb" && /utf-?8/i.test(locale) ? UNICODE : ASCII;
}

/** `part` of `whole` in so many characters; full only when nothing is left. */
export function bar({ bar: full, space }: Glyphs, part: number, whole: number, width: number): string {
  const filled = whole === 0 ? width : Math.floor((Math.min(part, whole) / whole) * width);
  return full.repeat(filled) + space.repeat(width - filled);
}

/** One character for each number: nothing is a space, the largest is the highest. */
export function sparkline({ steps }: Glyphs, series: readonly number[]): string {
  const most = Math.max(0, ...series);
  const levels = [...steps];
  const level = (value: number) => levels[Math.max(0, Math.ceil((value / most) * levels.length) - 1)]!;
  return series.map((value) => (value === 0 ? " " : level(value))).join("");
}
