/** Reads the parts of docs/openapi.json that types are made from. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { OPERATIONS, type OperationName } from "../../src/client/operations.ts";
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
  readonly responses: Readonly<Record<string, { readonly content?: Content; readonly headers?: object }>>;
}
interface Description {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

const text = readFileSync(join(root, "docs/openapi.json"), "utf8");
/** The types of the clients make no difference between `oneOf` and `anyOf`. */
const description = JSON.parse(text.replaceAll('"oneOf":', '"anyOf":')) as Description;

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

/** The operations whose 2xx responses have an `ETag`. */
export function tagged(): ReadonlySet<string> {
  const all = Object.values(description.paths).flatMap((path) => Object.values(path));
  const hasTag = ([status, { headers }]: [string, Operation["responses"][string]]) =>
    status.startsWith("2") && "ETag" in Object(headers);
  return new Set(
    all.filter(({ responses }) => Object.entries(responses).some(hasTag)).map(({ operationId }) => operationId),
  );
}

/** Returns the name of the schema that a `$ref` leads to. */
export function nameIn(ref: string): string {
  return ref.slice(ref.lastIndexOf("/") + 1);
}

/** Returns the values of an enum, or undefined if a configuration can add to them, as it can to event types. */
export function fixedValues({ enum: values }: Schema): Schema["enum"] {
  return BUILT_IN_TYPES.every(({ name }) => values?.includes(name)) ? undefined : values;
}

/** Returns the schema of a list's items, or null if the answer is no page. */
export function itemOf([schema, ...others]: readonly (Schema | null)[]): Schema | null {
  if (others.length > 0 || schema === null || schema === undefined) return null;
  const parts = partsOf(schema);
  return parts?.base === "ListPage" ? (parts.own.properties?.data?.items ?? null) : null;
}

/** Returns the name of the schema that this one extends, and what it adds, or null if it extends none. */
export function partsOf({ allOf }: Schema): { readonly base: string; readonly own: Schema } | null {
  const base = allOf?.find(({ $ref }) => $ref !== undefined);
  if (base === undefined) return null;
  return { base: nameIn(base.$ref!), own: allOf!.find(({ properties }) => properties !== undefined) ?? {} };
}

/** True if the schema of this name is another name for a type, without fields of its own. */
export function isAlias(name: string): boolean {
  const { properties, allOf } = SCHEMAS[name]!;
  return properties === undefined && allOf === undefined;
}

/** Returns what is said of a value, or of the type that it is another name for, also if it may be null. */
export function descriptionOf({ description, $ref, anyOf = [] }: Schema): string | undefined {
  if (description !== undefined) return description;
  if ($ref !== undefined) return isAlias(nameIn($ref)) ? SCHEMAS[nameIn($ref)]!.description : undefined;
  const [only, ...others] = anyOf.filter(({ type }) => type !== "null");
  return only === undefined || others.length > 0 ? undefined : descriptionOf(only);
}

/** Returns the JSON types of a value other than null, and whether it may be null. Without a `type`, it is `any`. */
export function typesOf({ type = "any" }: Schema): { readonly some: readonly string[]; readonly orNull: boolean } {
  const all = [type].flat();
  const some = all.filter((name) => name !== "null");
  return { some, orNull: some.length < all.length };
}

export function routeOf(name: OperationName): { readonly method: string; readonly path: string } {
  const [method, path] = OPERATIONS[name].split(" ") as [string, string];
  return { method, path };
}

/** The names of all operations. */
export const OPERATION_NAMES = Object.keys(OPERATIONS) as readonly OperationName[];
