/**
 * Filters of endpoints: a JSON document about the parts of an event that says which events an endpoint receives. This
 * file reads a document, says what is wrong with it, and prepares it for evaluation. docs/filters.md has the language
 * and its table of cases.
 */
import { nearest } from "../../nearest.ts";
import { containing } from "./containing.ts";
import { deeply } from "./deeply.ts";
import type { Accepts } from "./looks.ts";

/** A filter as its owner wrote it. */
export type FilterDocument = Readonly<Record<string, unknown>>;

/** A parsed filter. Two filters with the same text choose the same events. */
export interface Filter {
  readonly text: string;
  readonly root: Condition;
  readonly parts: ReadonlySet<EventPart>;
  /** No event is taken without these values. There may be none. */
  readonly needs: readonly Need[];
}

/** A plain value that an event must have at a place: it, or an item of an array there. */
export interface Need {
  readonly path: readonly string[];
  readonly value: Scalar;
}

/** A condition on one value, or on its absence. All parts of the condition must hold. */
export interface Condition {
  /** Its place in the document, as a JSON pointer. */
  readonly pointer: string;
  /** The parts that test the value as a whole. */
  readonly whole: readonly Whole[];
  /** If the value is an array, a single item must meet all of these. */
  readonly each: readonly Each[];
}

export type Each =
  | { readonly kind: "field"; readonly name: string; readonly condition: Condition }
  | { readonly kind: "test"; readonly pointer: string; readonly accepts: Accepts; readonly equals?: Scalar };

export type Whole =
  | { readonly kind: "all" | "any" | "contains"; readonly conditions: readonly Condition[] }
  | { readonly kind: "not"; readonly condition: Condition }
  /** Neither the value nor any of its items passes the test. */
  | { readonly kind: "none"; readonly pointer: string; readonly tests: readonly Each[] }
  | { readonly kind: "value"; readonly pointer: string; readonly accepts: Accepts };

/** The parts of an event that a filter may test. */
export const EVENT_PARTS = ["type", "data", "tags"] as const;
export type EventPart = (typeof EVENT_PARTS)[number];

export interface FilterFault {
  readonly pointer: string;
  /** The end of a sentence that begins with the value at the pointer. */
  readonly detail: string;
}

/** The length is that of the compact JSON text. A condition is a plain value, or an operator with its operand. */
export const FILTER_LIMITS = { characters: 4096, depth: 12, conditions: 50 } as const;
const MAX_FAULTS = 10;

/** Returns the filter, or between one and ten faults of the document. */
export function parseFilter(document: unknown): Filter | readonly FilterFault[] {
  const text = JSON.stringify(document) ?? "";
  const { characters } = FILTER_LIMITS;
  if (text.length > characters) return [{ pointer: "", detail: `is longer than ${characters} characters of JSON` }];
  const reader = new Reader();
  const root = reader.read(document, "", 1, true);
  if (reader.faults.length > 0) return reader.faults.slice(0, MAX_FAULTS);
  return { text, root, parts: reader.parts, needs: [...needsOf(root, [])] };
}

function* needsOf({ each }: Condition, path: readonly string[]): Generator<Need> {
  for (const part of each) {
    if (part.kind === "field") yield* needsOf(part.condition, [...path, part.name]);
    else if (part.equals !== undefined) yield { path, value: part.equals };
  }
}

export function isFilter(read: Filter | readonly FilterFault[]): read is Filter {
  return "root" in read;
}

export type Scalar = string | number | boolean | null;

interface Operator {
  /** The operands that it takes, for people. */
  readonly takes: string;
  /** Returns null for any other operand. */
  readonly reads: (operand: unknown, pointer: string) => Part | null;
}

type Part = Each | Whole;

/** Matches a text such as `512.40`. Many publishers write money so, because a float would round it. */
const AMOUNT = /^-?(?:0|[1-9]\d{0,30})(?:\.\d{1,30})?$/;
/** A text as long as an event must not be searched to its end. */
const LONGEST_AMOUNT = 63;

export function isAmount(value: unknown): value is string {
  return typeof value === "string" && value.length <= LONGEST_AMOUNT && AMOUNT.test(value);
}

