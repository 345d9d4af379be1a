/** Evaluates filters: `matches` for each publish, and `explain` for people who want to know why. */
import type { Condition, Each, Filter, Whole } from "./filter.ts";
import { type Looks, MAX_LOOKS } from "./looks.ts";

/** The parts of an event that a filter can test. */
export interface Subject {
  readonly type: string;
  readonly data: unknown;
  readonly tags: readonly string[];
}

/** The cost is taken off the looks. */
export function matches({ root }: Filter, subject: Subject, looks: Looks = { left: MAX_LOOKS }): boolean {
  return holds(root, subject, looks) || looks.left < 0;
}

function holds(condition: Condition, value: unknown, looks: Looks): boolean {
  for (const part of condition.whole) if (looks.left < 0 || !wholeHolds(part, value, looks)) return false;
  return condition.each.length === 0 || eachHolds(condition.each, value, looks);
}

/** An array meets the conditions if it does so itself, as with `$eq`, or if one of its items does. */
function eachHolds(each: readonly Each[], value: unknown, looks: Looks): boolean {
  if (--looks.left < 0) return false;
  let all = true;
  for (let at = 0; at < each.length && all; at++) all = partHolds(each[at]!, value, looks);
  if (all || !Array.isArray(value)) return all;
  for (let at = 0; at < value.length && looks.left >= 0; at++) if (eachHolds(each, value[at], looks)) return true;
  return false;
}

function partHolds(part: Each, value: unknown, looks: Looks): boolean {
  if (part.kind === "test") return part.accepts(value, looks);
  return !Array.isArray(value) && holds(part.condition, memberOf(value, part.name), looks);
}

function wholeHolds(part: Whole, value: unknown, looks: Looks): boolean {
  if (part.kind === "value") return part.accepts(value, looks);
  if (part.kind === "none") return !eachHolds(part.tests, value, looks);
  if (part.kind === "not") return !holds(part.condition, value, looks);
  if (part.kind === "all") return part.conditions.every((one) => holds(one, value, looks));
  if (part.kind === "any") return part.conditions.some((one) => holds(one, value, looks));
  return Array.isArray(value) && part.conditions.every((one) => itemOf(one, value, looks) >= 0);
}

/** Returns the index of the first item that meets the condition, or -1 if none does. */
function itemOf(condition: Condition, items: readonly unknown[], looks: Looks): number {
  return items.findIndex((item) => looks.left >= 0 && holds(condition, item, looks));
}

/** Only a key of its own: an event may well have a key such as `constructor`. */
export function memberOf(value: unknown, name: string): unknown {
  const has = typeof value === "object" && value !== null && Object.hasOwn(value, name);
  return has ? (value as Readonly<Record<string, unknown>>)[name] : undefined;
}

export interface Decision {
  /** The place of the condition in the filter, as a JSON pointer. */
  readonly pointer: string;
  /** The place in the event that it tested, as a JSON pointer. */
  readonly path: string;
  /** The value there. Undefined if there is none. */
  readonly found: unknown;
  readonly holds: boolean;
}

export interface Explanation {
  readonly matches: boolean;
  /** True if the event was let through because the filter would have had to look at too many values. */
  readonly isTooLarge: boolean;
  /**
   * Enough conditions to show why: one that failed if all of several had to hold, or all of them if one would have
   * sufficed. Empty if finding them would take too long.
   */
  readonly decided: readonly Decision[];
}

/**
 * Finding the reasons takes more looks than the evaluation, because the item of an array that decides is looked at
 * again.
 */
const MAX_REASON_LOOKS = 5 * MAX_LOOKS;

export function explain(filter: Filter, subject: Subject): Explanation {
  const looks = { left: MAX_LOOKS };
  const isMatch = holds(filter.root, subject, looks);
  if (looks.left < 0) return { matches: true, isTooLarge: true, decided: [] };
  const more = { left: MAX_REASON_LOOKS };
  const { decided } = new Reasoning(more).of(filter.root, subject, "");
  return { matches: isMatch, isTooLarge: false, decided: more.left < 0 ? [] : decided };
}

interface Reasons {
  readonly isMet: boolean;
  readonly decided: readonly Decision[];
}

/** Evaluates in the same order as `holds`, so that it takes few more looks. */
class Reasoning {
  readonly #looks: Looks;

  constructor(looks: Looks) {
    this.#looks = looks;
  }

  of({ pointer, whole, each }: Condition, value: unknown, path: string): Reasons {
    const before = allOf(whole, (part) => this.#whole(part, value, path));
    if (!before.isMet || each.length === 0) return before;
    const after = this.#each(each, pointer, value, path);
    return after.isMet ? { isMet: true, decided: [...before.decided, ...after.decided] } : after;
  }

  #each(each: readonly Each[], pointer: string, value: unknown, path: string): Reasons {
    this.#looks.left--;
    const itself = allOf(each, (part) => this.#part(part, value, path));
    if (itself.isMet || !Array.isArray(value)) return itself;
    const met = value.findIndex((item) => this.#looks.left >= 0 && eachHolds(each, item, this.#looks));
    const shown = met < 0 && value.length === 1 ? 0 : met;
    if (shown >= 0) return this.#each(each, pointer, value[shown], `${path}/${shown}`);
    // If no item of an array meets the conditions, no single item is the reason.
    const only = each.length > 1 ? null : each[0]!;
    return decision(only?.kind === "test" ? only.pointer : pointer, path, value, false);
  }

  #part(part: Each, value: unknown, path: string): Reasons {
    if (part.kind === "test") return decision(part.pointer, path, value, part.accepts(value, this.#looks));
    if (Array.isArray(value)) return decision(part.condition.pointer, path, value, false);
    return this.of(part.condition, memberOf(value, part.name), pathTo(path, part.name));
  }

  #whole(part: Whole, value: unknown, path: string): Reasons {
    switch (part.kind) {
      case "value":
      case "none":
        return decision(part.pointer, path, value, wholeHolds(part, value, this.#looks));
      case "not": {
        const { isMet, decided } = this.of(part.condition, value, path);
        return { isMet: !isMet, decided };
      }
      case "all":
        return allOf(part.conditions, (one) => this.of(one, value, path));
      case "any": {
        const decided: Decision[] = [];
        for (const one of part.conditions) {
          const reasons = this.of(one, value, path);
          if (reasons.isMet) return reasons;
          decided.push(...reasons.decided);
        }
        return { isMet: false, decided };
      }
      case "contains":
        return allOf(part.conditions, (one) => {
          const items: readonly unknown[] = Array.isArray(value) ? value : [];
          const at = itemOf(one, items, this.#looks);
          return at < 0 ? decision(one.pointer, path, value, false) : this.of(one, items[at], `${path}/${at}`);
        });
    }
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
