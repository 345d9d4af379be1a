/** Writes `_types.py` and `_operations.py` of the Python client from the description. */
import {
  answers,
  descriptionOf,
  fixedValues,
  itemOf,
  nameIn,
  OPERATION_NAMES,
  partsOf,
  routeOf,
  SCHEMAS,
  tagged,
  typesOf,
  type Schema,
} from "./description.ts";

const MADE = `"""Made from the daemon's OpenAPI description. Do not edit: see test/client/python-types.test.ts."""

from __future__ import annotations
`;

const PLAIN: Readonly<Record<string, string>> = {
  string: "str",
  integer: "int",
  number: "float",
  boolean: "bool",
};

/** Writes all schemas of the description as TypedDicts. */
export function types(): string {
  const body = ordered().map((name) => definitionOf(name, SCHEMAS[name]!));
  return `${MADE}
from typing import Any, Dict, List, Literal, Optional, TypedDict, Union


${body.join("\n\n")}`;
}

/** Writes the method and path of each operation, and the types of their answers. */
export function operations(): string {
  const typed = answers();
  const known = OPERATION_NAMES.map((name) => {
    const { method, path } = routeOf(name);
    return `    ${JSON.stringify(name)}: (${JSON.stringify(method)}, ${JSON.stringify(path)}),\n`;
  });
  const pages = [...typed].filter(([, schemas]) => itemOf(schemas) !== null);
  const calls = (isAsync: boolean) =>
    [...typed]
      .map(([name, schemas]) => callOf(name, schemas, isAsync))
      .concat(catchAll(isAsync))
      .join("\n");
  const lists = (isAsync: boolean) =>
    pages.map(([name, schemas]) => everyOf(name, itemOf(schemas)!, isAsync)).join("\n");
  return `${MADE}
from typing import Any, AsyncIterator, Dict, Iterator, List, Literal, Mapping, Optional, Tuple, Union, overload

from . import _types as t

#: The method and path of each operation.
OPERATIONS: Dict[str, Tuple[str, str]] = {
${known.join("")}}

Query = Mapping[str, Union[str, int, float, bool, None]]
Body = Union[Mapping[str, Any], str]


class Calls:
    """Every operation of the daemon, by its name in the OpenAPI description."""

${calls(false)}
${withEtag(typed, false)}
${lists(false)}
    def every(self, operation: str, **asked: Any) -> Iterator[Any]:
        """Yields the items of a list, page after page, to its end."""
        raise NotImplementedError


class AsyncCalls:
    """The same, to be awaited."""

${calls(true)}
${withEtag(typed, true)}
${lists(true)}
    def every(self, operation: str, **asked: Any) -> AsyncIterator[Any]:
        """Yields the items of a list, page after page, to its end."""
        raise NotImplementedError
`;
}

const ASKED = `id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...`;

function callOf(name: string, schemas: readonly (Schema | null)[], isAsync: boolean): string {
  const type = answerOf(schemas);
  return `    @overload
    ${isAsync ? "async " : ""}def call(self, operation: Literal[${JSON.stringify(name)}], *, ${ASKED}) -> ${type}: ...
`;
}

function answerOf(schemas: readonly (Schema | null)[]): string {
  const answer = [...new Set(schemas.map((schema) => (schema === null ? "None" : typeOf(schema, "t."))))];
  return answer.length === 1 ? answer[0]! : `Union[${answer.join(", ")}]`;
}

/** Writes the calls whose answers have an ETag. */
function withEtag(typed: ReturnType<typeof answers>, isAsync: boolean): string {
  const def = isAsync ? "async def" : "def";
  const own = [...tagged()].filter((name) => typed.has(name));
  const overloads = own.map(
    (name) => `    @overload
    ${def} call_with_etag(self, operation: Literal[${JSON.stringify(name)}], *, ${ASKED}) -> Tuple[${answerOf(typed.get(name)!)}, Optional[str]]: ...
`,
  );
  return `${overloads.join("\n")}
    @overload
    ${def} call_with_etag(self, operation: str, *, ${ASKED}) -> Tuple[Any, Optional[str]]: ...

    ${def} call_with_etag(self, operation: str, **asked: Any) -> Any:
        """Returns the answer, and its ETag or None. Raises ClientError."""
        raise NotImplementedError
`;
}

