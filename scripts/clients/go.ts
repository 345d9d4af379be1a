/** Writes `types.go` and `operations.go` of the Go client from the description. */
import {
  answers,
  descriptionOf,
  isAlias,
  itemOf,
  nameIn,
  OPERATION_NAMES,
  partsOf,
  routeOf,
  SCHEMAS,
  typesOf,
  type Schema,
} from "./description.ts";

const MADE =
  "// Code generated from the daemon's OpenAPI description by scripts/clients/go.ts. DO NOT EDIT.\n\npackage webhookd\n";

const PLAIN: Readonly<Record<string, string>> = {
  string: "string",
  integer: "int64",
  number: "float64",
  boolean: "bool",
};
const RAW = "json.RawMessage";

/** Writes all schemas of the description as types. */
export function types(): string {
  const all = Object.entries(SCHEMAS).map(([name, schema]) => `${commentOf(schema, "")}${definitionOf(name, schema)}`);
  return `${MADE}\nimport "encoding/json"\n\n${all.join("\n")}`;
}

/** Writes each operation with the type of its answer. */
export function operations(): string {
  const typed = answers();
  const inline: string[] = [];
  const all = OPERATION_NAMES.map((name) => {
    const schemas = typed.get(name);
    const type = schemas === undefined ? "string" : answerOf(name, schemas, inline);
    if (exported(name) in SCHEMAS) throw new Error(`${exported(name)} is a type and an operation`);
    return { name, type, ...routeOf(name) };
  });
  const known = all.map(
    ({ name, method, path }) => `\t${JSON.stringify(name)}: {${JSON.stringify(method)}, ${JSON.stringify(path)}},\n`,
  );
  const named = all.map(({ name, type }) => `\t${exported(name)} = Operation[${type}]{${JSON.stringify(name)}}\n`);
  return `${MADE}
import "encoding/json"

// Nothing is the answer of operations that answer without a body.
type Nothing struct{}

// Text operations answer with text instead of JSON.
var (
${named.join("")})

var routes = map[string]route{
${known.join("")}}

${inline.join("\n")}`;
}

function answerOf(name: string, schemas: readonly (Schema | null)[], inline: string[]): string {
  const item = itemOf(schemas);
  if (item !== null) return `Page[${typeOf(item, false)}]`;
  const [only, ...others] = schemas;
  if (only === null && others.length === 0) return "Nothing";
  // The caller decides which of several types to read.
  if (others.length > 0) return RAW;
  if (only?.properties === undefined) return typeOf(only ?? {}, false);
  const type = `${exported(name)}Answer`;
  inline.push(`// ${type} is the answer of ${exported(name)}.\ntype ${type} ${structOf(only, false)}\n`);
  return type;
}

function definitionOf(name: string, schema: Schema): string {
  const parts = partsOf(schema);
  if (parts !== null) return `type ${name} ${structOf(parts.own, false, parts.base)}\n`;
  const isAsked = schema.additionalProperties === false;
  return schema.properties === undefined
    ? `type ${name} = ${typeOf(schema, false)}\n`
    : `type ${name} ${structOf(schema, isAsked)}\n`;
}

function structOf({ properties = {}, required = [] }: Schema, isAsked: boolean, base?: string): string {
  const fields = Object.entries(properties).map(([name, schema]) => {
    const isOptional = !required.includes(name);
    const type = typeOf(schema, isAsked);
    // A field that is left out must differ from one that is empty.
    const pointed = isOptional ? pointer(type) : type;
    // An embedded struct is a field too, of its own name.
    const field = exported(name) === base ? `${exported(name)}Value` : exported(name);
    return `${commentOf(schema, "\t")}\t${field} ${pointed} \`json:"${name}${isOptional ? ",omitempty" : ""}"\`\n`;
  });
  return `struct {\n${base === undefined ? "" : `\t${base}\n`}${fields.join("")}}`;
}

function typeOf(schema: Schema, isAsked: boolean): string {
  if (schema.$ref !== undefined)
    return isAlias(nameIn(schema.$ref)) ? typeOf(SCHEMAS[nameIn(schema.$ref)]!, isAsked) : nameIn(schema.$ref);
  if (schema.anyOf !== undefined) {
    const some = schema.anyOf.filter(({ type }) => type !== "null");
    return some.length === 1 ? pointer(typeOf(some[0]!, isAsked)) : RAW;
  }
  const { some, orNull } = typesOf(schema);
  if (some.length !== 1) return isAsked ? "any" : RAW;
  const type = plainType(some[0]!, schema, isAsked);
  return orNull ? pointer(type) : type;
}

function pointer(type: string): string {
  return /^(?:\*|\[\]|map|any|json)/.test(type) ? type : `*${type}`;
}

function plainType(type: string, schema: Schema, isAsked: boolean): string {
  const { items = {}, additionalProperties, properties } = schema;
  if (type === "array") return `[]${typeOf(items, isAsked)}`;
  if (type !== "object") return PLAIN[type] ?? (isAsked ? "any" : RAW);
  if (properties !== undefined) return structOf(schema, isAsked);
  if (typeof additionalProperties === "object") return `map[string]${typeOf(additionalProperties, isAsked)}`;
  return isAsked ? "any" : RAW;
}

const INITIALISMS = new Set(["id", "url", "uid", "dns", "tls", "ip", "json", "http"]);

function exported(name: string): string {
  const words = name
    .split("_")
    .map((word) => (INITIALISMS.has(word) ? word.toUpperCase() : word[0]!.toUpperCase() + word.slice(1)));
  return words.join("");
}

function commentOf(schema: Schema, indent: string): string {
  const description = descriptionOf(schema);
  return description === undefined ? "" : `${indent}// ${description}\n`;
}
