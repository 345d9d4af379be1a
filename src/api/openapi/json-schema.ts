/** Converts the schemas that validate to JSON Schema 2020-12, the dialect of OpenAPI 3.1. */
import { IS_PAGE } from "../pipeline/shapes.ts";
import { isDeepStrictEqual } from "node:util";
import { toJsonSchema } from "@valibot/to-json-schema";
import type { GenericSchema } from "valibot";

export type JsonObject = { [name: string]: unknown };

/** Marks the schema of a page, and names the fields that only this list has. */
const PAGE = "ListPage";

/** Collects schemas with a title as components, so that each appears in the document only once. */
export class Schemas {
  readonly #components = new Map<string, JsonObject>();

  /** Returns the JSON Schema, or a reference to a component. Throws if two schemas have the same title. */
  of(schema: GenericSchema): JsonObject {
    // Checks written in code cannot be converted. `v.metadata` describes as much of them as JSON Schema can express.
    const { $schema: _dialect, ...converted } = toJsonSchema(schema, {
      target: "draft-2020-12",
      typeMode: "input",
      errorMode: "ignore",
    });
    return this.#hoisted(converted as JsonObject);
  }

  components(): JsonObject {
    const sorted = [...this.#components].sort(([a], [b]) => (a < b ? -1 : 1));
    return Object.fromEntries(sorted.map(([name, schema]) => [name, extended(name, schema, sorted)]));
  }

  #hoisted(schema: JsonObject): JsonObject {
    const inner = Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, this.#inside(name, value)]));
    const { title, ...rest } = nullableAsType(constantAsValue(inner));
    if (Array.isArray(rest[IS_PAGE])) return this.#page(rest, rest[IS_PAGE] as string[]);
    for (const name of ["properties", "required"])
      if (Object.keys(rest[name] ?? { "": 0 }).length === 0) delete rest[name];
    // Some generators take an object without properties for one that must be empty.
    const isFree =
      [rest.type].flat().includes("object") && !("properties" in rest) && !("additionalProperties" in rest);
    if (isFree) rest.additionalProperties = true;
    if (typeof title !== "string") return rest;
    // The default of a value that may be left out is put beside the reference.
    const { default: fallback, ...shape } = rest;
    const known = this.#components.get(title);
    if (known !== undefined && !isDeepStrictEqual(known, shape)) throw new Error(`two shapes are called ${title}`);
    this.#components.set(title, shape);
    return { $ref: `#/components/schemas/${title}`, ...("default" in rest && { default: fallback }) };
  }

  /** The fields that all pages have are described once. */
  #page({ properties }: JsonObject, names: readonly string[]): JsonObject {
    const fields = Object.entries(properties as JsonObject);
    const some = (isOwn: boolean) => Object.fromEntries(fields.filter(([name]) => names.includes(name) === isOwn));
    this.#components.set(PAGE, { type: "object", properties: some(false), required: ["next_cursor"] });
    const own = { type: "object", properties: some(true), required: ["data"] };
    return { allOf: [{ $ref: `#/components/schemas/${PAGE}` }, own] };
  }

  /**
   * Converts only where JSON Schema expects a schema, because the value of an `enum` or a `default` may look like one.
   */
  #inside(name: string, value: unknown): unknown {
    if (name === "properties") {
      const entries = Object.entries(value as JsonObject);
      return Object.fromEntries(entries.map(([key, each]) => [key, this.#hoisted(each as JsonObject)]));
    }
    if (name === "anyOf" || name === "oneOf" || name === "allOf") {
      return (value as JsonObject[]).map((each) => this.#hoisted(each));
    }
    const isSchema = (name === "items" || name === "additionalProperties") && typeof value === "object";
    return isSchema ? this.#hoisted(value as JsonObject) : value;
  }
}

/** A generator for Python writes a syntax error for `const: true`. */
function constantAsValue(schema: JsonObject): JsonObject {
  const { const: value, ...rest } = schema;
  return typeof value === "boolean" ? { ...rest, type: "boolean", enum: [value] } : schema;
}

/** Writes `{type: ["string", "null"]}`, which reads better than `anyOf` of two schemas. */
function nullableAsType(schema: JsonObject): JsonObject {
  const { anyOf, ...rest } = schema;
  const [some, none, ...more] = (anyOf ?? []) as JsonObject[];
  if (typeof some?.type !== "string" || none?.type !== "null" || more.length > 0) return schema;
  const values = Array.isArray(some.enum) ? { enum: [...some.enum, null] } : {};
  return { ...some, ...rest, ...values, type: [some.type, "null"] };
}

/** A schema with fewer properties than this is not worth sharing. */
const LEAST_SHARED = 6;

/** Describes an object that has everything of another one, and more, by that other one. */
function extended(name: string, schema: JsonObject, all: readonly (readonly [string, JsonObject])[]): JsonObject {
  const bases = all.filter(([other, base]) => other !== name && isExtensionOf(schema, base));
  const [base] = bases.toSorted(([, one], [, other]) => sizeOf(other) - sizeOf(one));
  if (base === undefined) return schema;
  const { properties, required, ...rest } = schema as { properties: JsonObject; required: readonly string[] };
  const [title, { properties: known, required: knownRequired }] = base as [string, typeof schema];
  const own = Object.entries(properties).filter(([each]) => !(each in (known as JsonObject)));
  const needed = required.filter((each) => !(knownRequired as readonly string[]).includes(each));
  const part = { type: "object", properties: Object.fromEntries(own), ...(needed.length > 0 && { required: needed }) };
  const { type: _, ...others } = rest as JsonObject;
  return { ...others, allOf: [{ $ref: `#/components/schemas/${title}` }, part] };
}

/** Objects that refuse other fields cannot be parts of others. */
function isExtensionOf(schema: JsonObject, base: JsonObject): boolean {
  if (sizeOf(base) < LEAST_SHARED || sizeOf(base) >= sizeOf(schema)) return false;
  if ("additionalProperties" in schema || "additionalProperties" in base) return false;
  const [properties, known] = [schema.properties, base.properties] as [JsonObject, JsonObject];
  const [required, needed] = [schema.required ?? [], base.required ?? []] as [string[], string[]];
  return (
    Object.entries(known).every(([name, each]) => isDeepStrictEqual(properties[name], each)) &&
    needed.every((name) => required.includes(name)) &&
    required.every((name) => !(name in known) || needed.includes(name))
  );
}

function sizeOf({ properties }: JsonObject): number {
  return Object.keys((properties ?? {}) as JsonObject).length;
}
