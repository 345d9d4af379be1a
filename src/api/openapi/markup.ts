/** Pieces of the page: text, tables and shapes as HTML. All that comes in is text; all that goes out is escaped. */
import type { JsonObject } from "./json-schema.ts";

const ENTITIES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

export function escape(value: unknown): string {
  return String(value).replaceAll(/[&<>"']/g, (char) => ENTITIES[char]!);
}

export function code(value: unknown): string {
  return `<code>${escape(value)}</code>`;
}

/** Paragraphs; what stands between backticks is code. Nothing for nothing. */
export function prose(text: unknown): string {
  if (typeof text !== "string") return "";
  const paragraphs = escape(text).split("\n\n");
  return paragraphs.map((each) => `<p>${each.replaceAll(/`([^`]+)`/g, "<code>$1</code>")}</p>`).join("");
}

export function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const head = heads.map((each) => `<th>${escape(each)}</th>`).join("");
  const body = rows.map((cells) => `<tr>${cells.map((cell) => `<td>${cell}</td>`).join("")}</tr>`).join("");
  return `<table><thead><tr>${head}</tr></thead><tbody>${body}</tbody></table>`;
}

export function example(value: unknown): string {
  if (value === undefined) return "";
  return `<pre>${escape(typeof value === "string" ? value : JSON.stringify(value, null, 2))}</pre>`;
}

/** The members of an object as a table, deeper ones beneath; nothing for what has none of its own. */
export function shape(schema: JsonObject): string {
  const rows = members(schema, "");
  return rows.length === 0 ? "" : table(["field", "", ""], rows);
}

function members(schema: JsonObject, prefix: string): string[][] {
  const {
    properties = {},
    required = [],
    items,
    allOf = [],
  } = schema as {
    properties?: Record<string, JsonObject>;
    required?: string[];
    items?: JsonObject;
    allOf?: JsonObject[];
  };
  const own = Object.entries(properties).flatMap(([name, member]) => {
    const path = `${prefix}${name}`;
    const optional = required.includes(name) ? "" : " <small>optional</small>";
    return [[code(path) + optional, typeOf(member), prose(member.description)], ...members(member, `${path}.`)];
  });
  const inner = items === undefined ? [] : members(items, prefix === "" ? "[]." : `${prefix.slice(0, -1)}[].`);
  return [...own, ...inner, ...allOf.flatMap((each) => members(each, prefix))];
}

/** A type in words: `string or null`, `array of Delivery`, with its bounds. */
export function typeOf(schema: JsonObject): string {
  const { $ref, type, items, anyOf, allOf, enum: values } = schema;
  if (typeof $ref === "string") return reference($ref);
  if (Array.isArray(anyOf)) return anyOf.map(typeOf).join(" or ");
  if (Array.isArray(allOf))
    return allOf
      .map(typeOf)
      .filter((each) => each !== "object")
      .join(" with ");
  if ("const" in schema) return code(JSON.stringify(schema.const));
  if (Array.isArray(values)) return values.map((value) => code(value)).join(", ") + bounds(schema);
  if (type === "array" && items !== undefined) return `array of ${typeOf(items as JsonObject)}${bounds(schema)}`;
  return escape([type ?? "anything"].flat().join(" or ")) + bounds(schema);
}

const BOUNDS: Record<string, string> = {
  format: "",
  minimum: "at least ",
  exclusiveMinimum: "more than ",
  maximum: "at most ",
  minLength: "length at least ",
  maxLength: "length at most ",
  minItems: "at least ",
  maxItems: "at most ",
  maxProperties: "members at most ",
  default: "default ",
};

function bounds(schema: JsonObject): string {
  const parts = Object.entries(BOUNDS).flatMap(([name, text]) => {
    const value = schema[name];
    return value === undefined ? [] : text + (name === "format" ? String(value) : JSON.stringify(value));
  });
  return parts.length === 0 ? "" : ` <small>${escape(parts.join(", "))}</small>`;
}

function reference(ref: string): string {
  const name = escape(ref.split("/").at(-1));
  return `<a href="#shape.${name}">${name}</a>`;
}
