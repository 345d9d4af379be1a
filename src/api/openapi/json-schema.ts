/** Converts the schemas that validate to JSON Schema 2020-12, the dialect of OpenAPI 3.1. */
import { BASE, IS_PAGE, NAME } from "../pipeline/shapes.ts";
import { isDeepStrictEqual } from "node:util";
import { toJsonSchema } from "@valibot/to-json-schema";
import type { GenericSchema } from "valibot";

export type JsonObject = { [name: string]: unknown };

/** Keywords that belong to the use of a component. */
const BESIDE: readonly string[] = ["default", "readOnly"];

/** Marks the schema of a page, and names the fields that only this list has. */
const PAGE = "ListPage";

/** Collects schemas with a title as components, so that each appears in the document only once. */
export class Schemas {
  readonly #components = new Map<string, JsonObject>();
  /** The components that others say that they extend, by the names of these. */
  readonly #bases = new Map<string, string>();

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
    return Object.fromEntries(
      sorted.map(([name, schema]) => [name, extended(name, schema, sorted, this.#bases.get(name))]),
    );
  }

  /** Returns a reference to the component that equals the schema, or the schema itself if there is none. */
  known(schema: JsonObject): JsonObject {
    const { default: fallback, ...shape } = schema;
    const [name] = [...this.#components].find(([, component]) => isDeepStrictEqual(component, shape)) ?? [];
    if (name === undefined) return schema;
    return { $ref: referenceTo(name), ...("default" in schema && { default: fallback }) };
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
    const { [BASE]: base, [NAME]: name, ...whole } = rest;
    if (base !== undefined) this.#bases.set(String(title), nameIn(this.of(base as GenericSchema)));
    if (typeof name === "string") return this.#component(name, whole, [...BESIDE, "description"]);
    return typeof title === "string" ? this.#component(title, whole, BESIDE) : whole;
  }

  /** Returns a reference to the component, with the keywords of `beside` next to it. */
  #component(name: string, schema: JsonObject, beside: readonly string[]): JsonObject {
    const some = (isBeside: boolean) =>
      Object.fromEntries(Object.entries(schema).filter(([keyword]) => beside.includes(keyword) === isBeside));
    const shape = some(false);
    const known = this.#components.get(name);
    if (known !== undefined && !isDeepStrictEqual(known, shape)) throw new Error(`two shapes are called ${name}`);
    this.#components.set(name, shape);
    return { $ref: referenceTo(name), ...some(true) };
  }

  /** The fields that all pages have are described once. */
  #page({ properties }: JsonObject, names: readonly string[]): JsonObject {
    const fields = Object.entries(properties as JsonObject);
    const some = (isOwn: boolean) => Object.fromEntries(fields.filter(([name]) => names.includes(name) === isOwn));
    this.#components.set(PAGE, { type: "object", properties: some(false), required: ["next_cursor"] });
    const own = { type: "object", properties: some(true), required: ["data"] };
    return { allOf: [{ $ref: referenceTo(PAGE) }, own] };
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

function referenceTo(name: string): string {
  return `#/components/schemas/${name}`;
}

function nameIn({ $ref }: JsonObject): string {
  return String($ref).slice(referenceTo("").length);
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

/** Describes an object that has everything of another one, and more, by that other one: by `known` if it is given. */
function extended(
  name: string,
  schema: JsonObject,
  all: readonly (readonly [string, JsonObject])[],
  known: string | undefined,
): JsonObject {
  const bases = all.filter(([other, base]) =>
    known === undefined ? other !== name && isExtensionOf(schema, base) : other === known,
  );
  const [base] = bases.toSorted(([, one], [, other]) => sizeOf(other) - sizeOf(one));
  if (base === undefined) return schema;
  const { properties, required, ...rest } = schema as { properties: JsonObject; required: readonly string[] };
  const [title, { properties: inherited, required: needs }] = base as [string, typeof schema];
  const own = Object.entries(properties).filter(([each]) => !(each in (inherited as JsonObject)));
  const needed = required.filter((each) => !(needs as readonly string[]).includes(each));
  const part = { type: "object", properties: Object.fromEntries(own), ...(needed.length > 0 && { required: needed }) };
  const { type: _, ...others } = rest as JsonObject;
  return { ...others, allOf: [{ $ref: referenceTo(title) }, part] };
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
