/**
 * Finds the positions of things in a JSON text whose bytes are known to be UTF-8: its tokens (RFC 8259), its lines, the
 * keys of one object. A function for a token takes the position where it begins and returns the position after it, or
 * -1 if there is no such token.
 */

/** Bytes `start` to `end` (exclusive) of the scanned text, without surrounding white space. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

export type JsonKind = "object" | "array" | "string" | "number" | "boolean" | "null";

export interface JsonNode extends Span {
  readonly kind: JsonKind;
  /**
   * The members of an object inside the outline. Null for everything else. Keys are unescaped, in the order of the
   * text.
   */
  readonly members: ReadonlyMap<string, JsonNode> | null;
  /** The items of an array inside the outline. */
  readonly items: readonly JsonNode[] | null;
}

/**
 * Long work in pieces. It yields the number of bytes in each piece before doing it, so that other work can run in
 * between.
 */
export type Pieces<T> = Generator<number, T>;
export const PIECE_BYTES = 256 * 1024;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** 1 for the bytes that end a run of plain string characters: the quote, the backslash and the controls. */
const STOPS_STRING = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte < 0x20 || byte === QUOTE || byte === BACKSLASH ? 1 : 0,
);

/**
 * Returned by `endOfString` for an escaped surrogate without its other half, which the grammar allows but which has no
 * UTF-8 form.
 */
export const LONE_SURROGATE = -2;

export function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

export function skipSpace(bytes: Uint8Array, from: number): number {
  let at = from;
  while (at < bytes.length) {
    const byte = bytes[at]!;
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) break;
    at++;
  }
  return at;
}

/** `from` is the opening quote. */
export function endOfString(bytes: Uint8Array, from: number): number {
  const { length } = bytes;
  let at = from + 1;
  while (at < length) {
    // Skip four bytes at a time, because most published bytes are in strings.
    while (at + 3 < length && stopsIn4(bytes, at) === 0) at += 4;
    const byte = bytes[at]!;
    if (STOPS_STRING[byte] === 0) at++;
    else if (byte === QUOTE) return at + 1;
    else if (byte !== BACKSLASH) return -1;
    else {
      at = endOfEscape(bytes, at);
      if (at < 0) return at;
    }
  }
  return -1;
}

function stopsIn4(bytes: Uint8Array, at: number): number {
  return (
    STOPS_STRING[bytes[at]!]! |
    STOPS_STRING[bytes[at + 1]!]! |
    STOPS_STRING[bytes[at + 2]!]! |
    STOPS_STRING[bytes[at + 3]!]!
  );
}

export function endOfNumber(bytes: Uint8Array, from: number): number {
  let at = bytes[from] === 0x2d ? from + 1 : from;
  if (bytes[at] === 0x30) at++;
  else if ((at = endOfDigits(bytes, at)) < 0) return -1;
  if (bytes[at] === 0x2e && (at = endOfDigits(bytes, at + 1)) < 0) return -1;
  if (bytes[at] !== 0x65 && bytes[at] !== 0x45) return at;
  const sign = bytes[at + 1];
  return endOfDigits(bytes, sign === 0x2b || sign === 0x2d ? at + 2 : at + 1);
}

/** `true`, `false` or `null`, given as its bytes. */
export function endOfLiteral(bytes: Uint8Array, from: number, literal: Uint8Array): number {
  for (let index = 0; index < literal.length; index++) {
    if (bytes[from + index] !== literal[index]) return -1;
  }
  return from + literal.length;
}

/** Requires at least one digit. */
function endOfDigits(bytes: Uint8Array, from: number): number {
  let at = from;
  while (at < bytes.length && bytes[at]! >= 0x30 && bytes[at]! <= 0x39) at++;
  return at === from ? -1 : at;
}

