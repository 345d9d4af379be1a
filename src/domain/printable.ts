/**
 * Makes outside text safe to show: response bodies, header values, descriptions, error messages. Characters that could
 * control a terminal or reorder a line are replaced by a visible `<U+001B>` rather than removed, so that an attack is
 * visible (CWE-150, CWE-117).
 */

export interface PrintableOptions {
  /** The maximum number of UTF-16 units to return. Text that is cut ends with `…`. */
  readonly max?: number;
  /** Keeps line breaks, turning CR LF into LF. Otherwise they are shown as code points. */
  readonly keepNewlines?: boolean;
}

const PLAIN = /^[\x20-\x7e]*$/;
/**
 * Controls except the line feed, bidi and zero-width characters, line separators, byte-order marks, tags, lone
 * surrogates.
 */
const FORBIDDEN =
  /[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff\u{e0000}-\u{e007f}]/gu;
/** The ninth and later combining marks on a character. */
const EXCESS_MARK = /(?<=\p{M}{8})\p{M}/gu;
const TAB = "  ";

/** Idempotent for the same options. */
export function printable(text: string, options: PrintableOptions = {}): string {
  const max = options.max ?? Number.POSITIVE_INFINITY;
  if (text.length <= max && PLAIN.test(text)) return text;
  // Cut first, to bound the work. Two units yield at least one, and only one if CR LF is merged.
  let shown = text.slice(0, 2 * max + 1);
  shown = options.keepNewlines ? shown.replaceAll("\r\n", "\n") : shown.replaceAll("\n", visible);
  shown = shown.replaceAll("\t", TAB).replace(FORBIDDEN, visible).replace(EXCESS_MARK, visible);
  return shown.length > max ? cut(shown, max) : shown;
}

function visible(char: string): string {
  return `<U+${char.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}>`;
}

function cut(text: string, max: number): string {
  if (max < 1) return "";
  const head = text.slice(0, max - 1);
  // Do not cut between the halves of a pair: a lone surrogate would be a forbidden character.
  return (/[\ud800-\udbff]$/.test(head) ? head.slice(0, -1) : head) + "…";
}
