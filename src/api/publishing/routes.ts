/** Routes that publish events. An event answered with 202 is durable. */
import { WebhookdError } from "../../domain/errors.ts";
import { type EventDraft, traceContext, type TraceContext } from "../../domain/events/event.ts";
import { IdempotencyMismatch, type Once } from "../../domain/events/idempotency.ts";
import type { Pieces } from "../../domain/json/json-token.ts";
import { formatInstant } from "../../domain/time/instant.ts";
import type { Publication } from "../../store/store.ts";
import type { ApiParts } from "../parts.ts";
import { namedTenant, oneTenant, TenantParameter, tenantToWrite } from "../pipeline/access.ts";
import { REPLAYED } from "../pipeline/repeats.ts";
import { type Call, type Route } from "../pipeline/route.ts";
import { jsonText, type Reply } from "../pipeline/reply.ts";
import { readBatch, readEvent, readLines, type DraftRules } from "./event-draft.ts";
import { publishBatch, publishEvent, eventBatch, eventDraft } from "./schemas.ts";

const MAX_BATCH_BYTES = 4 * 1024 * 1024;
const LINES = "application/x-ndjson";

export function publishRoutes(parts: ApiParts): Route[] {
  const { types } = parts.catalogue;
  const { maxEventBytes } = parts.config.server;

  async function one(call: Call): Promise<Reply> {
    await call.turn(call.body.length);
    const draft = readEvent(call.body, rulesFor(parts, call), call.idempotencyKey);
    call.carries([draft]);
    const [publication] = await publish(parts, [draft], call.now);
    return jsonText(202, publicationText(publication!), publication!.duplicate ? REPLAYED : undefined);
  }

  async function batch(call: Call): Promise<Reply> {
    const read = call.type === LINES ? readLines : readBatch;
    const drafts = await inTurns(call, read(call.body, rulesFor(parts, call)));
    call.carries(drafts);
    const once = call.request && { ...call.request, answer: batchText };
    try {
      return jsonText(202, batchText(await publish(parts, drafts, call.now, once)));
    } catch (error) {
      throw error instanceof IdempotencyMismatch ? mismatchOf(error) : error;
    }
  }

  return [
    {
      method: "POST",
      path: "/v1/webhooks/events",
      access: "publish",
      query: [TenantParameter],
      body: { maxBytes: maxEventBytes, metered: true, schema: eventDraft(types) },
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
      body: {
        maxBytes: MAX_BATCH_BYTES,
        metered: true,
        schema: eventBatch(types),
        types: ["application/json", LINES],
      },
      growth: { grows: 300, kept: "[retention] delivered and failed" },
      operation: publishBatch,
      again: (_call, remembered) => jsonText(202, remembered),
      handle: batch,
    },
  ];
}

function rulesFor({ catalogue, config }: ApiParts, { principal, query, headers, now }: Call): DraftRules {
  const ofQuery = namedTenant(query);
  const tenantFor: DraftRules["tenantFor"] = (named, pointer) =>
    tenantToWrite(principal, oneTenant(ofQuery, named, pointer));
  const { maxEventBytes, idempotency } = config.server;
  const { checkData, types } = catalogue;
  return { types, maxEventBytes, tenantFor, checkData, now, expiresAt: now + idempotency, trace: traceOf(headers) };
}

/** Lets other requests have their turn before each piece. */
async function inTurns<T>(call: Call, work: Pieces<T>): Promise<T> {
  for (let next = work.next(); ; next = work.next()) {
    if (next.done === true) return next.value;
    const turn = call.turn(next.value);
    if (turn !== null) await turn;
  }
}

/**
 * Commits the events, and gives their deliveries to the senders in the same turn of the event loop, so that nobody has
 * to read them again.
 */
export async function publish(
  { store, deliveries }: ApiParts,
  drafts: readonly EventDraft[],
  now: number,
  once?: Once<readonly Publication[]>,
): Promise<Publication[]> {
  const publications = await store.events.publish(drafts, now, deliveries.hasRoom, once);
  for (const publication of publications) deliveries.accept(publication);
  return publications;
}

/** Makes JSON. Ids and type names contain no character that needs escaping. */
export function publicationText(
  { id, type, createdAt, deliveries }: Pick<Publication, "id" | "type" | "createdAt" | "deliveries">,
  more = "",
): string {
  const what = `"id":"${id}","type":"${type}","created_at":"${formatInstant(createdAt)}"`;
  return `{${what},"delivery_count":${deliveries},"deliveries":${deliveries}${more}}`;
}

/** Node joins repeated headers with commas. That is a valid list for `tracestate`, and an invalid `traceparent`. */
function traceOf({ traceparent, tracestate }: Call["headers"]): TraceContext | undefined {
  if (traceparent === undefined) return undefined;
  return traceContext(String(traceparent), tracestate === undefined ? undefined : String(tracestate));
}

function batchText(publications: readonly Publication[]): string {
  const texts = publications.map((each) => publicationText(each, each.duplicate ? ',"duplicate":true' : ""));
  return `{"data":[${texts.join(",")}]}`;
}

function mismatchOf(error: IdempotencyMismatch): WebhookdError {
  if (error.index === null) return error;
  const pointer = `/events/${error.index}/idempotency_key`;
  const errors = [{ pointer, code: "invalid_idempotency_key" as const, detail: error.detail }];
  return new WebhookdError(error.code, error.detail, { errors });
}
