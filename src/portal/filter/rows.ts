/** A filter as rows, one for each condition: a field, a comparison and a value. */
import type { FilterDocument } from "../../domain/events/filter/filter.ts";
import { type Kind, type Operator, operatorOf, OPERATORS } from "./operators.ts";
import { t } from "../language/text.ts";

export interface Row {
  /** The place of the field in the event, such as `["data", "amount"]`; empty until one is chosen. */
  readonly path: readonly string[];
  readonly kind: Kind;
  /** The id of the comparison. */
  readonly operator: string;
  /** As it was typed. */
  readonly value: string;
}

/** All rows must hold, or one of them. */
export type Join = "all" | "any";

export const BLANK: Row = { path: [], kind: "text", operator: "eq", value: "" };

type Scalar = string | number | boolean;
type Operand = Scalar | readonly Scalar[];

/** Returns what a filter has for the row's value, or what is wrong with the value, as a sentence. */
export function operandOf({ kind, operator, value }: Row): { readonly operand: Operand } | { readonly fault: string } {
  const { takes, operand, isNumeric = false } = operatorOf(operator);
  if (takes === "nothing") return { operand: operand! };
  const texts = takes === "list" ? value.split(",").map((text) => text.trim()) : [value.trim()];
  const isNumber = isNumeric || kind === "number";
  const scalars = texts.map((text) => scalarOf(isNumber ? "number" : kind, text));
  const wrong = scalars.findIndex((scalar) => scalar === null);
  if (wrong >= 0) {
    const text = texts[wrong]!;
    return { fault: isNumber ? t("filter.notNumber", { text }) : t("filter.typeValue") };
  }
  return { operand: takes === "list" ? (scalars as Scalar[]) : scalars[0]! };
}

/** The commas of 1,000 separate digits, if they stand where they do in English. */
const GROUPED = /^-?\d{1,3}(?:,\d{3})+(?:\.\d+)?$/;
const NUMBER = /^-?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i;

function scalarOf(kind: Kind, text: string): Scalar | null {
  if (kind === "boolean") return text === "true" ? true : text === "false" ? false : null;
  if (kind !== "number") return text === "" ? null : text;
  const plain = GROUPED.test(text) ? text.replaceAll(",", "") : text;
  return NUMBER.test(plain) && Number.isFinite(Number(plain)) ? Number(plain) : null;
}

/** True if the row lacks a part that is still to be filled in. */
export function isUnfinished(row: Row): boolean {
  return row.path.length === 0 || (operatorOf(row.operator).takes !== "nothing" && row.value.trim() === "");
}

export interface Written {
  readonly document: FilterDocument;
  /** The place of each row's condition in the document, as a JSON pointer. */
  readonly pointers: readonly string[];
}

/** Writes rows that are finished and right. */
export function write(rows: readonly Row[], join: Join): Written {
  if (join === "any" && rows.length > 1) {
    const alone = rows.map((row) => write([row], "all"));
    return {
      document: { $or: alone.map(({ document }) => document) },
      pointers: alone.map(({ pointers }, at) => `/$or/${at}${pointers[0]}`),
    };
  }
  const tree: Node = { operators: new Map(), fields: new Map() };
  const twice: Written[] = [];
  const places = rows.map((row) => {
    const read = operandOf(row);
    if ("fault" in read) throw new TypeError(read.fault);
    const node = nodeAt(tree, row.path);
    const { name } = operatorOf(row.operator);
    if (!node.operators.has(name)) return (node.operators.set(name, read.operand), { node, name, path: row.path });
    // A place can have each operator once.
    const alone = write([row], "all");
    twice.push(alone);
    return `/$and/${twice.length - 1}${alone.pointers[0]}`;
  });
  const more = twice.length === 0 ? {} : { $and: twice.map(({ document }) => document) };
  const pointers = places.map((place) => {
    if (typeof place === "string") return place;
    return `${pointerOf(place.path)}${isPlain(place.node) ? "" : `/${place.name}`}`;
  });
  return { document: { ...(valueOf(tree) as object), ...more }, pointers };
}

interface Node {
  readonly operators: Map<string, Operand>;
  readonly fields: Map<string, Node>;
}

