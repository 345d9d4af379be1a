/**
 * Patterns of event types. An endpoint chooses exact names, `*` for every type, and `budget.*` for every type whose
 * name begins with `budget.`, however many words follow. A pattern includes types that are added later; an exact name
 * never does.
 */

/**
 * Words separated by dots. The name is written unescaped into the envelope, so no character is allowed that JSON would
 * escape.
 */
export const TYPE_NAME = /^(?=.{1,128}$)[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*$/;
const MAX_LENGTH = 128;

const EVERY = "*";
const BELOW = ".*";

/** True for a name of a subscription that stands for more than one type. The name has been validated. */
export function isPattern(name: string): boolean {
  return name === EVERY || name.endsWith(BELOW);
}

/** True if a subscription with this name receives events of the type. */
export function matches(name: string, type: string): boolean {
  return name === type || name === EVERY || (name.endsWith(BELOW) && type.startsWith(name.slice(0, -1)));
}

/** True if an endpoint that chose these names receives events of the type. */
export function chooses(names: readonly string[], type: string): boolean {
  return names.some((name) => matches(name, type));
}

/**
 * Returns every name under which a subscription receives events of the type: the type itself and the patterns that
 * match it. A store looks these up, so the cost of a publish does not depend on how many other patterns there are.
 */
export function namesThatMatch(type: string): readonly string[] {
  const names = [type, EVERY];
  for (let dot = type.indexOf("."); dot >= 0; dot = type.indexOf(".", dot + 1)) names.push(type.slice(0, dot) + BELOW);
  return names;
}

/**
 * Returns the existing types that an endpoint with these names receives, in the order of `known`. Stores keep patterns
 * among the names of types, so `known` may contain some, which are left out.
 */
export function chosenOf(names: readonly string[], known: Iterable<string>): readonly string[] {
  return [...known].filter((type) => !isPattern(type) && chooses(names, type));
}

/** The maximum number of types that `takenIn` names. */
const NAMED = 5;

/** Says which types a pattern matches today, as the end of a sentence about it. */
export function takenIn(pattern: string, known: Iterable<string>): string {
  const types = chosenOf([pattern], known);
  if (types.length === 0) return "matches no event type today";
  const rest = types.length - NAMED;
  return `matches today: ${types.slice(0, NAMED).join(", ")}${rest > 0 ? ` and ${rest} more` : ""}`;
}

/** Returns why this is not a pattern, as the end of a sentence with the nearest valid form. Null if it is one. */
export function patternFault(text: string, known: Iterable<string>): string | null {
  const stem = text === EVERY ? null : text.endsWith(BELOW) ? text.slice(0, -BELOW.length) : text;
  if (stem === null || (text.endsWith(BELOW) && text.length <= MAX_LENGTH && TYPE_NAME.test(stem))) return null;
  const near = nearestPattern(stem, [...known]);
  return `is not a pattern: * stands alone, for every type, or as the whole last word, as in budget.*; did you mean ${near}?`;
}

/** Keeps the whole words before the first `*`. An incomplete word is completed from a known type. */
function nearestPattern(stem: string, known: readonly string[]): string {
  const words = stem.split(".");
  const starred = words.findIndex((word) => word.includes(EVERY));
  const whole = words.slice(0, starred < 0 ? words.length : starred);
  if (whole.length > 0 && TYPE_NAME.test(whole.join("."))) return whole.join(".") + BELOW;
  const begun = words[0]!.slice(0, Math.max(0, words[0]!.indexOf(EVERY)));
  const group = begun === "" ? undefined : known.find((type) => type.startsWith(begun) && type.includes("."));
  return group === undefined ? EVERY : group.slice(0, group.indexOf(".")) + BELOW;
}
