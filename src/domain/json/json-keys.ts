/** The keys of one JSON object, to refuse a repeated one: receivers' parsers disagree about which of the two counts. */

/** Up to here comparing bytes is cheaper than making strings; it also bounds what an object of long keys may cost. */
const FEW = 32;
/** Longer keys are compared natively: a call costs as much as so many bytes here. */
const LONG = 32;
const BACKSLASH = 0x5c;

export class JsonKeys {
  readonly #spans: number[] = [];
  /** Null while all keys are few and written without escapes. */
  #names: Set<string> | null = null;

  clear(): void {
    this.#spans.length = 0;
    this.#names = null;
  }

  /** False when the object has this key already. The span lies between the quotes. */
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

/** The key as its parser will see it, escapes resolved. The span lies between the quotes. */
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
