/**
 * Turns the bytes of a publish into drafts. The bytes are scanned once, and `data` is never parsed, because it is
 * stored exactly as it arrived. Long work is split into pieces.
 */
import { WebhookdError } from "../../domain/errors.ts";
import {
  MAX_TAGS,
  PUBLISHER_ID,
  TAG,
  type EventDraft,
  type EventLabels,
  type TraceContext,
} from "../../domain/events/event.ts";
import { MAX_KEY_BYTES, orderingKeyFault } from "../../domain/deliveries/ordering.ts";
import { eventFingerprint, isIdempotencyKey } from "../../domain/events/idempotency.ts";
import { parseInstant } from "../../domain/time/instant.ts";
import {
  jsonLines,
  PIECE_BYTES,
  type JsonKind,
  type JsonNode,
  type Pieces,
  type Span,
} from "../../domain/json/json-token.ts";
import { parseSpan, scanInPieces, scanObject } from "../../domain/json/json.ts";
import { isTenant } from "../../domain/id.ts";
import type { DataCheck } from "../event-types/data-check.ts";
import { inWords, unknownType, Faults, missingBody, memberPointer, validationFailed } from "../pipeline/body.ts";
import { DRAFT_FIELDS, ITEM_FIELDS, MAX_BATCH } from "./schemas.ts";

const MAX_AHEAD_MS = 5 * 60_000;

export type Members = ReadonlyMap<string, JsonNode>;

export interface DraftRules {
  readonly types: ReadonlyMap<string, unknown>;
  readonly maxEventBytes: number;
  /**
   * Returns the tenant that the event belongs to, from the name in its body, if there is one. Throws `forbidden` if the
   * key may not use it, and `validation_failed` if the query names another.
   */
  readonly tenantFor: (named: string | undefined, pointer: string) => string;
  readonly checkData?: DataCheck | undefined;
  /** Receives the faults of data that is accepted anyway. */
  readonly warnings?: Faults | undefined;
  readonly now: number;
  /** The time at which idempotency keys that are used now expire. */
  readonly expiresAt: number;
  /** The trace context of the request, which each of its events gets. */
  readonly trace: TraceContext | undefined;
}

/** The position of an event in a request. */
interface Place {
  readonly pointer: string;
  readonly fields: ReadonlySet<string>;
  /** The idempotency key of the request, if its whole body is this event. */
  readonly idempotencyKey?: string | undefined;
}

/** Reads `{type, data, created_at?, publisher_id?, tags?, ordering_key?, tenant?}`. */
export function readEvent(body: Uint8Array, rules: DraftRules, idempotencyKey?: string): EventDraft {
  if (body.length === 0) throw missingBody(["type", "data"]);
  const faults = new Faults();
  const draft = draftOf(body, scanObject(body), { pointer: "", fields: DRAFT_FIELDS, idempotencyKey }, rules, faults);
  faults.throwAny();
  return draft!;
}

/** Reads `{events: […]}`. Throws an error that names the faulty indices, and then no event is published. */
export function* readBatch(body: Uint8Array, rules: DraftRules): Pieces<EventDraft[]> {
  if (body.length === 0) throw missingBody(["events"]);
  const { members } = yield* scanInPieces(body, { outline: 3 });
  if (members === null) {
    throw validationFailed([{ pointer: "", code: "invalid_body", detail: "the body must be a JSON object" }]);
  }
  const faults = new Faults();
  for (const name of members.keys()) if (name !== "events") faults.add(memberPointer("", name), "unknown_field");
  const events = field(members, "events", "array", "", faults);
  if (events?.items) countItems(events.items.length, "/events", faults);
  faults.throwAny();
  const itemAt = (item: JsonNode, pointer: string) => itemOf(body, item, pointer, rules, faults);
  const drafts = yield* inPieces(events!.items!, itemAt, 0);
  faults.throwAny();
  return drafts as EventDraft[];
}

/**
 * Reads one event per line (`application/x-ndjson`). Faults are named as in a batch: `/events/3` is the fourth line.
 */
