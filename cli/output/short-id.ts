/** Shortens ids to the shortest prefixes that are still unique on the screen. */
import { isAnyId } from "../../src/domain/id.ts";

/**
 * Two ids of these kinds differ within this many characters after the prefix. The characters are an event's own number,
 * and the places as well for deliveries and attempts. Other ids are shortened to what is unique on the screen, but stay
 * long enough to be looked up.
 */
const LEAST: Readonly<Record<string, number>> = { evt: 11, dlv: 17, att: 19 };
const LEAST_OF_OTHERS = 8;
const WHOLE = 26;

/** Leaves text that is not an id as it is. */
export function shortIds(cells: readonly string[]): string[] {
  const ids = [...new Set(cells.filter(isAnyId))];
  const isUnique = (chars: number) => new Set(ids.map((id) => cut(id, chars))).size === ids.length;
  let chars = LEAST_OF_OTHERS;
  while (chars < WHOLE && !isUnique(chars)) chars++;
  return cells.map((cell) => (isAnyId(cell) ? cut(cell, chars) : cell));
}

function cut(id: string, chars: number): string {
  const [prefix, body] = id.split("_") as [string, string];
  return `${prefix}_${body.slice(0, Math.max(chars, LEAST[prefix] ?? 0))}`;
}
