/** Tests `$in` with a string. `String.includes` takes a second for strings that are crafted to be slow to search. */
import type { Accepts } from "./looks.ts";

/** The number of characters that are searched in the time of a few looks. */
const PER_LOOK = 16;

/** Returns a test for a string that contains the wanted one, and for an array with this item. */
export function containing(wanted: string): Accepts {
  const codes = codesOf(wanted);
  const falls = fallsOf(codes);
  return (value, looks) => {
    if (typeof value === "string") {
      looks.left -= value.length / PER_LOOK;
      return looks.left >= 0 && isWithin(value, codes, falls);
    }
    if (!Array.isArray(value)) return false;
    looks.left -= value.length;
    return looks.left >= 0 && value.includes(wanted);
  };
}

function codesOf(text: string): Uint16Array {
  const codes = new Uint16Array(text.length);
  for (let at = 0; at < text.length; at++) codes[at] = text.charCodeAt(at);
  return codes;
}

/**
 * For each number of characters that matched, gives how many of the last ones are also the first ones of the wanted
 * string. The search continues from there, and never goes back in the other string (Knuth, Morris and Pratt).
 */
function fallsOf(codes: Uint16Array): Uint16Array {
  const falls = new Uint16Array(codes.length + 1);
  for (let at = 1, found = 0; at < codes.length; at++) {
    while (found > 0 && codes[at] !== codes[found]) found = falls[found]!;
    if (codes[at] === codes[found]) found++;
    falls[at + 1] = found;
  }
  return falls;
}

function isWithin(text: string, codes: Uint16Array, falls: Uint16Array): boolean {
  const { length } = codes;
  let found = 0;
  for (let at = 0; found < length; at++) {
    if (at === text.length) return false;
    const code = text.charCodeAt(at);
    while (found > 0 && code !== codes[found]) found = falls[found]!;
    if (code === codes[found]) found++;
  }
  return true;
}
