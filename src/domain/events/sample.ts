/**
 * Makes an example of data from a JSON Schema, for event types that bring none. The same schema always gives the same
 * example. It tries to be typical and may fail to match: whoever calls it checks it.
 */
import type { JsonSchema } from "./event-type.ts";
import { textMatching } from "./pattern-text.ts";

/** Schemas may refer to themselves, and each level may double the values of the level above. */
const MAX_DEPTH = 12;
const MAX_VALUES = 400;
const MAX_ITEMS = 20;

type Part = Readonly<Record<string, unknown>>;

/** The example is an object where the schema allows one. */
export function sampleOf(schema: JsonSchema): unknown {
  return new Maker(schema).value(schema, { depth: 0, refs: [] }) ?? {};
}

/** The place of a value: how deep it is, and the references that led to it. */
interface Place {
  readonly depth: number;
  readonly refs: readonly string[];
}

const FORMATS: Readonly<Record<string, string>> = {
  "date-time": "2026-01-31T12:00:00Z",
  date: "2026-01-31",
  time: "12:00:00Z",
  duration: "P1D",
  email: "someone@example.com",
  "idn-email": "someone@example.com",
  hostname: "example.com",
  ipv4: "192.0.2.1",
  ipv6: "2001:db8::1",
  uri: "https://example.com/",
  url: "https://example.com/",
  "uri-reference": "https://example.com/",
  uuid: "00000000-0000-4000-8000-000000000000",
};

class Maker {
  readonly #root: JsonSchema;
  #left = MAX_VALUES;

  constructor(root: JsonSchema) {
    this.#root = root;
  }

  /** Returns undefined if there is no room for another value, or if the value would contain itself. */
  value(schema: unknown, place: Place): unknown {
    if (!isPart(schema)) return schema === false || this.#left-- <= 0 ? undefined : "text";
    const found = this.#whole(schema, place);
    if (found === null || this.#left-- <= 0 || place.depth > MAX_DEPTH) return undefined;
    const [whole, refs] = found;
    const given = givenIn(whole);
    if (given !== undefined) return given;
    const inside = { depth: place.depth + 1, refs };
    switch (kindOf(whole, place.depth === 0)) {
      case "object":
        return this.#object(whole, inside);
      case "array":
        return this.#array(whole, inside);
      case "string":
        return textOf(whole);
      case "integer":
      case "number":
        return numberOf(whole);
      case "boolean":
        return true;
      default:
        return null;
    }
  }

  /** Resolves the reference, and adds the parts of `allOf` and of the first alternative. Null if it leads in a circle. */
  #whole(schema: Part, { refs }: Place): readonly [Part, readonly string[]] | null {
    let [whole, seen] = [schema, refs];
    for (let steps = 0; steps < MAX_VALUES; steps++) {
      const { $ref: ref, allOf, oneOf, anyOf, ...rest } = whole;
      if (typeof ref === "string") {
        if (seen.includes(ref)) return null;
        seen = [...seen, ref];
        whole = merged({ ...rest, ...lists({ allOf, oneOf, anyOf }) }, this.#target(ref));
      } else if (Array.isArray(allOf)) {
        whole = allOf.filter(isPart).reduce(merged, { ...rest, ...lists({ oneOf, anyOf }) });
      } else if (Array.isArray(oneOf) || Array.isArray(anyOf)) {
        const [some, others] = Array.isArray(oneOf) ? [oneOf, { anyOf }] : [anyOf as unknown[], {}];
        const one = some.find((each) => isPart(each) && each.type !== "null");
        whole = merged({ ...rest, ...lists(others) }, isPart(one) ? one : {});
      } else return [rest, seen];
    }
    return null;
  }

  #target(ref: string): Part {
    if (!ref.startsWith("#")) return {};
    let at: unknown = this.#root;
    for (const step of ref.slice(1).split("/").slice(1)) {
      const key = decoded(step).replaceAll("~1", "/").replaceAll("~0", "~");
      at = typeof at === "object" && at !== null && Object.hasOwn(at, key) ? (at as Part)[key] : undefined;
    }
    return isPart(at) ? at : {};
  }

