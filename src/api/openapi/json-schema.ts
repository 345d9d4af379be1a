/** Converts the schemas that validate to JSON Schema 2020-12, the dialect of OpenAPI 3.1. */
import { isDeepStrictEqual } from "node:util";
import { toJsonSchema } from "@valibot/to-json-schema";
import type { GenericSchema } from "valibot";

export type JsonObject = { [name: string]: unknown };

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
    return Object.fromEntries([...this.#components].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  #hoisted(schema: JsonObject): JsonObject {
    const inner = Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, this.#inside(name, value)]));
    const { title, ...rest } = nullableAsType(inner);
    for (const name of ["properties", "required"])
      if (Object.keys(rest[name] ?? { "": 0 }).length === 0) delete rest[name];
    if (typeof title !== "string") return rest;
    const known = this.#components.get(title);
    if (known !== undefined && !isDeepStrictEqual(known, rest)) throw new Error(`two shapes are called ${title}`);
    this.#components.set(title, rest);
    return { $ref: `#/components/schemas/${title}` };
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

/** Writes `{type: ["string", "null"]}`, which reads better than `anyOf` of two schemas. */
function nullableAsType(schema: JsonObject): JsonObject {
  const { anyOf, ...rest } = schema;
  const [some, none, ...more] = (anyOf ?? []) as JsonObject[];
  if (typeof some?.type !== "string" || none?.type !== "null" || more.length > 0) return schema;
  const values = Array.isArray(some.enum) ? { enum: [...some.enum, null] } : {};
  return { ...some, ...rest, ...values, type: [some.type, "null"] };
}
