/** The fields that a filter can look at, from recent events, and from the samples and schemas of the types. */
import type { EventSummary, EventType } from "../../client/operations.ts";
import { isAmount } from "../../domain/events/filter/filter.ts";
import type { Kind } from "./operators.ts";
import { pointerOf } from "./rows.ts";
import { t } from "../language/text.ts";

export interface Field {
  readonly path: readonly string[];
  readonly pointer: string;
  /** The name as people see it: the path below the data. */
  readonly name: string;
  readonly kind: Kind;
  /** Values that were seen, the newest first. */
  readonly examples: readonly string[];
}

interface Seen {
  readonly path: readonly string[];
  readonly kinds: Set<Kind>;
  readonly examples: Set<string>;
}

const MOST_FIELDS = 200;
const MOST_EXAMPLES = 20;
const MOST_ITEMS = 20;
const DEEPEST = 8;
const INSTANT = /^\d{4}-\d\d-\d\d(?:T[\d:.]+(?:Z|[+-]\d\d:\d\d)?)?$/;

type Types = readonly Pick<EventType, "name" | "schema" | "sample">[];

/** `types` are those that the endpoint gets, and `events` recent ones of these types, newest first. */
export function fieldsOf(types: Types, events: readonly Pick<EventSummary, "data">[]): readonly Field[] {
  const seen = new Map<string, Seen>();
  for (const { data } of events) see(seen, ["data"], data);
  for (const { sample } of types) see(seen, ["data"], sample);
  for (const { schema } of types) seeSchema(seen, ["data"], schema);
  const fields = [...seen.values()].map(fieldOf);
  return types.length > 1 ? [...fields, typeField(types)] : fields;
}

function typeField(types: Types): Field {
  const examples = types.map(({ name }) => name);
  return { path: ["type"], pointer: "/type", name: t("common.eventType"), kind: "text", examples };
}

function fieldOf({ path, kinds, examples }: Seen): Field {
  const [seen = "text"] = kinds;
  const values = [...examples];
  const kind = seen === "text" && values.length > 0 && values.every(isAmount) ? "amount" : seen;
  return { path, pointer: pointerOf(path), name: path.slice(1).join("."), kind, examples: values };
}

function see(seen: Map<string, Seen>, path: readonly string[], value: unknown): void {
  if (Array.isArray(value)) {
    // A condition on an array is one on its items.
    for (const item of value.slice(0, MOST_ITEMS)) see(seen, path, item);
    return;
  }
  if (typeof value === "object" && value !== null) {
    if (path.length > DEEPEST) return;
    for (const [name, member] of Object.entries(value)) if (isReachable(name)) see(seen, [...path, name], member);
    return;
  }
  const field = at(seen, path);
  if (field === null || value === null || value === undefined) return;
  field.kinds.add(typeof value === "number" ? "number" : typeof value === "boolean" ? "boolean" : kindOfText(value));
  if (field.examples.size < MOST_EXAMPLES) field.examples.add(String(value));
}

function kindOfText(value: unknown): Kind {
  return INSTANT.test(String(value)) ? "instant" : "text";
}

/** Adds what the schema says of fields that no event and no sample has. */
function seeSchema(seen: Map<string, Seen>, path: readonly string[], schema: unknown): void {
  if (typeof schema !== "object" || schema === null || path.length > DEEPEST) return;
  const { type, format, properties, items } = schema as Readonly<Record<string, unknown>>;
  if (typeof properties === "object" && properties !== null) {
    for (const [name, one] of Object.entries(properties)) if (isReachable(name)) seeSchema(seen, [...path, name], one);
    return;
  }
  if (items !== undefined) return seeSchema(seen, path, items);
  const kinds: Readonly<Record<string, Kind>> = { number: "number", integer: "number", boolean: "boolean" };
  const kind = type === "string" ? (String(format).startsWith("date") ? "instant" : "text") : kinds[String(type)];
  if (kind !== undefined && path.length > 1) at(seen, path)?.kinds.add(kind);
}

/** A filter cannot reach a field whose name begins with $. */
function isReachable(name: string): boolean {
  return !name.startsWith("$");
}

function at(seen: Map<string, Seen>, path: readonly string[]): Seen | null {
  const pointer = pointerOf(path);
  const known = seen.get(pointer);
  if (known !== undefined || path.length < 2) return known ?? null;
  if (seen.size >= MOST_FIELDS) return null;
  const field = { path, kinds: new Set<Kind>(), examples: new Set<string>() };
  seen.set(pointer, field);
  return field;
}

/** Returns the path of a field as it was typed: `amount`, or `data.amount`. */
export function pathOf(typed: string): readonly string[] {
  const names = typed.trim().split(".").filter(Boolean);
  if (names.length === 0) return [];
  return ["type", "data", "tags"].includes(names[0]!) ? names : ["data", ...names];
}
