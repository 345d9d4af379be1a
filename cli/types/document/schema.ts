/**
 * Takes a JSON Schema out of a document, with everything that it refers to, so that it stands alone. Keywords of
 * OpenAPI and of older drafts become those of 2020-12, or are left out if they only annotate.
 */
import type { JsonSchema } from "../../../src/domain/events/event-type.ts";
import { isPart, NotImportable, type Part, Root } from "./references.ts";

const DIALECT = "https://json-schema.org/draft/2020-12/schema";
const DIALECTS =
  /^https?:\/\/(?:json-schema\.org\/(?:draft\/20(?:19-09|20-12)|draft-0[67])\/schema#?|spec\.openapis\.org\/oas\/3\.1\/dialect\/base)$/;

/** A daemon takes no longer types. An alias in YAML may stand for a long text, or for a million values. */
const MAX_CHARS = 64 * 1024;
const MAX_VALUES = 40_000;
/** A daemon takes bodies that are 64 deep. */
const MAX_DEPTH = 56;

const MAPS = new Set(["properties", "patternProperties", "dependentSchemas"]);
const LISTS = new Set(["allOf", "anyOf", "oneOf", "prefixItems"]);
const SCHEMAS = new Set([
  "additionalProperties",
  "contains",
  "contentSchema",
  "else",
  "if",
  "items",
  "not",
  "propertyNames",
  "then",
  "unevaluatedItems",
  "unevaluatedProperties",
]);
/** Only references lead to the schemas in these, and each of them is followed. */
const DEFINITIONS = new Set(["$defs", "definitions"]);
const ANNOTATIONS = new Set(["$anchor", "$id", "$schema", "$comment", "discriminator", "externalDocs", "xml"]);
const UNKNOWN = ["$dynamicRef", "$recursiveRef"];

/** Throws NotImportable. */
export function standaloneSchema(schema: unknown, root: Root): JsonSchema {
  const copier = new Copier();
  const whole = copier.whole(schema, root);
  return { $schema: DIALECT, ...whole, ...copier.definitions() };
}

/** Copies an example, which may be longer than the document, as a schema is copied. Throws NotImportable. */
export function boundedExample(example: Part): Part {
  return new Copier().example(example);
}

interface Place {
  /** The document, or the part of it, from which references count. */
  readonly base: Root;
  readonly depth: number;
}

class Copier {
  /** The names of the schemas that references led to, and their copies. */
  readonly #names = new Map<unknown, string>();
  readonly #definitions: Record<string, unknown> = {};
  #left = MAX_VALUES;
  #chars = MAX_CHARS;

  /** A schema that is no more than a reference becomes what it leads to. */
  whole(schema: unknown, root: Root): Part {
    let [value, base] = [schema, root];
    const seen = new Set<unknown>();
    while (isPart(value) && typeof value.$ref === "string" && Object.keys(value).length === 1) {
      if (seen.has(value)) throw new NotImportable("has a schema whose references are circular");
      seen.add(value);
      ({ value } = base.at(value.$ref));
    }
    base = baseOf(value, base);
    const copy = this.#schema(value, { base, depth: 0 });
    return isPart(copy) ? copy : copy === false ? { not: {} } : {};
  }

  example(example: Part): Part {
    return this.#literal(example, { base: new Root(example), depth: 0 }) as Part;
  }

  definitions(): { readonly $defs?: Part } {
    return Object.keys(this.#definitions).length === 0 ? {} : { $defs: this.#definitions };
  }

  #schema(value: unknown, place: Place): unknown {
    this.#count(place);
    if (typeof value === "boolean") return value;
    if (!isPart(value)) throw new NotImportable("has a schema that is neither an object nor true or false");
    checkKeywords(value);
    const base = baseOf(value, place.base);
    const inside = { base, depth: place.depth + 1 };
    const copy: Record<string, unknown> = {};
    for (const [keyword, given] of Object.entries(modern(value))) {
      if (ANNOTATIONS.has(keyword) || DEFINITIONS.has(keyword) || keyword.startsWith("x-")) continue;
      this.#countText(keyword);
      put(copy, keyword, this.#keyword(keyword, given, inside));
    }
    return copy;
  }

  #keyword(keyword: string, given: unknown, place: Place): unknown {
    if (keyword === "$ref" && typeof given === "string") return this.#reference(given, place);
    if (SCHEMAS.has(keyword)) return this.#schema(given, place);
    if (LISTS.has(keyword) && Array.isArray(given)) return given.map((one) => this.#schema(one, place));
    if (MAPS.has(keyword) && isPart(given)) {
      const copy: Record<string, unknown> = {};
      for (const [name, one] of Object.entries(given)) {
        this.#countText(name);
        put(copy, name, this.#schema(one, place));
      }
      return copy;
    }
    return this.#literal(given, place);
  }

  #reference(ref: string, { base }: Place): string {
    const { value, key } = base.at(ref);
    let name = this.#names.get(value);
    if (name === undefined) {
      name = this.#freeName(key);
      this.#names.set(value, name);
      // It has the name already, because it may refer to itself.
      put(this.#definitions, name, null);
      put(this.#definitions, name, this.#schema(value, { base, depth: 2 }));
    }
    return `#/$defs/${name}`;
  }

  /** A name that needs no escaping in a pointer. */
  #freeName(key: string): string {
    const name = key.replaceAll(/[^A-Za-z0-9_.-]/g, "_") || "schema";
    const taken = new Set(this.#names.values());
    for (let more = 2; ; more++) {
      const free = more === 2 ? name : `${name}_${more - 1}`;
      if (!taken.has(free)) return free;
    }
  }

  /** Copies a value that is not a schema, such as a default. */
  #literal(value: unknown, place: Place): unknown {
    this.#count(place);
    const inside = { ...place, depth: place.depth + 1 };
    if (Array.isArray(value)) return value.map((item) => this.#literal(item, inside));
    if (typeof value === "string") this.#countText(value);
    if (!isPart(value)) return value;
    const copy: Record<string, unknown> = {};
    for (const [name, one] of Object.entries(value)) {
      this.#countText(name);
      put(copy, name, this.#literal(one, inside));
    }
    return copy;
  }

  #count({ depth }: Place): void {
    if (depth > MAX_DEPTH) throw new NotImportable(`has a schema or an example that is more than ${MAX_DEPTH} deep`);
    if (--this.#left < 0) throw new NotImportable(`has a schema or an example of more than ${MAX_VALUES} values`);
  }

  #countText({ length }: string): void {
    this.#chars -= length;
    if (this.#chars < 0) throw new NotImportable(`has a schema or an example of more than ${MAX_CHARS} characters`);
  }
}

/** A plain assignment of `__proto__` would not make a member. */
function put(object: Record<string, unknown>, name: string, value: unknown): void {
  Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
}

/** The references within a schema that has an `$id` count from that schema. */
function baseOf(value: unknown, base: Root): Root {
  return isPart(value) && typeof value.$id === "string" ? new Root(value) : base;
}

function checkKeywords(schema: Part): void {
  const unknown = UNKNOWN.find((keyword) => keyword in schema);
  if (unknown !== undefined) throw new NotImportable(`has a schema with ${unknown}, which an import does not follow`);
  const { $schema: dialect } = schema;
  if (typeof dialect === "string" && !DIALECTS.test(dialect))
    throw new NotImportable(`has a schema in the dialect ${dialect}, which is not known here`);
}

/** Translates the keywords of older drafts and of OpenAPI 3.0. */
function modern(schema: Part): Part {
  const { nullable, example, additionalItems, dependencies, ...rest } = schema;
  const made: Record<string, unknown> = { ...rest };
  if (example !== undefined && rest.examples === undefined) made.examples = [example];
  // As a keyword of AsyncAPI's messages, examples may be an object.
  if (!Array.isArray(made.examples)) delete made.examples;
  if (nullable === true) Object.assign(made, withNull(rest));
  if (Array.isArray(rest.items)) {
    made.prefixItems = rest.items;
    if (additionalItems === undefined) delete made.items;
    else made.items = additionalItems;
  }
  for (const [keyword, bound] of [
    ["exclusiveMinimum", "minimum"],
    ["exclusiveMaximum", "maximum"],
  ] as const) {
    if (typeof rest[keyword] !== "boolean") continue;
    delete made[keyword];
    if (!rest[keyword] || rest[bound] === undefined) continue;
    made[keyword] = rest[bound];
    delete made[bound];
  }
  if (isPart(dependencies)) {
    const entries = Object.entries(dependencies);
    made.dependentRequired = Object.fromEntries(entries.filter(([, one]) => Array.isArray(one)));
    made.dependentSchemas = Object.fromEntries(entries.filter(([, one]) => !Array.isArray(one)));
  }
  return made;
}

function withNull({ type, enum: options }: Part): Part {
  return {
    ...(typeof type === "string" && { type: [type, "null"] }),
    ...(Array.isArray(options) && !options.includes(null) && { enum: [...options, null] }),
  };
}
