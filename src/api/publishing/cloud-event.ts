/**
 * Reads CloudEvents (spec 1.0.2) as events: one as JSON (structured mode), many as a JSON array (batched mode), or one
 * in headers, with its data as the body (binary mode). `source` and `id` together make the idempotency key, because
 * they name the event. Attributes that no field of an event stands for are not kept.
 */
import { createHash } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { PUBLISHER_ID, traceContext, type EventDraft, type TraceContext } from "../../domain/events/event.ts";
import type { FieldError } from "../../domain/errors.ts";
import type { JsonNode, Pieces } from "../../domain/json/json-token.ts";
import { parseSpan, scanInPieces, scanJson, scanObject } from "../../domain/json/json.ts";
import { Faults, missingBody, validationFailed } from "../pipeline/body.ts";
import { checkSize, countItems, draftOf, inPieces, type DraftRules, type Members } from "./event-draft.ts";
import { ITEM_FIELDS } from "./schemas.ts";

export const STRUCTURED = "application/cloudevents+json";
export const BATCHED = "application/cloudevents-batch+json";

/** The attribute that becomes each field of an event. */
const ATTRIBUTES: Readonly<Record<string, string>> = {
  type: "type",
  data: "data",
  created_at: "time",
  publisher_id: "id",
  ordering_key: "partitionkey",
};
const NEEDED = ["specversion", "id", "source", "type"] as const;
/** The extension for distributed tracing. */
const TRACE = ["traceparent", "tracestate"] as const;
const READ = [...NEEDED, "time", "partitionkey", ...TRACE] as const;
const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i;

/** Reads the body of a request in structured mode. */
export function readStructured(body: Uint8Array, rules: DraftRules): EventDraft {
  if (body.length === 0) throw missingBody([...NEEDED, "data"]);
  const faults = new Faults();
  const draft = draftFrom(body, scanObject(body), "", rules, faults);
  faults.throwAny();
  return draft!;
}

/** Reads a JSON array of events. Faults name their place: `/3/time` is the time of the fourth. */
export function* readBatched(body: Uint8Array, rules: DraftRules): Pieces<EventDraft[]> {
  const { items } = yield* scanInPieces(body, { outline: 2 });
  if (items === null) {
    throw validationFailed([
      { pointer: "", code: "invalid_body", detail: "the body must be a JSON array of CloudEvents" },
    ]);
  }
  const faults = new Faults();
  countItems(items.length, "", faults);
  faults.throwAny();
  const draftAt = (item: JsonNode, pointer: string) => {
    checkSize(item, pointer, rules);
    if (item.members !== null) return draftFrom(body, item.members, pointer, rules, faults);
    faults.add(pointer, "invalid_type", "an event must be an object");
    return null;
  };
  const drafts = yield* inPieces(items, draftAt, 0, "");
  faults.throwAny();
  return drafts as EventDraft[];
}

/** Reads the headers `ce-*` of a request, and its body as the data. */
export function readBinary(body: Uint8Array, headers: IncomingHttpHeaders, rules: DraftRules): EventDraft {
  const faults = new Faults();
  // The values are put behind the body, as JSON, so that all attributes are parts of one text.
  const texts: Buffer[] = [Buffer.from(body)];
  const members = new Map<string, JsonNode>();
  let end = body.length;
  for (const name of READ) {
    const given = headers[`ce-${name}`];
    if (given === undefined) continue;
    const value = decoded(String(given));
    if (value === null) faults.add(`/${name}`, "invalid_syntax", "is not percent-encoded UTF-8");
    const text = Buffer.from(JSON.stringify(value ?? ""));
    members.set(name, { kind: "string", start: end, end: end + text.length, members: null, items: null });
    texts.push(text);
    end += text.length;
  }
  if (body.length > 0) members.set("data", { ...scanJson(body), members: null, items: null });
  const draft = draftFrom(Buffer.concat(texts), members, "", rules, faults);
  if (faults.some) throw validationFailed(faults.all.map(inHeaders));
  return draft!;
}

