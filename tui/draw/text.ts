/** Fits text to an exact width. Outside text passes through `printable` here, and nowhere else in the dashboard. */
import stringWidth from "string-width";
import { printable } from "../../src/domain/printable.ts";

const ASCII = /^[\x20-\x7e]*$/;
/** Terminals disagree on the width of these clusters: emoji with modifiers, flags, keycaps. */
const UNSURE = /\p{Extended_Pictographic}|\p{Regional_Indicator}|\u20e3|\ufe0f/u;
const JOINING = /[\ufe00-\ufe0f\u20e3]|\p{Emoji_Modifier}/gu;
/** No line is longer than this. */
const MOST = 4096;
const graphemes = new Intl.Segmenter("en", { granularity: "grapheme" });

export interface FitOptions {
  /** Return only ASCII. */
  readonly ascii?: boolean;
  readonly align?: "left" | "right";
}

/** Returns the number of columns, as Ink counts them. */
export function widthOf(text: string): number {
  return ASCII.test(text) ? text.length : stringWidth(text);
}

/** Returns exactly `width` columns: cut with a mark, or padded. Control characters become visible. */
export function fit(text: string, width: number, { ascii = false, align = "left" }: FitOptions = {}): string {
  if (width <= 0) return "";
  if (text.length <= width && ASCII.test(text)) return align === "left" ? text.padEnd(width) : text.padStart(width);
  const key = `${width} ${ascii} ${align} ${text}`;
  let fitted = fittings.get(key);
  if (fitted === undefined) {
    if (fittings.size >= MOST_FITTINGS) fittings.clear();
    fittings.set(key, (fitted = fitAnew(text, width, { ascii, align })));
  }
  return fitted;
}

/** Most of a frame was in the previous one, and measuring clusters is most of the work. */
const fittings = new Map<string, string>();
const MOST_FITTINGS = 4000;

function fitAnew(text: string, width: number, { ascii, align }: Required<FitOptions>): string {
  // Longer text is cut in any case. The limit leaves space for characters with many marks, which do not make them
  // wider.
  const safe = steady(printable(text, { max: 16 * width + 16 }), ascii);
  const cut = cutTo(safe, width, ascii ? "~" : "…");
  const space = " ".repeat(width - cut.width);
  return align === "left" ? cut.text + space : space + cut.text;
}

/** Returns the text as it is drawn, of any width. */
export function shown(text: string, { ascii = false }: FitOptions = {}): string {
  return steady(printable(text, { max: MOST }), ascii);
}

/** Returns as much of the end as fits, after a mark for the part before it. */
export function tailOf(text: string, width: number, look: FitOptions = {}): string {
  if (text.length <= MOST && widthOf(shown(text, look)) <= width) return text;
  // Clusters of more characters than this are cut when they are drawn.
  const clusters = [...graphemes.segment(text.slice(-16 * width - 16))].map(({ segment }) => segment);
  let [start, used] = [clusters.length, 1];
  while (start > 0) {
    used += widthOf(shown(clusters[start - 1]!, look));
    if (used > width) break;
    start--;
  }
  return (look.ascii ? "~" : "…") + clusters.slice(start).join("");
}

/** Breaks text anywhere into lines of at most `width` columns. Line breaks in the text are kept. */
export function wrap(text: string, width: number, { ascii = false }: FitOptions = {}): string[] {
  const lines: string[] = [];
  for (const part of printable(text, { keepNewlines: true }).split("\n")) {
    let [line, used] = ["", 0];
    for (const { segment } of graphemes.segment(steady(part, ascii))) {
      const wide = widthOf(segment);
      if (used + wide > width && used > 0) {
        lines.push(line);
        [line, used] = ["", 0];
      }
      line += segment;
      used += wide;
    }
    lines.push(line);
  }
  return lines;
}

/** Breaks sentences into lines of at most `width` columns, between words if they are short enough. */
export function prose(text: string, width: number, look: FitOptions = {}): string[] {
  const lines: string[] = [];
  for (const part of wrap(text, Number.POSITIVE_INFINITY, look)) {
    let line = "";
    for (const word of part.split(" ")) {
      const longer = line === "" ? word : `${line} ${word}`;
      if (widthOf(longer) <= width) line = longer;
      else {
        if (line !== "") lines.push(line);
        const pieces = wrap(word, width, look);
        lines.push(...pieces.slice(0, -1));
        line = pieces.at(-1)!;
      }
    }
    lines.push(line);
  }
  return lines;
}

/** Returns the first lines, marking the last of them if there are more. */
export function firstLines(lines: readonly string[], most: number, width: number, look: FitOptions = {}): string[] {
  if (lines.length <= most) return [...lines];
  const last = lines.slice(Math.max(0, most - 1), most).map((line) => {
    const mark = look.ascii ? "~" : "…";
    return widthOf(line) < width ? line + mark : fit(`${line} `, width, look);
  });
  return [...lines.slice(0, Math.max(0, most - 1)), ...last];
}

/** Replaces clusters on whose width terminals disagree. */
function steady(text: string, ascii: boolean): string {
  if (ASCII.test(text)) return text;
  let out = "";
  for (const { segment } of graphemes.segment(text)) {
    if (ascii) out += ASCII.test(segment) ? segment : segment === "…" ? "~" : "?";
    else if (segment.length > 1 && UNSURE.test(segment)) out += baseOf(segment);
    else out += segment;
  }
  return out;
}

function baseOf(cluster: string): string {
  const [first = ""] = cluster.replaceAll(JOINING, "");
  // Terminals disagree on a regional indicator alone as much as on a flag.
  return first === "" || /\p{Regional_Indicator}/u.test(first) ? "?" : first;
}

function cutTo(text: string, width: number, mark: string): { readonly text: string; readonly width: number } {
  if (ASCII.test(text)) {
    return text.length <= width ? { text, width: text.length } : { text: text.slice(0, width - 1) + mark, width };
  }
  let [kept, used, keptShort, usedShort] = ["", 0, "", 0];
  for (const { segment } of graphemes.segment(text)) {
    const wide = widthOf(segment);
    if (used + wide > width) return { text: keptShort + mark, width: usedShort + 1 };
    kept += segment;
    used += wide;
    // Remember what remains if the mark needs a column.
    if (used <= width - 1) [keptShort, usedShort] = [kept, used];
  }
  return { text: kept, width: used };
}
