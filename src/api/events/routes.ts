/**
 * Routes that read events, replay their failed deliveries, cancel their pending ones, and erase their data.
 */
import * as v from "valibot";
import { WebhookdError } from "../../domain/errors.ts";
import { isId } from "../../domain/id.ts";
import type { EventSummary, EventView, LeftAlone, Page, Replay, Withdrawal } from "../../store/store.ts";
import { attemptsReply, listEventAttempts } from "../deliveries/attempts.ts";
import type { ApiParts } from "../parts.ts";
import { namedTenant, TenantParameter, tenantToRead } from "../pipeline/access.ts";
import { callerOf, listParameters, listQuery, PAGE_PARAMETERS, pageOf, pageReply } from "../pipeline/lists.ts";
import { EndpointWithDelivery, requireNames, requireDelivery } from "../pipeline/names.ts";
import { endpointWithin, partOf } from "../pipeline/reach.ts";
import { type Query, textParameter } from "../pipeline/query.ts";
import { erased, jsonText, NO_CONTENT, notFound, type Reply } from "../pipeline/reply.ts";
import type { Call, Route } from "../pipeline/route.ts";
import { described } from "../pipeline/shapes.ts";
import { readJson } from "../pipeline/body.ts";
import { cancelEvent, eraseEvent, type EventParts, eventText, getEvent, listEvents, replayEvent } from "./schemas.ts";
import { wholeEvents } from "./whole-events.ts";

const PATH = "/v1/webhooks/events";
const WHOLE: EventParts = { data: true, deliveries: true };
const SUMMARY: EventParts = { data: false, deliveries: false };

const Include = textParameter(
  "include",
  "What to add to the summary of each event: `data`, `deliveries` or `data,deliveries`.",
  /^(?:data|deliveries)(?:,(?:data|deliveries))*$/,
  "must be data, deliveries or data,deliveries",
);

const RetryBody = v.strictObject({
  endpoint: v.optional(described(EndpointWithDelivery, "Only the delivery to this endpoint.")),
  force: v.optional(described(v.boolean(), "Also replay `delivered` deliveries.")),
});

const CancelBody = v.strictObject({
  endpoint: v.optional(described(EndpointWithDelivery, "Only the delivery to this endpoint.")),
});

export function eventRoutes(parts: ApiParts): Route[] {
  return [
    {
      method: "GET",
      path: PATH,
      access: "read",
      reach: "filter",
      query: [...listParameters("events"), Include],
      operation: listEvents,
      handle: (call) => list(parts, call),
    },
    {
      method: "GET",
      path: `${PATH}/:id`,
      access: "read",
      reach: "event",
      query: [TenantParameter],
      operation: getEvent,
      handle: (call) => show(parts, call),
    },
    {
      method: "GET",
      path: `${PATH}/:id/attempts`,
      access: "read",
      query: PAGE_PARAMETERS,
      operation: listEventAttempts,
      handle: (call) => attempts(parts, call),
    },
    {
      method: "POST",
      path: `${PATH}/:id/retry`,
      access: "replay",
      reach: "event",
      query: [TenantParameter],
      body: { maxBytes: 64 * 1024, schema: RetryBody, optional: true },
      audit: "event.retry",
      growth: { grows: 250, kept: "[retention] audit" },
      operation: replayEvent,
      again: (call, remembered) => retriedBefore(parts, call, remembered),
      handle: (call) => retry(parts, call),
    },
  ];
}

async function list(parts: ApiParts, call: Call): Promise<Reply> {
  const { principal, query } = call;
  const { store } = parts;
  const include = included(query);
  const asked = listQuery("events", call);
  await requireNames(parts, asked.tenant, { type: asked.type, endpoint: asked.endpoint });
  const page: Page<EventSummary | EventView> = await (include === null
    ? store.reads.listEvents(asked, callerOf(call))
    : wholeEvents(parts, asked, callerOf(call)));
  // A key for only some endpoints must name the endpoint.
  const asking = { ...principal, endpoints: principal.endpoints && [asked.endpoint!] };
  const seen = await Promise.all(page.data.map((event) => partOf(store, asking, event)));
  const texts = seen.map((event) => eventText(event, include ?? WHOLE));
  return pageReply(PATH, query, page, texts);
}

async function show(parts: ApiParts, call: Call): Promise<Reply> {
  const event = await found(parts, call);
  return jsonText(200, eventText(event, WHOLE));
}

async function attempts({ store }: ApiParts, call: Call): Promise<Reply> {
  const { principal, params, query } = call;
  const event = eventId(params);
  const tenant = tenantToRead(principal, namedTenant(query));
  const page = await store.reads.listAttempts({ ...pageOf(query, tenant), event }, callerOf(call));
  return attemptsReply(`${PATH}/${event}/attempts`, query, page);
}

