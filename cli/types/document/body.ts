/** Makes the draft of an event type from the body of a webhook or a message, as a document describes it. */
import type { TypeDraft } from "../../../src/domain/events/type-import.ts";
import { TYPE_NAME } from "../../../src/domain/events/pattern.ts";
import { oneLine } from "../../output/one-line.ts";
import { isPart, NotImportable, type Part, type Root } from "./references.ts";
import { boundedExample, standaloneSchema } from "./schema.ts";

/** A type that a document describes, or why it cannot be imported. */
export type DescribedType =
  | { readonly name: string; readonly draft: TypeDraft }
  | { readonly name: string; readonly draft: null; readonly reason: string };

/** The rules for reading the bodies of a document. */
export interface Reading {
  readonly root: Root;
  /** The field of the body that has the event's data. Undefined: found where the body is an event as it is sent. */
  readonly dataIn: string | undefined;
}

/** The parts that a document has, unchecked. */
export interface Described {
  /** Texts of which the first that says something is the description. */
  readonly descriptions: readonly unknown[];
  readonly tags: unknown;
  readonly deprecated: unknown;
  /** Undefined if anything goes. */
  readonly schema: unknown;
  readonly examples: readonly unknown[];
}

/** The fields of an event as webhookd sends it. */
const ENVELOPE = ["id", "type", "created_at", "data"];
const [MAX_DESCRIPTION, MAX_GROUP] = [256, 64];

/** Returns what `describe` makes of a type. `names` are those that the document has around it, the best first. */
export function describedType(names: readonly unknown[], reading: Reading, describe: () => Described): DescribedType {
  let name = nameOf(names);
  try {
    const described = describe();
    const found = dataOf(described.schema, reading);
    name = nameOf([...found.names, ...names]);
    return { name, draft: draftOf(name, described, found, reading) };
  } catch (error) {
    if (!(error instanceof NotImportable)) throw error;
    return { name, draft: null, reason: error.message };
  }
}

/** The first name that an event type may have, else the first of all. */
function nameOf(names: readonly unknown[]): string {
  const texts = names.filter((name) => typeof name === "string");
  return texts.find((name) => TYPE_NAME.test(name)) ?? texts[0] ?? "(no name)";
}

function draftOf(name: string, described: Described, { schema, field }: Data, { root }: Reading): TypeDraft {
  const { descriptions, tags, deprecated, examples } = described;
  const description = descriptions.map((text) => oneLine(text, MAX_DESCRIPTION)).find((text) => text !== "");
  const [tag] = Array.isArray(tags) ? (tags as unknown[]) : [];
  const group = oneLine(isPart(tag) ? root.object(tag, "a tag").part.name : tag, MAX_GROUP);
  const inside = examples.map((example) => (field === null || !isPart(example) ? example : example[field]));
  const sample = inside.find(isPart);
  return {
    name,
    ...(description !== undefined && { description }),
    ...(group !== "" && { group }),
    ...(typeof deprecated === "boolean" && { deprecated }),
    ...(schema !== undefined && { schema: standaloneSchema(schema, root) }),
    ...(sample !== undefined && { sample: boundedExample(sample) }),
  };
}

interface Data {
  readonly schema: unknown;
  /** The field of the body that the schema is about; null if it is about all of it. */
  readonly field: string | null;
  /** The names of the type that the body says itself. */
  readonly names: readonly string[];
}

/** Finds the schema of the event's data in that of the body. */
function dataOf(schema: unknown, { root, dataIn }: Reading): Data {
  if (schema === undefined) return { schema, field: null, names: [] };
  const members = membersOf(schema, root);
  const isEnvelope = ENVELOPE.every((field) => members.has(field));
  const field = dataIn ?? (isEnvelope ? "data" : null);
  if (field === null) return { schema, field, names: [] };
  const schemas = members.get(field);
  if (schemas === undefined) throw new NotImportable(`has no field ${field} in its body`);
  const names = isEnvelope ? members.get("type")!.flatMap((one) => onlyValue(one, root)) : [];
  const telling = schemas.filter((one) => !isAnyObject(one));
  return { schema: telling.length > 1 ? { allOf: telling } : (telling[0] ?? schemas[0]), field, names };
}

/** True for the data of an envelope that all events share. */
function isAnyObject(schema: unknown): boolean {
  if (!isPart(schema) || (schema.type ?? "object") !== "object") return false;
  return Object.keys(schema).every((key) => ["type", "title", "description"].includes(key));
}

/** More parts than these are no description of one body. */
const MAX_PARTS = 100;

/** Returns the schemas of each member of an object that is described in parts. */
function membersOf(schema: unknown, root: Root): ReadonlyMap<string, readonly unknown[]> {
  const members = new Map<string, unknown[]>();
  const left: unknown[] = [schema];
  for (let parts = 0; left.length > 0 && parts < MAX_PARTS; parts++) {
    const part = left.shift();
    if (!isPart(part)) continue;
    const { $ref: ref, allOf, properties } = part;
    if (typeof ref === "string") left.push(root.at(ref).value);
    if (Array.isArray(allOf)) left.push(...(allOf as unknown[]));
    if (!isPart(properties)) continue;
    for (const [name, one] of Object.entries(properties)) members.set(name, [...(members.get(name) ?? []), one]);
  }
  return members;
}

/** The only value that a schema allows, if it is a text. */
function onlyValue(schema: unknown, root: Root): string[] {
  if (!isPart(schema)) return [];
  const { const: value, enum: options } = root.object(schema, "a type").part as Part;
  const only = value ?? (Array.isArray(options) && options.length === 1 ? (options[0] as unknown) : undefined);
  return typeof only === "string" ? [only] : [];
}
