/**
 * The tokens of RFC 8259 over bytes that are known to be UTF-8. Each function takes the place where a token begins and
 * returns the place after it, or -1 where no such token stands there.
 */

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** 1 for the bytes that end a run of plain string characters: quote, backslash and the controls. */
const STOPS_STRING = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte < 0x20 || byte === QUOTE || byte === BACKSLASH ? 1 : 0,
);

/** What `endOfString` returns for an escaped surrogate without its other half: grammatical, but it has no UTF-8 form. */
export const LONE_SURROGATE = -2;

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
  let at = from + 1;
  while (at < bytes.length) {
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

/** At least one digit. */
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
