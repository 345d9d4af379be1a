/** Writes `_types.py` of the Python client: the requests and responses of publishing, as TypedDicts. */
import { fixedValues, madeOf, nameIn, SCHEMAS, type Schema } from "./description.ts";

const PUBLISHING = ["EventDraft", "BatchItem", "Publication", "BatchedPublication", "FieldProblem", "Problem"];
const PLAIN: Readonly<Record<string, string>> = {
  string: "str",
  integer: "int",
  number: "float",
  boolean: "bool",
  null: "None",
};

export function publishingTypes(): string {
  const classes = madeOf(PUBLISHING).map((name) => classOf(name, SCHEMAS[name]!));
  return `"""Made from the daemon's OpenAPI description. Do not edit: see test/client/python-types.test.ts."""

from __future__ import annotations

from typing import Any, Dict, List, Literal, TypedDict, Union


${classes.join("\n\n")}`;
}

/** Writes two classes if fields may be missing, because Python 3.9 has no `NotRequired`. */
function classOf(name: string, { properties = {}, required = [] }: Schema): string {
  const fields = Object.entries(properties);
  const must = fields.filter(([field]) => required.includes(field));
  const may = fields.filter(([field]) => !required.includes(field));
  if (may.length === 0) return `class ${name}(TypedDict):\n${fieldsOf(must)}`;
  return `class _${name}(TypedDict):\n${fieldsOf(must)}\n\nclass ${name}(_${name}, total=False):\n${fieldsOf(may)}`;
}

function fieldsOf(fields: readonly (readonly [string, Schema])[]): string {
  return fields.map(([name, schema]) => `${commentOf(schema)}    ${name}: ${typeOf(schema)}\n`).join("");
}

function commentOf({ description }: Schema): string {
  return description === undefined ? "" : `    # ${description}\n`;
}

function typeOf(schema: Schema): string {
  if (schema.$ref !== undefined) return nameIn(schema.$ref);
  if (schema.anyOf !== undefined) return `Union[${schema.anyOf.map(typeOf).join(", ")}]`;
  const values = fixedValues(schema);
  if (values !== undefined) return `Literal[${values.map((value) => JSON.stringify(value)).join(", ")}]`;
  if (schema.type === "array") return `List[${typeOf(schema.items ?? {})}]`;
  if (schema.type === "object") return "Dict[str, Any]";
  return typeof schema.type === "string" ? PLAIN[schema.type]! : "Any";
}