export function* readLines(body: Uint8Array, rules: DraftRules): Pieces<EventDraft[]> {
  const faults = new Faults();
  const lines = jsonLines(body, MAX_BATCH + 1);
  countItems(lines.length, "/events", faults);
  faults.throwAny();
  const lineAt = (span: Span, pointer: string) => {
    checkSize(span, pointer, rules);
    const line = body.subarray(span.start, span.end);
    return draftOf(line, scanObject(line, { pointer }), { pointer, fields: ITEM_FIELDS }, rules, faults);
  };
  const drafts = yield* inPieces(lines, lineAt, PIECE_BYTES);
  faults.throwAny();
  return drafts as EventDraft[];
}

/** `before` is the number of bytes of other work done since the last piece. `within` points to the list. */
export function* inPieces<S extends Span, D>(
  spans: readonly S[],
  draftAt: (span: S, pointer: string) => D,
  before: number,
  within = "/events",
): Pieces<D[]> {
  const drafts: D[] = [];
  let bytes = before;
  for (const [index, span] of spans.entries()) {
    if (bytes >= PIECE_BYTES) {
      yield Math.min(PIECE_BYTES, spans.at(-1)!.end - span.start);
      bytes = 0;
    }
    drafts.push(draftAt(span, `${within}/${index}`));
    bytes += span.end - span.start;
  }
  return drafts;
}

export function countItems(count: number, pointer: string, faults: Faults): void {
  if (count === 0) faults.add(pointer, "too_few", "there must be at least one event");
  if (count > MAX_BATCH) faults.add(pointer, "too_long", `at most ${MAX_BATCH} events`);
}

export function checkSize(span: Span, pointer: string, { maxEventBytes }: DraftRules): void {
  if (span.end - span.start <= maxEventBytes) return;
  const detail = `an event is larger than ${maxEventBytes} bytes`;
  throw new WebhookdError("payload_too_large", detail, { errors: [{ pointer, code: "too_long", detail }] });
}

function itemOf(body: Uint8Array, item: JsonNode, pointer: string, rules: DraftRules, faults: Faults) {
  checkSize(item, pointer, rules);
  if (item.members !== null) return draftOf(body, item.members, { pointer, fields: ITEM_FIELDS }, rules, faults);
  faults.add(pointer, "invalid_type", "an event must be an object");
  return null;
}

/** Returns null if there are faults. `members` are parts of `body`. */
export function draftOf(
  body: Uint8Array,
  members: Members,
  { pointer, fields, idempotencyKey }: Place,
  rules: DraftRules,
  faults: Faults,
): EventDraft | null {
  for (const name of members.keys()) if (!fields.has(name)) faults.add(memberPointer(pointer, name), "unknown_field");
  const type = text(body, field(members, "type", "string", pointer, faults));
  if (type !== undefined && !rules.types.has(type)) {
    faults.add(`${pointer}/type`, "unknown_event_type", () => unknownType(type, rules.types));
  }
  const data = field(members, "data", "object", pointer, faults);
  const createdAt = createdAtOf(body, members, pointer, rules.now, faults);
  const tenant = text(body, optional(members, "tenant", "string", pointer, faults));
  if (tenant !== undefined && !isTenant(tenant))
    faults.add(`${pointer}/tenant`, "forbidden_char", "is not a tenant name");
  const labels =
    members.has("publisher_id") || members.has("tags") ? labelsOf(body, members, pointer, faults) : undefined;
  const orderingKey = members.has("ordering_key") ? orderingKeyOf(body, members, pointer, faults) : undefined;
  const key = members.has("idempotency_key") ? keyOf(body, members, pointer, faults) : idempotencyKey;
  if (type === undefined || data === undefined || faults.some) return null;
  const span = body.subarray(data.start, data.end);
  const fault = rules.checkData?.(type, span) ?? null;
  if (fault !== null) {
    const whose = fault.isWarning === true ? rules.warnings : faults;
    whose?.add(`${pointer}/data${fault.pointer}`, fault.code, fault.detail);
  }
  // This is a view of the request's own buffer. The store copies it into the envelope, and nothing keeps it for longer.
  const draft = {
    tenant: rules.tenantFor(tenant, `${pointer}/tenant`),
    type,
    createdAt,
    data: span,
    labels,
    orderingKey,
    trace: rules.trace,
  };
  if (key === undefined) return draft;
  const { publisherId = null, tags = [] } = labels ?? {};
  const named = orderingKey === undefined ? [publisherId, tags] : [publisherId, tags, orderingKey];
  const known = labels === undefined && orderingKey === undefined ? undefined : JSON.stringify(named);
  const fingerprint = eventFingerprint(type, members.has("created_at") ? createdAt : null, draft.data, known);
  return { ...draft, idempotency: { key, fingerprint, expiresAt: rules.expiresAt } };
}

