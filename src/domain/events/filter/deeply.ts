/** Tests `$eq` with an array or an object. */
import type { Accepts } from "./looks.ts";

/** Returns a test for the same array or object. The order of keys does not matter. */
export function deeply(operand: unknown): Accepts {
  if (Array.isArray(operand)) {
    const items = operand.map(deeply);
    return (value, looks) =>
      --looks.left >= 0 &&
      Array.isArray(value) &&
      value.length === items.length &&
      items.every((item, at) => item(value[at], looks));
  }
  if (typeof operand !== "object" || operand === null) return (value, looks) => --looks.left >= 0 && value === operand;
  const members = Object.entries(operand).map(([name, one]) => [name, deeply(one)] as const);
  return (value, looks) =>
    --looks.left >= 0 &&
    typeof value === "object" &&
    value !== null &&
    !Array.isArray(value) &&
    members.every(
      ([name, accepts]) =>
        Object.hasOwn(value, name) && accepts((value as Readonly<Record<string, unknown>>)[name], looks),
    ) &&
    keysOf(value) === members.length;
}

/** Counting the keys of a wide object takes milliseconds, and every filter may need the number. */
const counted = new WeakMap<object, number>();

function keysOf(value: object): number {
  let keys = counted.get(value);
  if (keys === undefined) counted.set(value, (keys = Object.keys(value).length));
  return keys;
}
