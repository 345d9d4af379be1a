/** Routes that publish events. An event answered with 202 is durable. */
import { WebhookdError } from "../../domain/errors.ts";
import { deprecationOf } from "../../domain/events/catalogue.ts";
import { type EventDraft, traceContext, type TraceContext } from "../../domain/events/event.ts";
import { IdempotencyMismatch } from "../../domain/events/idempotency.ts";
import type { Pieces } from "../../domain/json/json-token.ts";
import { formatInstant } from "../../domain/time/instant.ts";
import type { Publication } from "../../store/store.ts";
import type { ApiParts } from "../parts.ts";
import { namedTenant, oneTenant, TenantParameter, tenantToWrite } from "../pipeline/access.ts";
import { Faults, validationFailed } from "../pipeline/body.ts";
import { REPLAYED } from "../pipeline/repeats.ts";
import { type Call, type Route } from "../pipeline/route.ts";
import { type Header, jsonText, type Reply } from "../pipeline/reply.ts";
import { publish } from "./publish.ts";
import { BATCHED, readBatched, readBinary, readStructured, STRUCTURED } from "./cloud-event.ts";
import { readBatch, readEvent, readLines, type DraftRules } from "./event-draft.ts";
import { publishBatch, publishEvent, eventBatch, eventDraft } from "./schemas.ts";

const MAX_BATCH_BYTES = 4 * 1024 * 1024;
const LINES = "application/x-ndjson";
/** The media types of a publish of one event, and of many. */
const [OF_ONE, OF_MANY] = [
  ["application/json", STRUCTURED],
  ["application/json", LINES, BATCHED],
];

export function publishRoutes(parts: ApiParts): Route[] {
  const { types } = parts.catalogue;
  const { maxEventBytes } = parts.config.server;

  async function one(call: Call): Promise<Reply> {
    await call.turn(call.body.length);
    const rules = rulesFor(parts, call);
    const draft = readOne(call, rules);
    call.carries([draft]);
    const [publication] = await publish(parts, [draft], call);
    const text = publicationText(publication!, warningsText(rules));
    return jsonText(202, text, deprecationHeaders(parts, [draft], publication!.duplicate ? REPLAYED : undefined));
  }

  async function batch(call: Call): Promise<Reply> {
    const rules = rulesFor(parts, call);
    const drafts = await inTurns(call, readerOf(call)(call.body, rules));
    call.carries(drafts);
    const text = (publications: readonly Publication[]) => batchText(publications, warningsText(rules));
    const once = call.request && { ...call.request, answer: text };
    try {
      return jsonText(202, text(await publish(parts, drafts, call, once)), deprecationHeaders(parts, drafts));
    } catch (error) {
      throw error instanceof IdempotencyMismatch ? mismatchOf(error, call) : error;
    }
  }

  return [
    {
      method: "POST",
      path: "/v1/webhooks/events",
      access: "publish",
      query: [TenantParameter],
      body: { maxBytes: maxEventBytes, metered: true, schema: eventDraft(types), types: OF_ONE },
      growth: { grows: 300, kept: "[retention] delivered and failed" },
      operation: publishEvent,
      again: "itself",
      handle: one,
    },
    {
      method: "POST",
      path: "/v1/webhooks/events/batch",
      access: "publish",
      query: [TenantParameter],
      body: { maxBytes: MAX_BATCH_BYTES, metered: true, schema: eventBatch(types), types: OF_MANY },
      growth: { grows: 300, kept: "[retention] delivered and failed" },
      operation: publishBatch,
      again: (_call, remembered) => jsonText(202, remembered),
      handle: batch,
    },
  ];
}

function readerOf({ type }: Call): typeof readBatch {
  if (type === LINES) return readLines;
  return type === BATCHED ? readBatched : readBatch;
}

/**
 * A CloudEvent has its own idempotency key, so one that is sent alone cannot have that of a request too. The key of a
 * batch is that of the request, and every event in it keeps its own.
 */
