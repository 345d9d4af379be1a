/** Random filters, and events of few words, so that many of them match. */
import type { Subject } from "../../src/domain/events/filter/evaluate.ts";
import { EVENT_PARTS, type FilterDocument } from "../../src/domain/events/filter/filter.ts";
import type { Random } from "../sim/random.ts";

export class DrawnFilters {
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
  }

  event(): Subject {
    const tags = TAGS.filter(() => this.#random.chance(0.4));
    return { type: this.#random.pick(TYPES), tags, data: JSON.parse(`{${this.#members(3)}}`) as unknown };
  }

  filter(levels: number): FilterDocument {
    const several = () => this.#some(3, () => this.filter(levels - 1));
    const kind = levels === 0 ? 1 : this.#random.next();
    if (kind < 0.1) return { $or: several() };
    if (kind < 0.2) return { $and: several() };
    if (kind < 0.3) return { $not: this.filter(levels - 1) };
    const part = this.#random.pick([...EVENT_PARTS, "data", "data", "data"] as const);
    const more = this.#random.chance(0.1) ? { $or: several() } : {};
    if (part !== "data") return { [part]: this.#condition(1, [...TYPES, ...TAGS]), ...more };
    return { data: this.#object(3), ...more };
  }

  /** JSON, because some numbers and keys of events cannot be written in TypeScript. */
  #value(levels: number): string {
    const kind = levels === 0 ? 0 : this.#random.next();
    if (kind < 0.5) return this.#random.pick(SCALARS);
    if (kind < 0.75) return `[${this.#some(4, () => this.#value(levels - 1)).join()}]`;
    return `{${this.#members(levels - 1)}}`;
  }

  #members(levels: number): string {
    const names = NAMES.filter(() => this.#random.chance(0.7));
    return names.map((name) => `${JSON.stringify(name)}:${this.#value(levels)}`).join();
  }

  #condition(levels: number, texts: readonly string[] = TEXTS): unknown {
    const kind = levels === 0 ? 0 : this.#random.next();
    if (kind < 0.15) return this.#random.chance(0.5) ? this.#random.pick(texts) : this.#scalar();
    if (kind < 0.25) return this.#some(3, () => this.#condition(levels - 1, texts));
    return this.#random.chance(0.5) ? this.#object(levels - 1) : this.#operators(levels - 1, texts);
  }

  #object(levels: number): FilterDocument {
    const names = NAMES.filter(() => this.#random.chance(0.1));
    if (names.length === 0) names.push(this.#random.pick(NAMES));
    return JSON.parse(
      `{${names.map((name) => `${JSON.stringify(name)}:${JSON.stringify(this.#condition(Math.max(0, levels)))}`).join()}}`,
    ) as FilterDocument;
  }

  #operators(levels: number, texts: readonly string[]): FilterDocument {
    const text = () => this.#random.pick(texts);
    const ordered = () => (this.#random.chance(0.3) ? text() : this.#random.pick(NUMBERS));
    const listed = () => (this.#random.chance(0.3) ? text() : this.#some(3, () => this.#scalar()));
    const whole = () => JSON.parse(this.#value(1).replace(/9007199254740993|1e400/g, "7")) as unknown;
    const nested = () => this.#condition(Math.max(0, levels), texts);
    const all: Readonly<Record<string, () => unknown>> = {
      $eq: whole,
      $neq: whole,
      $gt: ordered,
      $gte: ordered,
      $lt: ordered,
      $lte: ordered,
      $in: listed,
      $nin: listed,
      $startsWith: text,
      $endsWith: text,
      $exist: () => this.#random.chance(0.5),
      $or: () => this.#some(3, nested),
      $and: () => this.#some(3, nested),
      $not: nested,
      x: nested,
    };
    const chosen = this.#some(2, () => this.#random.pick(Object.keys(all)));
    return Object.fromEntries(chosen.map((name) => [name, all[name]!()]));
  }

  #scalar(): unknown {
    return JSON.parse(this.#random.pick(SCALARS).replace(/9007199254740993|1e400/, "7")) as unknown;
  }

  #some<T>(most: number, make: () => T): T[] {
    return Array.from({ length: this.#random.between(1, most) }, make);
  }
}

const TYPES = ["budget.exceeded", "budget.limit.raised", "goal.achieved"];
const TAGS = ["vip", "eu", "budget"];
const NAMES = ["x", "y", "constructor", "__proto__"];
const NUMBERS = [0, -1, 1, 1.5, 9_007_199_254_740_991];
const TEXTS = ["", "a", "b", "ab", "aab", "1.50", "-0.1", "01", "1e1", "2.", "\u{1f600}", "\ud83d"];
const SCALARS = [
  ...[...NUMBERS, true, false, null, ...TEXTS].map((one) => JSON.stringify(one)),
  "-0.0",
  "1.0",
  "9007199254740993",
  "1e400",
  "7",
];
