/**
 * Evaluates filters exactly as docs/filters.md words it: nothing is compiled, counted or cut short, and no code of
 * `src` is used. So a mistake in one evaluator is not in the other.
 */

/** Stands for a value that the event does not have. */
const NONE = Symbol("none");

/** @param filter a document that is known to be a filter */
export function referenceTakes(filter: unknown, event: { type: string; data: unknown; tags: readonly string[] }) {
  return isMet(filter, event);
}

/** True if the value meets the condition. */
function isMet(condition: any, value: unknown): boolean {
  if (Array.isArray(condition))
    return Array.isArray(value) && condition.every((one) => value.some((v) => isMet(one, v)));
  if (!isObject(condition)) return isThere(value, (one) => isSame(one, condition));
  const ofOneItem: [string, any][] = [];
  for (const [name, operand] of Object.entries<any>(condition)) {
    const answer = ofWhole(name, operand, value);
    if (answer === false) return false;
    if (answer === null) ofOneItem.push([name, operand]);
  }
  if (ofOneItem.length === 0) return true;
  return isThere(value, (one) => ofOneItem.every(([name, operand]) => isItemMet(name, operand, one)));
}

/** Returns the answer of an operator that tests the value as a whole. Null for the others and for a field. */
function ofWhole(name: string, operand: any, value: unknown): boolean | null {
  switch (name) {
    case "$not":
      return !isMet(operand, value);
    case "$neq":
      return !isMet({ $eq: operand }, value);
    case "$nin":
      return !isMet({ $in: operand }, value);
    case "$or":
      return operand.some((one: unknown) => isMet(one, value));
    case "$and":
      return operand.every((one: unknown) => isMet(one, value));
    case "$exist":
      return (value !== NONE) === operand;
    case "$in":
      if (Array.isArray(operand)) return null;
      return Array.isArray(value) ? value.some((item) => item === operand) : isText(value) && holds(value, operand);
    default:
      return null;
  }
}

/** Returns the answer for one value, which may be an item of an array, or an array as a whole. */
function isItemMet(name: string, operand: any, value: any): boolean {
  if (["$gt", "$gte", "$lt", "$lte"].includes(name) && typeof operand === "number") value = readAmount(value);
  const isComparable = typeof value === typeof operand && (isText(value) || typeof value === "number");
  switch (name) {
    case "$eq":
      return isSame(value, operand);
    case "$gt":
      return isComparable && value > operand;
    case "$gte":
      return isComparable && !(value < operand);
    case "$lt":
      return isComparable && value < operand;
    case "$lte":
      return isComparable && !(value > operand);
    case "$in":
      return operand.some((one: unknown) => isSame(value, one));
    case "$startsWith":
      return isText(value) && value.slice(0, operand.length) === operand;
    case "$endsWith":
      return isText(value) && value.length >= operand.length && value.slice(value.length - operand.length) === operand;
    default:
      if (Array.isArray(value)) return false;
      return isMet(operand, isObject(value) && Object.keys(value).includes(name) ? value[name] : NONE);
  }
}

/** True if the value itself, or an item of it at any depth, passes. */
function isThere(value: unknown, is: (one: unknown) => boolean): boolean {
  return is(value) || (Array.isArray(value) && value.some((item) => isThere(item, is)));
}

function isSame(one: any, other: any): boolean {
  if (Array.isArray(one) || Array.isArray(other)) {
    if (!Array.isArray(one) || !Array.isArray(other) || one.length !== other.length) return false;
    return one.every((item, at) => isSame(item, other[at]));
  }
  if (!isObject(one) || !isObject(other)) return one === other;
  const names = Object.keys(one).toSorted();
  if (names.join("\0") !== Object.keys(other).toSorted().join("\0")) return false;
  return names.every((name) => isSame(one[name], other[name]));
}

/** True if the wanted string begins at some position of the text. */
function holds(text: string, wanted: string): boolean {
  for (let at = 0; at <= text.length; at++) if (text.slice(at, at + wanted.length) === wanted) return true;
  return false;
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The number that an amount stands for, and any other value as it is. */
function readAmount(value: any): any {
  if (!isText(value)) return value;
  const [whole = "", fraction, ...more] = (value.startsWith("-") ? value.slice(1) : value).split(".");
  const isDigits = (text: string) => text !== "" && [...text].every((one) => "0123456789".includes(one));
  if (more.length > 0 || !isDigits(whole) || (whole.length > 1 && whole.startsWith("0"))) return value;
  return fraction === undefined || isDigits(fraction) ? Number.parseFloat(value) : value;
}
