/** Evaluates filters: `matches` for each publish, and `explain` for people who ask why. */
import type { Condition, Each, Filter, Whole } from "./filter.ts";

/** The parts of an event that a filter looks at. */
export interface Subject {
  readonly type: string;
  readonly data: unknown;
  readonly tags: readonly string[];
}

/**
 * The values that one filter looks at in one event. An event of thousands of items could otherwise hold up every other
 * publish. A filter that is not done by then lets the event through, so that nothing is lost.
 */
export const MAX_LOOKS = 20_000;

interface Looks {
  left: number;
}

export function matches({ root }: Filter, subject: Subject): boolean {
  const looks = { left: MAX_LOOKS };
  return holds(root, subject, looks) || looks.left < 0;
}

function holds(condition: Condition, value: unknown, looks: Looks): boolean {
  for (const part of condition.whole) if (!wholeHolds(part, value, looks)) return false;
  return condition.each.length === 0 || eachHolds(condition.each, value, looks);
}

/** An array meets them if it does itself, as with `$eq`, or if one of its items does. */
function eachHolds(each: readonly Each[], value: unknown, looks: Looks): boolean {
  if (--looks.left < 0) return false;
  let all = true;
  for (let at = 0; at < each.length && all; at++) all = partHolds(each[at]!, value, looks);
  if (all || !Array.isArray(value)) return all;
  for (let at = 0; at < value.length && looks.left >= 0; at++) if (eachHolds(each, value[at], looks)) return true;
  return false;
}

function partHolds(part: Each, value: unknown, looks: Looks): boolean {
  if (part.kind === "test") return part.accepts(value);
  return !Array.isArray(value) && holds(part.condition, memberOf(value, part.name), looks);
}

function wholeHolds(part: Whole, value: unknown, looks: Looks): boolean {
  if (part.kind === "value") {
    looks.left -= weightOf(value);
    return part.accepts(value);
  }
  if (part.kind === "none") return !eachHolds(part.tests, value, looks);
  if (part.kind === "not") return !holds(part.condition, value, looks);
  if (part.kind === "all") return part.conditions.every((one) => holds(one, value, looks));
  if (part.kind === "any") return part.conditions.some((one) => holds(one, value, looks));
  return Array.isArray(value) && part.conditions.every((one) => itemOf(one, value, looks) >= 0);
}

/** The index of the first item that meets the condition; -1 if none does. */
function itemOf(condition: Condition, items: readonly unknown[], looks: Looks): number {
  return items.findIndex((item) => looks.left >= 0 && holds(condition, item, looks));
}

/** A long text is searched about as fast as an array of a hundredth of its length. */
function weightOf(value: unknown): number {
  if (typeof value === "string") return value.length / 100;
  return Array.isArray(value) ? value.length : 0;
}

/** Only a key of its own: an event may well have a key such as `constructor`. */
function memberOf(value: unknown, name: string): unknown {
  const has = typeof value === "object" && value !== null && Object.hasOwn(value, name);
  return has ? (value as Readonly<Record<string, unknown>>)[name] : undefined;
}

/** One condition that decided. */
export interface Decision {
  /** The place of the condition in the filter, as a JSON pointer. */
  readonly pointer: string;
  /** The place that it looked at in the event, as a JSON pointer. */
  readonly path: string;
  /** The value there; undefined if there is none. */
  readonly found: unknown;
  readonly holds: boolean;
}

export interface Explanation {
  readonly matches: boolean;
  /** The event was let through because the filter would have had to look at too many values. */
  readonly isTooLarge: boolean;
  /** Enough conditions to show why: one that fails if all of several had to hold, all of them if one would have done. */
  readonly decided: readonly Decision[];
}

export function explain(filter: Filter, subject: Subject): Explanation {
  const looks = { left: MAX_LOOKS };
  holds(filter.root, subject, looks);
  if (looks.left < 0) return { matches: true, isTooLarge: true, decided: [] };
  const { isMet, decided } = reasonsOf(filter.root, subject, "");
  return { matches: isMet, isTooLarge: false, decided };
}

interface Reasons {
  readonly isMet: boolean;
  readonly decided: readonly Decision[];
}

/** The whole filter was evaluated within its limit before, so its parts need none. */
const UNLIMITED: Looks = { left: Number.POSITIVE_INFINITY };

function reasonsOf({ pointer, whole, each }: Condition, value: unknown, path: string): Reasons {
  const before = allOf(whole, (part) => wholeReasons(part, value, path));
  if (!before.isMet || each.length === 0) return before;
  const after = eachReasons(each, pointer, value, path);
  return after.isMet ? { isMet: true, decided: [...before.decided, ...after.decided] } : after;
}

function eachReasons(each: readonly Each[], pointer: string, value: unknown, path: string): Reasons {
  const itself = allOf(each, (part) => partReasons(part, value, path));
  if (itself.isMet || !Array.isArray(value)) return itself;
  const met = value.findIndex((item) => eachHolds(each, item, UNLIMITED));
  const shown = met < 0 && value.length === 1 ? 0 : met;
  if (shown >= 0) return eachReasons(each, pointer, value[shown], `${path}/${shown}`);
  // No single item decides that none of them meets the conditions.
  const only = each.length > 1 ? null : each[0]!;
  return decision(only?.kind === "test" ? only.pointer : pointer, path, value, false);
}

function partReasons(part: Each, value: unknown, path: string): Reasons {
  if (part.kind === "test") return decision(part.pointer, path, value, part.accepts(value));
  if (Array.isArray(value)) return decision(part.condition.pointer, path, value, false);
  return reasonsOf(part.condition, memberOf(value, part.name), pathTo(path, part.name));
}

function wholeReasons(part: Whole, value: unknown, path: string): Reasons {
  switch (part.kind) {
    case "value":
    case "none":
      return decision(part.pointer, path, value, wholeHolds(part, value, UNLIMITED));
    case "not": {
      const { isMet, decided } = reasonsOf(part.condition, value, path);
      return { isMet: !isMet, decided };
    }
    case "all":
      return allOf(part.conditions, (one) => reasonsOf(one, value, path));
    case "any": {
      const all = part.conditions.map((one) => reasonsOf(one, value, path));
      const met = all.find(({ isMet }) => isMet);
      return met ?? { isMet: false, decided: all.flatMap(({ decided }) => decided) };
    }
    case "contains":
      return allOf(part.conditions, (one) => {
        const items: readonly unknown[] = Array.isArray(value) ? value : [];
        const at = itemOf(one, items, UNLIMITED);
        return at < 0 ? decision(one.pointer, path, value, false) : reasonsOf(one, items[at], `${path}/${at}`);
      });
  }
}

function allOf<T>(parts: readonly T[], reasons: (part: T) => Reasons): Reasons {
  const decided: Decision[] = [];
  for (const part of parts) {
    const one = reasons(part);
    if (!one.isMet) return one;
    decided.push(...one.decided);
  }
  return { isMet: true, decided };
}

function decision(pointer: string, path: string, found: unknown, isMet: boolean): Reasons {
  return { isMet, decided: [{ pointer, path, found, holds: isMet }] };
}

function pathTo(path: string, name: string): string {
  return `${path}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
}
