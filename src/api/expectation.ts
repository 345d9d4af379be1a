/** What a schema expected, in words for whoever wrote the body: `must be ` and the answer is a sentence. */
import { nearest } from "../config/nearest.ts";

const WORDS: Readonly<Record<string, string>> = {
  Array: "a list",
  array: "a list",
  Object: "an object",
  object: "an object",
  string: "a string",
  number: "a number",
  boolean: "true or false",
};
/** The longer signs first. */
const BOUNDS = [
  [">=", "at least "],
  ["<=", "at most "],
  [">", "more than "],
  ["<", "less than "],
] as const;

/** Of a name that is in no catalogue. */
export function unknownType(name: string, types: ReadonlyMap<string, unknown>): string {
  const near = nearest(name, types.keys());
  return `is not a known event type; ${near === null ? "see GET /v1/webhooks/event-types" : `did you mean ${near}?`}`;
}

const either = new Intl.ListFormat("en", { type: "disjunction" });

/** Of an issue's `expected`: a name, a bound, a value, or several of them as `(a | b)`. */
export function inWords(expected: string): string {
  return either.format(
    expected
      .replace(/^\((.*)\)$/s, "$1")
      .split(" | ")
      .map(word),
  );
}

function word(expected: string): string {
  const bound = BOUNDS.find(([sign]) => expected.startsWith(sign));
  return bound === undefined ? (WORDS[expected] ?? expected) : `${bound[1]}${expected.slice(bound[0].length)}`;
}