const isScalar = (value: unknown): value is Scalar =>
  value === null || /^(?:string|number|boolean)$/.test(typeof value);

const test = (pointer: string, accepts: Accepts): Each => ({ kind: "test", pointer, accepts });

function equals(operand: unknown, pointer: string): Each {
  if (!isScalar(operand)) return test(pointer, deeply(operand));
  return { kind: "test", pointer, accepts: (value) => value === operand, equals: operand };
}

/**
 * A list names values, one of which must occur. A string is searched for in strings, and among the items of an array.
 */
function within(operand: unknown, pointer: string): Part | null {
  if (typeof operand === "string") return { kind: "value", pointer, accepts: containing(operand) };
  if (!Array.isArray(operand) || operand.length === 0 || !operand.every(isScalar)) return null;
  const listed = new Set<unknown>(operand);
  return test(pointer, (value) => listed.has(value));
}

/** Numbers are compared with numbers, and strings with strings. Anything else is neither more nor less. */
function ordered(isMet: (value: number | string, operand: number | string) => boolean): Operator["reads"] {
  return (operand, pointer) => {
    if (typeof operand === "string")
      return test(pointer, (value) => typeof value === "string" && isMet(value, operand));
    if (typeof operand !== "number") return null;
    return test(pointer, (value) => {
      const number = isAmount(value) ? Number(value) : value;
      return typeof number === "number" && isMet(number, operand);
    });
  };
}

function text(isMet: (value: string, operand: string) => boolean): Operator["reads"] {
  return (operand, pointer) =>
    typeof operand === "string" ? test(pointer, (value) => typeof value === "string" && isMet(value, operand)) : null;
}

/** Holds wherever the part does not. */
function negated(part: Part | null): Whole | null {
  if (part?.kind === "test") return { kind: "none", pointer: part.pointer, tests: [part] };
  if (part?.kind !== "value") return null;
  return { ...part, accepts: (value, looks) => !part.accepts(value, looks) };
}

const ORDER = "a number or a text";
const LIST = "a list of plain values, or a text";
const OPERATORS: Readonly<Record<string, Operator>> = {
  $eq: { takes: "any value", reads: equals },
  $neq: { takes: "any value", reads: (operand, pointer) => negated(equals(operand, pointer)) },
  $gt: { takes: ORDER, reads: ordered((value, operand) => value > operand) },
  $gte: { takes: ORDER, reads: ordered((value, operand) => value >= operand) },
  $lt: { takes: ORDER, reads: ordered((value, operand) => value < operand) },
  $lte: { takes: ORDER, reads: ordered((value, operand) => value <= operand) },
  $in: { takes: LIST, reads: within },
  $nin: { takes: LIST, reads: (operand, pointer) => negated(within(operand, pointer)) },
  $startsWith: { takes: "a text", reads: text((value, operand) => value.startsWith(operand)) },
  $endsWith: { takes: "a text", reads: text((value, operand) => value.endsWith(operand)) },
  $exist: {
    takes: "true or false",
    reads: (operand, pointer) =>
      typeof operand === "boolean"
        ? { kind: "value", pointer, accepts: (value) => (value !== undefined) === operand }
        : null,
  },
};
const OPERATOR_NAMES: readonly string[] = [...Object.keys(OPERATORS), "$or", "$and", "$not"];

/** Names that other languages use for our operators. */
const ALSO_CALLED: Readonly<Record<string, string>> = {
  $contains: "$in",
  $includes: "$in",
  $regex: "$startsWith, $endsWith or $in",
  $prefix: "$startsWith",
  $suffix: "$endsWith",
  $nor: "$not",
};

class Reader {
  readonly faults: FilterFault[] = [];
  readonly parts = new Set<EventPart>();
  #conditions = 0;