function nodeAt(tree: Node, path: readonly string[]): Node {
  let node = tree;
  for (const name of path) {
    const next = node.fields.get(name) ?? { operators: new Map(), fields: new Map() };
    node.fields.set(name, next);
    node = next;
  }
  return node;
}

/** True if a plain value says it: `"EUR"` for `{"$eq": "EUR"}`. */
function isPlain({ operators, fields }: Node): boolean {
  return fields.size === 0 && operators.size === 1 && operators.has("$eq");
}

function valueOf(node: Node): unknown {
  if (isPlain(node)) return node.operators.get("$eq");
  const fields = [...node.fields].map(([name, one]) => [name, valueOf(one)] as const);
  return Object.fromEntries<unknown>([...node.operators, ...fields]);
}

export function pointerOf(path: readonly string[]): string {
  return path.map((name) => `/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}

export interface Rows {
  readonly rows: readonly Row[];
  readonly join: Join;
}

/** Reads a filter as rows. Returns null if rows cannot say the same. */
export function read(document: FilterDocument): Rows | null {
  const found = Object.keys(document).join() === "$or" ? alternatives(document["$or"]) : together(document);
  if (found === null || found.rows.length === 0) return null;
  return isSame(write(found.rows, found.join).document, document) ? found : null;
}

function alternatives(written: unknown): Rows | null {
  if (!Array.isArray(written)) return null;
  const rows = written.map((one) => together(one)?.rows ?? []);
  return rows.every(({ length }) => length === 1) ? { rows: rows.flat(), join: "any" } : null;
}

function together(document: unknown): Rows | null {
  if (!isObject(document)) return null;
  const { $and: more = [], ...members } = document;
  const rows = [members, ...(Array.isArray(more) ? more : [])].map((one) => rowsBelow(one, []));
  return rows.some((one) => one === null) ? null : { rows: rows.flat() as Row[], join: "all" };
}

function rowsBelow(written: unknown, path: readonly string[]): readonly Row[] | null {
  if (!isObject(written)) return rowsOf("$eq", written, path);
  const rows = Object.entries(written).map(([name, value]) =>
    name.startsWith("$") ? rowsOf(name, value, path) : rowsBelow(value, [...path, name]),
  );
  return rows.some((one) => one === null) ? null : (rows.flat() as Row[]);
}

function rowsOf(name: string, operand: unknown, path: readonly string[]): readonly Row[] | null {
  const operator = OPERATORS.find((one) => one.name === name && fits(one, operand));
  if (operator === undefined || path.length === 0) return null;
  if (operator.takes === "nothing") return [{ ...BLANK, path, operator: operator.id }];
  const [first] = [operand].flat() as Scalar[];
  const kind = operator.kinds.find((one) => one === kindOf(first)) ?? operator.kinds[0]!;
  return [{ path, kind, operator: operator.id, value: [operand].flat().map(String).join(", ") }];
}

function fits({ takes, operand: own, kinds }: Operator, operand: unknown): boolean {
  if (takes === "nothing") return operand === own;
  const values: readonly unknown[] = Array.isArray(operand) ? operand : [operand];
  const kind = values.length === 0 ? null : kindOf(values[0]);
  const isOrdered = kinds.length === 1 && kinds[0] === "instant";
  return (
    Array.isArray(operand) === (takes === "list") &&
    kind !== null &&
    values.every((value) => kindOf(value) === kind) &&
    (kinds.includes(kind) || (isOrdered && kind === "text"))
  );
}

function kindOf(value: unknown): Kind | null {
  switch (typeof value) {
    case "number":
    case "boolean":
      return typeof value as "number" | "boolean";
    case "string":
      return "text";
    default:
      return null;
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** True if two filters say the same. The order of keys does not matter, and a plain value is an `$eq`. */
function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(canonical(one)) === JSON.stringify(canonical(other));
}

function canonical(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(canonical);
  if (!isObject(value)) return value;
  const names = Object.keys(value).toSorted();
  if (names.join() === "$eq" && kindOf(value["$eq"]) !== null) return value["$eq"];
  return Object.fromEntries(names.map((name) => [name, canonical(value[name])]));
}