function catchAll(isAsync: boolean): string {
  const def = isAsync ? "async def" : "def";
  return `    @overload
    ${def} call(self, operation: str, *, ${ASKED}) -> Any: ...

    ${def} call(self, operation: str, **asked: Any) -> Any:
        """Returns the answer, and None if it has no body. Raises ClientError."""
        raise NotImplementedError
`;
}

function everyOf(name: string, item: Schema, isAsync: boolean): string {
  const iterator = isAsync ? "AsyncIterator" : "Iterator";
  return `    @overload
    def every(self, operation: Literal[${JSON.stringify(name)}], *, ${ASKED}) -> ${iterator}[${typeOf(item, "t.")}]: ...
`;
}

/** Returns the names of all schemas, each base before what extends it, and each alias after what it names. */
function ordered(): string[] {
  const found = new Set<string>();
  const visit = (name: string, schema: Schema) => {
    const needed = schema.allOf ?? (schema.properties === undefined ? [schema] : []);
    for (const { $ref } of needed)
      if ($ref !== undefined && !found.has(nameIn($ref))) visit(nameIn($ref), SCHEMAS[nameIn($ref)]!);
    found.add(name);
  };
  for (const [name, schema] of Object.entries(SCHEMAS)) visit(name, schema);
  return [...found];
}

function definitionOf(name: string, schema: Schema): string {
  const parts = partsOf(schema);
  if (parts !== null) return classOf(name, parts.own, parts.base);
  return schema.properties === undefined ? `${name} = ${typeOf(schema)}\n` : classOf(name, schema);
}

/** Writes two classes if fields may be missing, because Python 3.9 has no `NotRequired`. */
function classOf(name: string, { properties = {}, required = [] }: Schema, base = "TypedDict"): string {
  const fields = Object.entries(properties);
  const must = fields.filter(([field]) => required.includes(field));
  const may = fields.filter(([field]) => !required.includes(field));
  if (may.length === 0) return `class ${name}(${base}):\n${fieldsOf(must)}`;
  if (must.length === 0) return `class ${name}(${base}, total=False):\n${fieldsOf(may)}`;
  return `class _${name}(${base}):\n${fieldsOf(must)}\n\nclass ${name}(_${name}, total=False):\n${fieldsOf(may)}`;
}

function fieldsOf(fields: readonly (readonly [string, Schema])[]): string {
  return fields.map(([name, schema]) => `${commentOf(schema)}    ${name}: ${typeOf(schema)}\n`).join("");
}

function commentOf(schema: Schema): string {
  const description = descriptionOf(schema);
  return description === undefined ? "" : `    # ${description}\n`;
}

function typeOf(schema: Schema, within = ""): string {
  if (schema.$ref !== undefined) return `${within}${nameIn(schema.$ref)}`;
  if (schema.anyOf !== undefined) {
    const different = [...new Set(schema.anyOf.map((one) => typeOf(one, within)))];
    return different.length === 1 ? different[0]! : `Union[${different.join(", ")}]`;
  }
  const item = itemOf([schema]);
  if (item !== null) return "Dict[str, Any]";
  const values = fixedValues(schema);
  if (values !== undefined) return `Literal[${values.map(literalOf).join(", ")}]`;
  const { some, orNull } = typesOf(schema);
  if (some.length === 0) return "None";
  const names = some.map((type) => plainType(type, schema, within));
  const type = names.length === 1 ? names[0]! : `Union[${names.join(", ")}]`;
  return orNull ? `Optional[${type}]` : type;
}

function literalOf(value: string | number | boolean | null): string {
  return typeof value === "string"
    ? JSON.stringify(value)
    : ({ true: "True", false: "False" }[String(value)] ?? "None");
}

function plainType(type: string, { items = {}, additionalProperties }: Schema, within: string): string {
  if (type === "array") return `List[${typeOf(items, within)}]`;
  if (type !== "object") return PLAIN[type] ?? "Any";
  return typeof additionalProperties === "object"
    ? `Dict[str, ${typeOf(additionalProperties, within)}]`
    : "Dict[str, Any]";
}