async function retry(parts: ApiParts, call: Call): Promise<Reply> {
  const { store, deliveries } = parts;
  const { principal, params, query, body, now, request } = call;
  const id = eventId(params);
  const given = body.length === 0 ? {} : readJson(body, RetryBody);
  const endpoint = endpointWithin(principal, given.endpoint, "/endpoint");
  const scope = { ...given, ...(endpoint !== undefined && { endpoint }) };
  const tenant = tenantToRead(principal, namedTenant(query));
  const once = request && { ...request, answer: leftAloneText };
  const replay = await store.events.replay(tenant, id, scope, now, once);
  if (replay.result === "endpoint_disabled") throw onlyDisabled(replay.left);
  if (replay.result === "gone") throw erased();
  if (replay.result === "not_found") throw notFound();
  if (replay.result !== "replayed") {
    await requireDelivery(store, tenant, id, scope.endpoint);
    throw notFailed(await found(parts, call), scope);
  }
  deliveries.replayed(replay.waiting);
  return jsonText(202, eventText(await found(parts, call), WHOLE, { left_alone: replay.left }));
}

/** A repeat shows the event as it is now. Its data is stored in one place only, so that it can be erased. */
async function retriedBefore(parts: ApiParts, call: Call, leftAlone: string): Promise<Reply> {
  const event = await found(parts, call);
  return jsonText(202, eventText(event, WHOLE, { left_alone: JSON.parse(leftAlone) as LeftAlone[] }));
}

/** Returns the event without the parts that the key may not see. */
async function found({ store }: Pick<ApiParts, "store">, { principal, params, query }: Call): Promise<EventView> {
  const event = await store.reads.getEvent(tenantToRead(principal, namedTenant(query)), eventId(params));
  if (event === null) throw notFound();
  return partOf(store, principal, event);
}

function eventId({ id = "" }: Call["params"]): string {
  if (!isId("evt", id)) throw notFound();
  return id;
}

function included(query: Query): EventParts | null {
  const names = Include.read(query)?.split(",");
  return names === undefined ? null : { data: names.includes("data"), deliveries: names.includes("deliveries") };
}

function notFailed(
  { deliveries }: EventView,
  { endpoint, force = false }: { readonly endpoint?: string; readonly force?: boolean },
): WebhookdError {
  const selected = deliveries.filter((delivery) => endpoint === undefined || delivery.endpoint === endpoint);
  const detail =
    deliveries.length === 0
      ? "no endpoint had chosen its type when it was published: it has no deliveries to replay"
      : selected.every(({ status }) => status === "cancelled")
        ? "the selected deliveries were cancelled, and what is cancelled is never sent again"
        : selected.every(({ status }) => status === "shadowed" || status === "cancelled")
          ? "the selected deliveries were shadowed or cancelled, so nothing is sent for them"
          : force
            ? "none of the selected deliveries has ended: only those that failed or were delivered can be replayed"
            : "none of the selected deliveries has failed; use force to replay delivered ones too";
  return new WebhookdError("event_not_failed", detail);
}

function leftAloneText(replay: Replay): string | null {
  return replay.result === "replayed" ? JSON.stringify(replay.left) : null;
}

function onlyDisabled(left: readonly LeftAlone[]): WebhookdError {
  const endpoints = [...new Set(left.map(({ endpoint }) => endpoint))].join(", ");
  return new WebhookdError(
    "endpoint_disabled",
    `all its failed deliveries go to disabled or deleted endpoints: ${endpoints}`,
  );
}

export function withdrawalRoutes({ store, deliveries }: ApiParts): Route[] {
  async function cancel(call: Call): Promise<Reply> {
    const [tenant, id] = whose(call);
    const scope = call.body.length === 0 ? {} : readJson(call.body, CancelBody);
    const endpoint = endpointWithin(call.principal, scope.endpoint, "/endpoint");
    const cancelled = await withdrawn(store.events.cancel(tenant, id, endpoint ?? null));
    if (cancelled === 0) await requireDelivery(store, tenant, id, endpoint);
    const reply = await asItIs(call, cancelled);
    // Remember only the number. The publisher's id is stored in one place only, so that it can be erased.
    if (call.request !== undefined) await store.idempotency.remember(call.request, String(cancelled));
    return reply;
  }

  async function asItIs(call: Call, cancelled: number): Promise<Reply> {
    return jsonText(200, eventText(await found({ store }, call), SUMMARY, { cancelled }));
  }

  async function erase(call: Call): Promise<Reply> {
    await withdrawn(store.events.erase(...whose(call), call.now));
    return NO_CONTENT;
  }

  /** Answers only once no further attempt for the event can start. */
  async function withdrawn(done: Promise<Withdrawal>): Promise<number> {
    const withdrawal = await done;
    if (withdrawal.result === "not_found") throw notFound();
    await deliveries.withdraw(withdrawal.deliveries);
    return withdrawal.cancelled;
  }

  return [
    {
      method: "POST",
      path: `${PATH}/:id/cancel`,
      access: "manage",
      reach: "event",
      query: [TenantParameter],
      body: { maxBytes: 64 * 1024, schema: CancelBody, optional: true },
      audit: "event.cancel",
      growth: { grows: 250, kept: "[retention] audit" },
      operation: cancelEvent,
      again: (call, cancelled) => asItIs(call, Number(cancelled)),
      handle: cancel,
    },
    {
      method: "DELETE",
      path: `${PATH}/:id/data`,
      access: "manage",
      query: [TenantParameter],
      audit: "event.erase",
      growth: { grows: 250, kept: "[retention] audit" },
      operation: eraseEvent,
      handle: erase,
    },
  ];
}

function whose({ principal, params, query }: Call): [tenant: string | null, id: string] {
  const id = eventId(params);
  return [tenantToRead(principal, namedTenant(query)), id];
}