  #object({ properties, required, additionalProperties }: Part, place: Place): object {
    const known = isPart(properties) ? properties : {};
    const needed = Array.isArray(required) ? required.filter((name) => typeof name === "string") : [];
    const made: [string, unknown][] = [];
    // The required members come first, because there may be no room for all.
    const values = new Map<string, unknown>();
    for (const name of new Set([...needed, ...Object.keys(known)])) {
      const schema = Object.hasOwn(known, name) ? known[name] : (additionalProperties ?? true);
      const value = this.value(schema, place);
      if (value !== undefined) values.set(name, value);
      else if (needed.includes(name)) values.set(name, null);
    }
    for (const name of [...Object.keys(known), ...needed])
      if (values.has(name) && !made.some(([other]) => other === name)) made.push([name, values.get(name)]);
    return Object.fromEntries(made);
  }

  #array({ prefixItems, items, minItems, maxItems, contains }: Part, place: Place): unknown[] {
    const first = Array.isArray(prefixItems) ? prefixItems : [];
    const rest = contains ?? items;
    const least = countOf(minItems) ?? 0;
    const wanted = Math.max(least, first.length + (rest === undefined || rest === false ? 0 : 1));
    const count = Math.min(wanted, countOf(maxItems) ?? MAX_ITEMS, MAX_ITEMS);
    const made = Array.from({ length: count }, (_, at) => this.value(first[at] ?? rest ?? true, place));
    return made.filter((value) => value !== undefined);
  }
}

function isPart(value: unknown): value is Part {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function lists(parts: Part): Part {
  return Object.fromEntries(Object.entries(parts).filter(([, value]) => Array.isArray(value)));
}

/** Combines two schemas that both apply. */
function merged(one: Part, other: Part): Part {
  const both = { ...one, ...other };
  const [mine, its] = [one.properties, other.properties];
  if (isPart(mine) && isPart(its)) {
    const shared = Object.keys(mine).filter((name) => Object.hasOwn(its, name));
    const twice = shared.map((name) => [name, { allOf: [mine[name], its[name]] }]);
    both.properties = { ...mine, ...its, ...Object.fromEntries(twice) };
  }
  for (const key of ["required", "allOf"] as const) {
    if (Array.isArray(one[key]) && Array.isArray(other[key])) both[key] = [...one[key], ...other[key]];
  }
  return both;
}

function givenIn(schema: Part): unknown {
  if ("const" in schema) return schema.const;
  const { examples, enum: options } = schema;
  if (Array.isArray(examples) && examples.length > 0) return examples[0] as unknown;
  if ("default" in schema) return schema.default;
  return Array.isArray(options) && options.length > 0 ? (options[0] as unknown) : undefined;
}

/** Says which kind of value the schema is about, be it only by its keywords. */
function kindOf(schema: Part, isWhole: boolean): unknown {
  const { type } = schema;
  if (Array.isArray(type)) return type.find((one) => one !== "null") ?? "null";
  if (type !== undefined) return type;
  const has = (...keys: string[]) => keys.some((key) => key in schema);
  if (has("properties", "required", "additionalProperties")) return "object";
  if (has("items", "prefixItems", "minItems", "contains")) return "array";
  if (has("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")) return "number";
  return isWhole ? "object" : "string";
}

function textOf({ format, pattern, minLength, maxLength }: Part): string {
  if (typeof pattern === "string") {
    const text = textMatching(pattern);
    if (text !== null) return text;
  }
  const text = typeof format === "string" && Object.hasOwn(FORMATS, format) ? FORMATS[format]! : "text";
  return text.padEnd(Math.min(countOf(minLength) ?? 0, 1000), "x").slice(0, countOf(maxLength) ?? undefined);
}

function numberOf(schema: Part): number {
  const bound = (key: string) => (typeof schema[key] === "number" ? schema[key] : undefined);
  const isWhole = schema.type === "integer";
  const step = bound("multipleOf") ?? (isWhole ? 1 : undefined);
  const [over, under] = [bound("exclusiveMinimum"), bound("exclusiveMaximum")];
  const least = bound("minimum") ?? (over === undefined ? undefined : over + (step ?? 1));
  const most = bound("maximum") ?? (under === undefined ? undefined : under - (step ?? 1));
  const [low, high] = [least ?? Math.min(1, most ?? 1), most ?? Number.POSITIVE_INFINITY];
  if (step === undefined || step <= 0) return low > high && over !== undefined ? (over + (under ?? high)) / 2 : low;
  return Math.ceil(low / step) * step;
}

function countOf(value: unknown): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

function decoded(step: string): string {
  try {
    return decodeURIComponent(step);
  } catch {
    return step;
  }
}