  /** `isEvent` is true for conditions on the event itself rather than on one of its values. */
  read(written: unknown, pointer: string, depth: number, isEvent: boolean): Condition {
    const condition = { pointer, whole: [] as Whole[], each: [] as Each[] };
    if (depth > FILTER_LIMITS.depth) {
      this.#refuse(pointer, `is nested more than ${FILTER_LIMITS.depth} deep`);
    } else if (isScalar(written) && !isEvent) {
      this.#count(pointer, written);
      condition.each.push(equals(written, pointer));
    } else if (Array.isArray(written) && !isEvent) {
      condition.whole.push({ kind: "contains", conditions: this.#list(written, pointer, depth, false) });
    } else if (typeof written !== "object" || written === null || Array.isArray(written)) {
      this.#refuse(pointer, `must be an object, such as {"data": {"currency": "EUR"}}`);
    } else this.#members(written as FilterDocument, condition, depth, isEvent);
    return condition;
  }

  #members(
    written: FilterDocument,
    condition: { readonly pointer: string; readonly whole: Whole[]; readonly each: Each[] },
    depth: number,
    isEvent: boolean,
  ): void {
    const members = Object.entries(written);
    if (members.length === 0) this.#refuse(condition.pointer, "is empty, so it says nothing");
    for (const [name, value] of members) {
      const pointer = `${condition.pointer}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
      if (!name.startsWith("$")) {
        if (isEvent) this.#part(name, pointer);
        condition.each.push({ kind: "field", name, condition: this.read(value, pointer, depth + 1, false) });
      } else if (name === "$not") {
        condition.whole.push({ kind: "not", condition: this.read(value, pointer, depth + 1, isEvent) });
      } else if (name === "$or" || name === "$and") {
        const conditions = this.#list(value, pointer, depth + 1, isEvent);
        condition.whole.push({ kind: name === "$or" ? "any" : "all", conditions });
      } else {
        const part = this.#operator(name, value, pointer, isEvent);
        if (part === null) continue;
        if (part.kind === "test" || part.kind === "field") condition.each.push(part);
        else condition.whole.push(part);
      }
    }
  }

  #list(written: unknown, pointer: string, depth: number, isEvent: boolean): readonly Condition[] {
    if (Array.isArray(written) && written.length > 0)
      return written.map((one, at) => this.read(one, `${pointer}/${at}`, depth + 1, isEvent));
    this.#refuse(pointer, "must be a list of at least one condition");
    return [];
  }

  #operator(name: string, operand: unknown, pointer: string, isEvent: boolean): Part | null {
    const operator = Object.hasOwn(OPERATORS, name) ? OPERATORS[name]! : null;
    if (operator === null) {
      this.#refuse(pointer, `is not an operator; ${meantBy(name)}`);
      return null;
    }
    if (isEvent) {
      this.#refuse(pointer, `looks at a value: put it at a part of the event, as in {"data": {"amount": {"$gt": 5}}}`);
      return null;
    }
    this.#count(pointer, operand);
    const part = operator.reads(operand, pointer);
    if (part === null) this.#refuse(pointer, `takes ${operator.takes}`);
    return part;
  }

  #part(name: string, pointer: string): void {
    const part = EVENT_PARTS.find((one) => one === name);
    if (part !== undefined) {
      this.parts.add(part);
      return;
    }
    const near = nearest(name, EVENT_PARTS);
    const hint = near === null ? "its fields are below data" : `did you mean ${near}?`;
    this.#refuse(pointer, `is not a part of an event, which has ${EVENT_PARTS.join(", ")}; ${hint}`);
  }

  #count(pointer: string, operand: unknown): void {
    if (++this.#conditions === FILTER_LIMITS.conditions + 1)
      this.#refuse(pointer, `is one condition too many: a filter has at most ${FILTER_LIMITS.conditions}`);
    if (!isExact(operand))
      this.#refuse(pointer, "has a number beyond 2^53 - 1, which would be compared with another number than you wrote");
  }

  #refuse(pointer: string, detail: string): void {
    this.faults.push({ pointer, detail });
  }
}

function meantBy(name: string): string {
  const near = Object.hasOwn(ALSO_CALLED, name) ? ALSO_CALLED[name]! : nearest(name, OPERATOR_NAMES);
  return near === null ? `the operators are ${OPERATOR_NAMES.join(", ")}` : `did you mean ${near}?`;
}

/** True if each number in it is exactly the one that its owner wrote. */
function isExact(operand: unknown): boolean {
  if (typeof operand === "number") return Math.abs(operand) <= Number.MAX_SAFE_INTEGER;
  return typeof operand !== "object" || operand === null || Object.values(operand).every(isExact);
}