/** `from` is the backslash. A high surrogate must be followed by the escape of a low one. */
function endOfEscape(bytes: Uint8Array, from: number): number {
  switch (bytes[from + 1]) {
    case QUOTE:
    case BACKSLASH:
    case 0x2f: // /
    case 0x62: // b
    case 0x66: // f
    case 0x6e: // n
    case 0x72: // r
    case 0x74: // t
      return from + 2;
    case 0x75: {
      // u
      const unit = hexUnit(bytes, from + 2);
      if (unit < 0) return -1;
      if ((unit & 0xf800) !== 0xd800) return from + 6;
      const paired =
        unit < 0xdc00 &&
        bytes[from + 6] === BACKSLASH &&
        bytes[from + 7] === 0x75 &&
        (hexUnit(bytes, from + 8) & 0xfc00) === 0xdc00;
      return paired ? from + 12 : LONE_SURROGATE;
    }
    default:
      return -1;
  }
}

function hexUnit(bytes: Uint8Array, from: number): number {
  let unit = 0;
  for (let at = from; at < from + 4; at++) {
    const byte = bytes[at] ?? 0;
    const letter = byte | 0x20;
    if (byte >= 0x30 && byte <= 0x39) unit = unit * 16 + byte - 0x30;
    else if (letter >= 0x61 && letter <= 0x66) unit = unit * 16 + letter - 0x57;
    else return -1;
  }
  return unit;
}

/**
 * Returns the first `limit` lines of an NDJSON text that are not blank. Each is scanned separately, because a string
 * cannot contain a raw line break.
 */
export function jsonLines(bytes: Uint8Array, limit = Number.POSITIVE_INFINITY): Span[] {
  const lines: Span[] = [];
  for (let start = skipSpace(bytes, 0); start < bytes.length && lines.length < limit;) {
    const newline = bytes.indexOf(0x0a, start);
    const end = newline < 0 ? bytes.length : newline;
    lines.push({ start, end });
    start = skipSpace(bytes, end);
  }
  return lines;
}

/**
 * Up to this many keys, comparing bytes is cheaper than creating strings. It also limits the cost of an object with
 * long keys.
 */
const FEW = 32;
/** Longer keys are compared natively, because the call costs as much as comparing this many bytes here. */
const LONG = 32;

/**
 * The keys of one JSON object, used to refuse a repeated one: receivers' parsers disagree about which of the two
 * counts.
 */
export class JsonKeys {
  readonly #spans: number[] = [];
  /** Null while there are few keys, all written without escapes. */
  #names: Set<string> | null = null;

  clear(): void {
    this.#spans.length = 0;
    this.#names = null;
  }

  /** Returns false if the object already has this key. The span lies between the quotes. */
  add(text: Buffer, start: number, end: number): boolean {
    const names = this.#names ?? (this.#fits(text, start, end) ? null : this.#decodeAll(text));
    if (names !== null) {
      const before = names.size;
      return names.add(keyName(text, start, end)).size > before;
    }
    const spans = this.#spans;
    for (let index = 0; index < spans.length; index += 2) {
      if (sameBytes(text, start, end, spans[index]!, spans[index + 1]!)) return false;
    }
    spans.push(start, end);
    return true;
  }

  #fits(text: Buffer, start: number, end: number): boolean {
    return this.#spans.length < 2 * FEW && !hasEscape(text, start, end);
  }

  #decodeAll(text: Buffer): Set<string> {
    const names = new Set<string>();
    for (let index = 0; index < this.#spans.length; index += 2) {
      names.add(keyName(text, this.#spans[index]!, this.#spans[index + 1]!));
    }
    this.#names = names;
    return names;
  }
}

/** Returns the key as its parser will see it, with escapes resolved. The span lies between the quotes. */
export function keyName(text: Buffer, start: number, end: number): string {
  const raw = text.toString("utf8", start, end);
  return raw.includes("\\") ? (JSON.parse(`"${raw}"`) as string) : raw;
}

function hasEscape(text: Uint8Array, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if (text[at] === BACKSLASH) return true;
  return false;
}

function sameBytes(text: Buffer, start: number, end: number, otherStart: number, otherEnd: number): boolean {
  const length = end - start;
  if (otherEnd - otherStart !== length) return false;
  if (length > LONG) return text.compare(text, otherStart, otherEnd, start, end) === 0;
  for (let offset = 0; offset < length; offset++) {
    if (text[start + offset] !== text[otherStart + offset]) return false;
  }
  return true;
}