function readOne({ type, body, headers, idempotencyKey }: Call, rules: DraftRules): EventDraft {
  if (type !== STRUCTURED && headers["ce-specversion"] === undefined) return readEvent(body, rules, idempotencyKey);
  if (idempotencyKey !== undefined) {
    const detail = "a CloudEvent has its own idempotency key, its source and id: leave out the header Idempotency-Key";
    throw validationFailed([{ pointer: "", code: "conflicting_fields", detail }]);
  }
  return type === STRUCTURED ? readStructured(body, rules) : readBinary(body, headers, rules);
}

function rulesFor({ catalogue, config }: ApiParts, { principal, query, headers, now }: Call): DraftRules {
  const ofQuery = namedTenant(query);
  const tenantFor: DraftRules["tenantFor"] = (named, pointer) =>
    tenantToWrite(principal, oneTenant(ofQuery, named, pointer));
  const { maxEventBytes, idempotency } = config.server;
  const { checkData, types } = catalogue;
  const warnings = checkData && new Faults();
  const trace = traceOf(headers);
  return { types, maxEventBytes, tenantFor, checkData, warnings, now, expiresAt: now + idempotency, trace };
}

/** Returns the member of an answer that lists the faults of types that only warn, or "" if there are none. */
function warningsText({ warnings }: DraftRules): string {
  return warnings?.some === true ? `,"warnings":${JSON.stringify(warnings.all)}` : "";
}

/** Warns publishers of deprecated types (RFC 9745 and RFC 8594). Each link names one of the types. */
function deprecationHeaders(
  { catalogue }: ApiParts,
  drafts: readonly EventDraft[],
  more?: readonly Header[],
): readonly Header[] | undefined {
  if (!catalogue.hasDeprecated) return more;
  const deprecation = deprecationOf(
    catalogue.types,
    drafts.map(({ type }) => type),
  );
  if (deprecation === null) return more;
  const { since, sunsetAt, names } = deprecation;
  const links = names.map((name) => `</v1/webhooks/event-types/${name}>; rel="deprecation"; type="application/json"`);
  return [
    ...(more ?? []),
    ["deprecation", `@${Math.floor(since / 1000)}`],
    ...(sunsetAt === null ? [] : [["sunset", new Date(sunsetAt).toUTCString()] as const]),
    ["link", links.join(", ")],
  ];
}

/** Lets other requests have their turn before each piece. */
async function inTurns<T>(call: Call, work: Pieces<T>): Promise<T> {
  for (let next = work.next(); ; next = work.next()) {
    if (next.done === true) return next.value;
    const turn = call.turn(next.value);
    if (turn !== null) await turn;
  }
}

/** Makes JSON. Ids and type names contain no character that needs escaping. */
export function publicationText(
  { id, type, createdAt, deliveries }: Pick<Publication, "id" | "type" | "createdAt" | "deliveries">,
  more = "",
): string {
  const what = `"id":"${id}","type":"${type}","created_at":"${formatInstant(createdAt)}"`;
  return `{${what},"delivery_count":${deliveries}${more}}`;
}

/**
 * Node joins repeated headers with commas. The result is a valid list for `tracestate`, but an invalid `traceparent`.
 */
function traceOf({ traceparent, tracestate }: Call["headers"]): TraceContext | undefined {
  if (traceparent === undefined) return undefined;
  return traceContext(String(traceparent), tracestate === undefined ? undefined : String(tracestate));
}

function batchText(publications: readonly Publication[], more: string): string {
  const texts = publications.map((each) => publicationText(each, each.duplicate ? ',"duplicate":true' : ""));
  return `{"data":[${texts.join(",")}]${more}}`;
}

function mismatchOf(error: IdempotencyMismatch, { type }: Call): WebhookdError {
  if (error.index === null) return error;
  const pointer = type === BATCHED ? `/${error.index}/id` : `/events/${error.index}/idempotency_key`;
  const errors = [{ pointer, code: "invalid_idempotency_key" as const, detail: error.detail }];
  return new WebhookdError(error.code, error.detail, { errors });
}
