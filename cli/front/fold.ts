import { stripVTControlCharacters } from "node:util";

/** A text column narrower than this is harder to read than lines that the terminal breaks. */
const NARROWEST = 24;

/**
 * Breaks lines of two columns, separated by two spaces or more, so that the second stays in its column. Lines are at
 * most `columns` wide unless the first column leaves too little space.
 */
export function fold(text: string, columns: number): string {
  return text
    .split("\n")
    .map((line) => foldLine(line, columns))
    .join("\n");
}

function foldLine(padded: string, columns: number): string {
  const line = padded.trimEnd();
  const begins = /^ *\S.*? {2,}(?=\S)/.exec(stripVTControlCharacters(line))?.[0].length;
  if (begins === undefined || columns - begins < NARROWEST) return line;
  let width = 0;
  let folded = "";
  for (const piece of line.split(/(?<=\S)(?= \S)/)) {
    const length = stripVTControlCharacters(piece).length;
    const isOver = width > begins && width + length > columns;
    folded += isOver ? `\n${" ".repeat(begins)}${piece.trimStart()}` : piece;
    width = isOver ? begins + length - 1 : width + length;
  }
  return folded;
}