/** Says of a fault which header it is in. A pointer into the data is one into the body. */
function inHeaders({ pointer, code, detail }: FieldError): FieldError {
  const [, name, rest = ""] = /^\/([^/]*)(.*)$/s.exec(pointer) ?? [];
  if (name === "data") return { pointer: rest, code, detail: rest === "" ? `the data ${detail}` : detail };
  return { pointer: "", code, detail: `the header ce-${name} ${detail}` };
}

/** Decodes the value of a header as section 3.1.3.2 of the HTTP binding says. Null if it cannot be decoded. */
function decoded(value: string): string | null {
  const quoted = /^"(.*)"$/s.exec(value);
  const text = quoted === null ? value : quoted[1]!.replaceAll(/\\(.)/gs, "$1");
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

/** An attribute that is null is not there (section 2.2 of the JSON format). Null as data is data. */
function withoutNulls(attributes: Members): Members {
  return new Map([...attributes].filter(([name, { kind }]) => kind !== "null" || name === "data"));
}

/** Returns null if there are faults. `given` are parts of `text`. */
function draftFrom(
  text: Uint8Array,
  given: Members,
  pointer: string,
  rules: DraftRules,
  faults: Faults,
): EventDraft | null {
  const attributes = withoutNulls(given);
  const own = new Faults();
  const [version, id, source] = NEEDED.map((name) => attributeOf(text, attributes, name, own));
  if (version !== undefined && version !== "1.0") own.add("/specversion", "out_of_range", 'must be "1.0"');
  checkData(text, attributes, own);
  const members = new Map<string, JsonNode>();
  for (const [field, attribute] of Object.entries(ATTRIBUTES)) {
    const node = attributes.get(attribute);
    // An id that cannot be a publisher's is still part of the key.
    if (node !== undefined && (field !== "publisher_id" || PUBLISHER_ID.test(id ?? ""))) members.set(field, node);
  }
  const read = new Faults();
  const idempotencyKey = id === undefined || source === undefined ? undefined : keyOf(source, id);
  const draft = draftOf(text, members, { pointer, fields: ITEM_FIELDS, idempotencyKey }, rules, read);
  for (const fault of own.all) faults.add(`${pointer}${fault.pointer}`, fault.code, fault.detail);
  for (const fault of read.all) {
    const named = fault.pointer.slice(pointer.length).replace(/^\/[^/]*/, (name) => `/${ATTRIBUTES[name.slice(1)]!}`);
    // A missing type was named above.
    if (named !== "/type" || attributes.has("type")) faults.add(`${pointer}${named}`, fault.code, fault.detail);
  }
  if (own.some || draft === null) return null;
  return { ...draft, trace: traceOf(text, attributes) ?? draft.trace };
}

/** Returns undefined if the event has no trace context of its own, or a malformed one, which W3C has us ignore. */
function traceOf(text: Uint8Array, attributes: Members): TraceContext | undefined {
  const [parent, state] = TRACE.map((name) => {
    const node = attributes.get(name);
    return node?.kind === "string" ? (parseSpan(text, node) as string) : undefined;
  });
  return parent === undefined ? undefined : traceContext(parent, state);
}

/** Returns the value of an attribute that must be there. */
function attributeOf(text: Uint8Array, attributes: Members, name: string, faults: Faults): string | undefined {
  const node = attributes.get(name);
  if (node === undefined) faults.add(`/${name}`, "missing_field");
  else if (node.kind !== "string") faults.add(`/${name}`, "invalid_type", "must be a string");
  else {
    const value = parseSpan(text, node) as string;
    if (value !== "") return value;
    faults.add(`/${name}`, "too_few", "must not be empty");
  }
  return undefined;
}

/** Events carry JSON objects only. */
function checkData(text: Uint8Array, attributes: Members, faults: Faults): void {
  if (attributes.has("data_base64"))
    faults.add("/data_base64", "unknown_field", "cannot be sent: give a JSON object as data");
  const node = attributes.get("datacontenttype");
  if (node === undefined || (node.kind === "string" && JSON_TYPE.test(parseSpan(text, node) as string))) return;
  faults.add("/datacontenttype", "invalid_type", "must be application/json, or left out");
}

/** A digest, because a source may be long and may have characters that a key may not have. */
function keyOf(source: string, id: string): string {
  const digest = createHash("sha256")
    .update(JSON.stringify([source, id]))
    .digest("base64url");
  return `cloudevent:${digest}`;
}