/** Returns undefined if the event has no labels. */
function labelsOf(body: Uint8Array, members: Members, pointer: string, faults: Faults): EventLabels | undefined {
  const publisherId = text(body, optional(members, "publisher_id", "string", pointer, faults)) ?? null;
  if (publisherId !== null && !PUBLISHER_ID.test(publisherId)) {
    faults.add(`${pointer}/publisher_id`, "invalid_syntax", "takes 1 to 128 visible ASCII characters");
  }
  const node = optional(members, "tags", "array", pointer, faults);
  const given = node === undefined ? [] : (parseSpan(body, node) as unknown[]);
  const at = `${pointer}/tags`;
  if (given.length > MAX_TAGS) faults.add(at, "too_long", `at most ${MAX_TAGS} tags`);
  if (new Set(given).size < given.length) faults.add(at, "conflicting_fields", "names the same tag twice");
  for (const [index, tag] of given.slice(0, MAX_TAGS).entries()) {
    if (typeof tag === "string" && TAG.test(tag)) continue;
    const detail = "takes 1 to 64 visible ASCII characters, without commas";
    faults.add(`${at}/${index}`, typeof tag === "string" ? "invalid_syntax" : "invalid_type", detail);
  }
  // Tags are sorted, so that the same event with its tags in another order is a repeat.
  const tags = (given as string[]).toSorted();
  return publisherId === null && tags.length === 0 ? undefined : { publisherId, tags };
}

function orderingKeyOf(body: Uint8Array, members: Members, pointer: string, faults: Faults): string | undefined {
  const key = text(body, optional(members, "ordering_key", "string", pointer, faults));
  const fault = key === undefined ? null : orderingKeyFault(key);
  if (fault !== null)
    faults.add(`${pointer}/ordering_key`, fault, `takes 1 to ${MAX_KEY_BYTES} bytes without control characters`);
  return key;
}

function keyOf(body: Uint8Array, members: Members, pointer: string, faults: Faults): string | undefined {
  const key = text(body, optional(members, "idempotency_key", "string", pointer, faults));
  if (key === undefined || isIdempotencyKey(key)) return key;
  faults.add(`${pointer}/idempotency_key`, "invalid_idempotency_key", "takes 1 to 255 visible ASCII characters");
  return undefined;
}

function createdAtOf(body: Uint8Array, members: Members, pointer: string, now: number, faults: Faults): number {
  const given = text(body, optional(members, "created_at", "string", pointer, faults));
  if (given === undefined) return now;
  const instant = parseInstant(given);
  const at = `${pointer}/created_at`;
  if (instant === null) faults.add(at, "invalid_type", "must be an RFC 3339 instant such as 2026-11-20T09:55:00.123Z");
  else if (instant > now + MAX_AHEAD_MS)
    faults.add(at, "out_of_range", "must not be more than 5 minutes in the future");
  return instant ?? now;
}

function field(members: Members, name: string, kind: JsonKind, pointer: string, faults: Faults): JsonNode | undefined {
  if (!members.has(name)) faults.add(`${pointer}/${name}`, "missing_field");
  return optional(members, name, kind, pointer, faults);
}

function optional(members: Members, name: string, kind: JsonKind, at: string, faults: Faults): JsonNode | undefined {
  const node = members.get(name);
  if (node === undefined || node.kind === kind) return node;
  faults.add(`${at}/${name}`, "invalid_type", `must be ${inWords(kind)}`);
  return undefined;
}

function text(body: Uint8Array, node: JsonNode | undefined): string | undefined {
  return node === undefined ? undefined : (parseSpan(body, node) as string);
}
