/** Reads the parts of docs/openapi.json that types are made from. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { BUILT_IN_TYPES } from "../../src/domain/events/event-type.ts";
import { root } from "../root.ts";

/** A JSON schema, with the keywords that define the type of a value. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly (string | number | boolean | null)[];
  readonly anyOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly const?: string | number | boolean | null;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
  readonly description?: string;
}

interface Content {
  readonly [type: string]: { readonly schema?: Schema };
}
interface Operation {
  readonly operationId: string;
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>;
}
interface Description {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

const description = JSON.parse(readFileSync(join(root, "docs/openapi.json"), "utf8")) as Description;

export const SCHEMAS = description.components.schemas;

/**
 * Returns, by name, the schemas of each operation's 2xx responses, with null for no body. Leaves out operations that
 * respond with text.
 */
export function answers(): ReadonlyMap<string, readonly (Schema | null)[]> {
  const found = new Map<string, (Schema | null)[]>();
  for (const { operationId, responses } of Object.values(description.paths).flatMap((path) => Object.values(path))) {
    const good = Object.entries(responses).filter(([status]) => status.startsWith("2"));
    const schemas = good.map(([, { content }]) => (content === undefined ? null : content["application/json"]?.schema));
    const isOurs = (schema: Schema | null | undefined) =>
      schema === null || ["$ref", "anyOf", "allOf", "properties"].some((keyword) => keyword in Object(schema));
    if (schemas.every(isOurs)) found.set(operationId, schemas as (Schema | null)[]);
  }
  return found;
}

/** Returns the name of the schema that a `$ref` leads to. */
export function nameIn(ref: string): string {
  return ref.slice(ref.lastIndexOf("/") + 1);
}

/** Returns the values of an enum, or undefined if a configuration can add to them, as it can to event types. */
export function fixedValues({ enum: values }: Schema): Schema["enum"] {
  return BUILT_IN_TYPES.every(({ name }) => values?.includes(name)) ? undefined : values;
}

/** Returns the names of all schemas that these refer to, each before those that refer to it. */
export function madeOf(names: readonly string[], known = new Set<string>()): string[] {
  for (const name of names) {
    if (known.has(name)) continue;
    const refs = [...JSON.stringify(SCHEMAS[name]).matchAll(/"\$ref":"([^"]+)"/g)].map(([, ref]) => nameIn(ref!));
    madeOf(refs, known);
    known.add(name);
  }
  return [...known];
}
