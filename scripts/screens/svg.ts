/** Draws a captured screen as SVG, with text in cells, so that it is sharp at any size and can be searched. */
import xterm, { type IBufferCell } from "@xterm/headless";
import type { Size } from "./terminal.ts";

const CELL = { width: 8.4, height: 18, fontSize: 14, baseline: 13.5 };
const MARGIN = 14;
const TITLE_BAR = 30;
const FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace";
const GROUND = "#14161b";
const INK = "#d5d9e0";
/** The 16 colours of a terminal. */
const PALETTE = [
  ["#2b2f38", "#ff6b6b", "#5fd38d", "#f2c14e", "#6cb2ff", "#d38cff", "#4fd1d9", "#d5d9e0"],
  ["#7d8590", "#ff8e8e", "#86e3ab", "#f7d57e", "#93c8ff", "#e0adff", "#82e3e8", "#ffffff"],
].flat();

interface Style {
  readonly ink: string;
  readonly ground: string | null;
  readonly bold: boolean;
  readonly dim: boolean;
}

interface Run extends Style {
  readonly column: number;
  readonly width: number;
  readonly text: string;
}

/** `screen` is text with colours as a terminal writes it, one line per row. */
export async function picture(screen: string, { columns, rows }: Size, title: string): Promise<string> {
  const terminal = new xterm.Terminal({ cols: columns, rows, allowProposedApi: true, convertEol: true });
  await new Promise<void>((done) => terminal.write(screen.replace(/\n$/, ""), done));
  const lines = Array.from({ length: rows }, (_, row) => runsOf(terminal, row));
  terminal.dispose();
  const [width, height] = [columns * CELL.width + 2 * MARGIN, rows * CELL.height + 2 * MARGIN + TITLE_BAR];
  const dots = ["#ff5f57", "#febc2e", "#28c840"].map(
    (colour, index) => `<circle cx="${20 + 18 * index}" cy="16" r="5.5" fill="${colour}"/>`,
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${short(width)} ${short(height)}" role="img">`,
    `<title>${title}</title>`,
    `<rect width="100%" height="100%" rx="9" fill="${GROUND}"/>`,
    ...dots,
    `<g font-family="${FONT}" font-size="${CELL.fontSize}" fill="${INK}">`,
    ...lines.flatMap((runs, row) => runs.flatMap((run) => drawn(run, row))),
    "</g>",
    "</svg>",
    "",
  ].join("\n");
}

/** Returns runs of adjacent cells with the same style. Blanks at the end of a line are left out. */
function runsOf(terminal: InstanceType<typeof xterm.Terminal>, row: number): Run[] {
  const line = terminal.buffer.active.getLine(terminal.buffer.active.baseY + row);
  const runs: Run[] = [];
  for (let column = 0; column < terminal.cols; column++) {
    const cell = line?.getCell(column);
    if (cell === undefined || cell.getWidth() === 0) continue;
    const [style, text, width] = [styleOf(cell), cell.getChars() || " ", cell.getWidth()];
    const last = runs.at(-1);
    // A wide character ends its run, because no font is sure to make it two cells wide.
    if (last !== undefined && width === 1 && last.width === last.text.length && sameStyle(last, style)) {
      runs[runs.length - 1] = { ...last, width: last.width + 1, text: last.text + text };
    } else runs.push({ ...style, column, width, text });
  }
  return runs.filter(({ text, ground }) => text.trim() !== "" || ground !== null);
}

const BARS = "▁▂▃▄▅▆▇█";

/** Draws bars as boxes, because fonts leave gaps between them. The remaining text has blanks in their place. */
function bars({ column, text, ink }: Run, row: number): { readonly boxes: string[]; readonly rest: string } {
  const boxes: string[] = [];
  const chars = [...text];
  for (let at = 0; at < chars.length; at++) {
    const level = BARS.indexOf(chars[at]!) + 1;
    if (level === 0) continue;
    let end = at + 1;
    while (chars[end] === chars[at]) end++;
    const height = (CELL.height * level) / BARS.length;
    const top = TITLE_BAR + MARGIN + (row + 1) * CELL.height - height;
    boxes.push(
      `<rect x="${short(MARGIN + (column + at) * CELL.width)}" y="${short(top)}" width="${short((end - at) * CELL.width)}" height="${short(height)}" fill="${ink}"/>`,
    );
    for (; at < end; at++) chars[at] = " ";
    at = end - 1;
  }
  return { boxes, rest: chars.join("") };
}

function drawn(run: Run, row: number): string[] {
  const { boxes, rest } = run.width === run.text.length ? bars(run, row) : { boxes: [], rest: run.text };
  return [...texts({ ...run, text: rest }, row), ...boxes];
}

function texts({ column, width, text, ink, ground, bold, dim }: Run, row: number): string[] {
  const lead = text.length - text.trimStart().length;
  const shown = text.trim();
  const at = (cells: number) => short(MARGIN + cells * CELL.width);
  const top = TITLE_BAR + MARGIN + row * CELL.height;
  const box =
    ground === null
      ? []
      : [
          `<rect x="${at(column)}" y="${short(top)}" width="${short(width * CELL.width)}" height="${CELL.height}" fill="${ground}"/>`,
        ];
  if (shown === "") return box;
  const attributes = [
    `x="${at(column + lead)}" y="${short(top + CELL.baseline)}"`,
    // The text is as wide as its cells in any font.
    `textLength="${short((width === text.length ? shown.length : width) * CELL.width)}" lengthAdjust="spacingAndGlyphs"`,
    ...(ink === INK ? [] : [`fill="${ink}"`]),
    ...(bold ? ['font-weight="bold"'] : []),
    ...(dim ? ['opacity="0.6"'] : []),
  ];
  return [...box, `<text ${attributes.join(" ")}>${escape(shown)}</text>`];
}

function styleOf(cell: IBufferCell): Style {
  const ink = cell.isFgPalette() ? (PALETTE[cell.getFgColor()] ?? INK) : INK;
  const ground = cell.isBgPalette() ? (PALETTE[cell.getBgColor()] ?? null) : null;
  const isInverse = cell.isInverse() !== 0;
  return {
    ink: isInverse ? (ground ?? GROUND) : ink,
    ground: isInverse ? ink : ground,
    bold: cell.isBold() !== 0,
    dim: cell.isDim() !== 0,
  };
}

function sameStyle(one: Style, other: Style): boolean {
  return one.ink === other.ink && one.ground === other.ground && one.bold === other.bold && one.dim === other.dim;
}

function short(value: number): string {
  return String(Math.round(value * 10) / 10);
}

/** Writes blanks that no viewer collapses. */
function escape(text: string): string {
  return text.replaceAll(" ", "\u00a0").replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
