/**
 * Ids, and the names of tenants. An id is a prefix, `_`, and 26 characters of lower-case Crockford base32. Ids sort as
 * text in the order of their creation.
 */
const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";
const ANY = /^(?:ep|evt|dlv|att|job|key)_[0-9a-hjkmnp-tv-z]{26}$/;
const BEGINNING = /^[0-9a-hjkmnp-tv-z]{6,25}$/;
const BODY = /^[0-9a-hjkmnp-tv-z]{26}$/;

/** Milliseconds in 10 characters, then 80 random bits in 16. `random` must return at least 10 bytes. */
export function newId(prefix: "ep" | "key" | "job" | "req", now: number, random: Uint8Array): string {
  if (random.length < 10) throw new RangeError("an id needs 10 random bytes");
  return `${prefix}_${encodeBase32(now, 10)}${encodeBytes(random.subarray(0, 10))}`;
}

/**
 * True if the text is exactly `<prefix>_` and 26 characters. Upper case and Crockford's aliases (o, i, l) are refused.
 */
export function isId(prefix: string, text: string): boolean {
  return text.length === prefix.length + 27 && text.startsWith(`${prefix}_`) && BODY.test(text.slice(-26));
}

/** True if an id may begin with this text, and the text is long enough to search for. */
export function isBeginning(prefix: string, text: string): boolean {
  return text.startsWith(`${prefix}_`) && BEGINNING.test(text.slice(prefix.length + 1));
}

/**
 * An event's id begins with the time at which it was received: 42 bits of milliseconds (until 2109), and 11 bits of
 * counter.
 */
export const EVENTS_PER_MS = 2048;
const EVENT_CHARS = 11;

/**
 * Returns the period in which events were received whose ids begin with this text (without the prefix), in the form
 * that `since` and `until` take.
 */
export function receivedWithin(beginning: string): { readonly since: string; readonly until: string } {
  const known = beginning.slice(0, EVENT_CHARS);
  const low = decodeBase32(known.padEnd(EVENT_CHARS, "0")) ?? Number.MAX_SAFE_INTEGER;
  const high = decodeBase32(known.padEnd(EVENT_CHARS, "z")) ?? Number.MAX_SAFE_INTEGER;
  const instant = (at: number) => new Date(at).toISOString();
  return { since: instant(Math.floor(low / EVENTS_PER_MS)), until: instant(Math.floor(high / EVENTS_PER_MS) + 1) };
}

/** Returns the time at which an event was received, in epoch milliseconds, from its id. */
export function receivedAt(event: string): number {
  return Math.floor(decodeBase32(event.slice(4, 4 + EVENT_CHARS))! / EVENTS_PER_MS);
}

/** The pattern of the ids that `isId` accepts, for descriptions of the API. */
export function idPattern(prefix: string): RegExp {
  return new RegExp(`^${prefix}_${BODY.source.slice(1)}`);
}

/** True if the text has the form of any of our ids. */
export function isAnyId(text: string): boolean {
  return ANY.test(text);
}

/** Encodes a non-negative safe integer, most significant character first, padded with zeros to `chars`. */
export function encodeBase32(value: number, chars: number): string {
  if (!Number.isSafeInteger(value) || value < 0) throw new RangeError("not a non-negative safe integer");
  let text = "";
  let rest = value;
  // Divide rather than shift: shifts would cut the value to 32 bits.
  for (let index = 0; index < chars; index++) {
    text = ALPHABET[rest % 32] + text;
    rest = Math.floor(rest / 32);
  }
  if (rest > 0) throw new RangeError(`does not fit in ${chars} characters`);
  return text;
}

/** Returns the integer that `encodeBase32` wrote. Null for other characters, no characters, or more than 53 bits. */
export function decodeBase32(text: string): number | null {
  if (text === "") return null;
  let value = 0;
  for (const char of text) {
    const digit = ALPHABET.indexOf(char);
    if (digit < 0) return null;
    value = value * 32 + digit;
    if (value > Number.MAX_SAFE_INTEGER) return null;
  }
  return value;
}

/**
 * Encodes bytes as base32, with five bits per character and zero bits to pad the last one: 32 bytes make 52 characters.
 */
export function encodeBytes(bytes: Uint8Array): string {
  let text = "";
  let held = 0;
  let bits = 0;
  for (const byte of bytes) {
    held = (held << 8) | byte;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text += ALPHABET[(held >> bits) & 31];
    }
    held &= (1 << bits) - 1;
  }
  return bits === 0 ? text : text + ALPHABET[(held << (5 - bits)) & 31];
}

/** Returns the bytes that `encodeBytes` wrote, or null for any text that it would not have written. */
export function decodeBytes(text: string): Uint8Array | null {
  const bytes = new Uint8Array(Math.floor((text.length * 5) / 8));
  let held = 0;
  let bits = 0;
  let length = 0;
  for (const char of text) {
    const digit = ALPHABET.indexOf(char);
    if (digit < 0) return null;
    held = (held << 5) | digit;
    bits += 5;
    if (bits >= 8) {
      bits -= 8;
      bytes[length++] = held >> bits;
      held &= (1 << bits) - 1;
    }
  }
  // Five or more bits left over mean a character too many. Non-zero bits would be a second spelling of the same bytes.
  return bits >= 5 || held !== 0 ? null : bytes;
}

/** The name of a tenant: `docs/interface.md` §1. */
export const TENANT = /^[A-Za-z0-9_.:-]{1,64}$/;

/** The tenant of everything that names none. */
export const DEFAULT_TENANT = "default";
/** Takes the place of a tenant where every tenant is meant. It is no name of a tenant. */
export const EVERY_TENANT = "*";

export function isTenant(text: string): boolean {
  return TENANT.test(text);
}
