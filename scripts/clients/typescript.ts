/**
 * Writes the types of `webhookd/client`. They replace src/client/operations.ts, which needs the sources of the daemon.
 */
import { answers, fixedValues, nameIn, OPERATION_NAMES, SCHEMAS, type Schema } from "./description.ts";

/** The names that src/client/operations.ts has for schemas of the description. */
const NAMES: Readonly<Record<string, string>> = { Delivery: "EventDelivery", WholeDelivery: "Delivery" };

export function operationTypes(): string {
  const named = Object.entries(SCHEMAS).map(([name, schema]) => `export type ${typeName(name)} = ${typeOf(schema)};\n`);
  const operations = OPERATION_NAMES.map((name) => `\n  | ${JSON.stringify(name)}`);
  const answered = [...answers()].map(([name, schemas]) => {
    return `  ${name}: ${schemas.map((schema) => (schema === null ? "null" : typeOf(schema, 1))).join(" | ")};\n`;
  });
  return `/** Made from the daemon's OpenAPI description. */
export type OperationName =${operations.join("")};
export interface Page<T> {
  readonly data: readonly T[];
  /** Null at the end; a page may be short, even empty, while it is set. */
  readonly next_cursor: string | null;
}
/** Operations that are not here answer with text. */
export interface Answers {
${answered.join("")}}
${named.join("")}`;
}

function typeName(name: string): string {
  return NAMES[name] ?? name;
}

function typeOf(schema: Schema, depth = 0): string {
  if (schema.$ref !== undefined) return typeName(nameIn(schema.$ref));
  if (schema.anyOf !== undefined) return schema.anyOf.map((one) => typeOf(one, depth)).join(" | ");
  if (schema.allOf !== undefined) return schema.allOf.map((one) => typeOf(one, depth)).join(" & ");
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  const values = fixedValues(schema);
  if (values !== undefined) return values.map((value) => JSON.stringify(value)).join(" | ");
  const types = typeof schema.type === "string" ? [schema.type] : (schema.type ?? ["unknown"]);
  return types.map((type) => plainType(type, schema, depth)).join(" | ");
}

function plainType(type: string, schema: Schema, depth: number): string {
  switch (type) {
    case "integer":
      return "number";
    case "array":
      return `readonly (${typeOf(schema.items ?? {}, depth)})[]`;
    case "object":
      return objectType(schema, depth);
    default:
      return type;
  }
}

function objectType({ properties, required = [], additionalProperties }: Schema, depth: number): string {
  if (properties === undefined) {
    const value = typeof additionalProperties === "object" ? typeOf(additionalProperties, depth) : "unknown";
    return `{ readonly [name: string]: ${value} }`;
  }
  const indent = "  ".repeat(depth + 1);
  const fields = Object.entries(properties).map(([name, schema]) => {
    const comment = schema.description === undefined ? "" : `${indent}/** ${schema.description} */\n`;
    const mark = required.includes(name) ? "" : "?";
    return `${comment}${indent}readonly ${JSON.stringify(name)}${mark}: ${typeOf(schema, depth + 1)};\n`;
  });
  return `{\n${fields.join("")}${"  ".repeat(depth)}}`;
}
