/** Reading events, and sending the failed ones again. */
import * as v from "valibot";
import { WebhookdError } from "../../domain/errors.ts";
import { isId } from "../../domain/id.ts";
import type { EventQuery, EventView, LeftAlone, Replay, EventSummary } from "../../store/store.ts";
import { attemptsReply } from "../attempts/routes.ts";
import { listEventAttempts } from "../attempts/schemas.ts";
import type { ApiParts } from "../parts.ts";
import { namedTenant, TenantParameter, tenantToRead } from "../pipeline/access.ts";
import { PERIOD, periodOf, RESULT, resultOf, Test, Type, linkTo, PAGE_PARAMETERS, pageOf } from "../pipeline/lists.ts";
import { OwedTo, requireNames, requireOwed } from "../pipeline/names.ts";
import { erased, notFound } from "../pipeline/problem.ts";
import { idParameter, severalParameter, textParameter, type Query } from "../pipeline/query.ts";
import { type Call, type Route } from "../pipeline/route.ts";
import { jsonText, type Reply } from "../pipeline/reply.ts";
import { described } from "../pipeline/shapes.ts";
import { readJson } from "../pipeline/validation.ts";
import { EVENT_STATUSES, getEvent, listEvents, replayEvent, eventText, pageText, type EventParts } from "./schemas.ts";

const PATH = "/v1/webhooks/events";
const WHOLE: EventParts = { data: true, deliveries: true };

const Status = severalParameter(
  "status",
  EVENT_STATUSES,
  "Only events with this status; with `endpoint`, the status of that delivery.",
);
const DeliveredTo = idParameter("endpoint", "ep", "Only events with a delivery to this endpoint.");
const Include = textParameter(
  "include",
  "What to add to the summary of each event: `data`, `deliveries` or `data,deliveries`.",
  /^(?:data|deliveries)(?:,(?:data|deliveries))*$/,
  "must be data, deliveries or data,deliveries",
);
const FILTERS = [Status, Type, DeliveredTo, ...RESULT, ...PERIOD, Test, Include];

const RetryBody = v.strictObject({
  endpoint: v.optional(described(OwedTo, "Only the delivery to this endpoint.")),
  force: v.optional(described(v.boolean(), "Also send those again that were delivered.")),
});

export function eventRoutes(parts: ApiParts): Route[] {
  return [
    {
      method: "GET",
      path: PATH,
      access: "read",
      query: [...PAGE_PARAMETERS, ...FILTERS],
      operation: listEvents,
      handle: (call) => list(parts, call),
    },
    {
      method: "GET",
      path: `${PATH}/:id`,
      access: "read",
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
      access: "manage",
      query: [TenantParameter],
      body: { maxBytes: 64 * 1024, schema: RetryBody, optional: true },
      audit: "event.retry",
      operation: replayEvent,
      again: (call, remembered) => retriedBefore(parts, call, remembered),
      handle: (call) => retry(parts, call),
    },
  ];
}

async function list(parts: ApiParts, { principal, query }: Call): Promise<Reply> {
  const { store } = parts;
  const include = included(query);
  const asked = eventQuery(query, tenantToRead(principal, namedTenant(query)));
  await requireNames(parts, asked.tenant, { type: asked.type, endpoint: asked.endpoint });
  const page = await store.reads.listEvents(asked);
  const whole = (event: EventSummary) => store.reads.getEvent(event.tenant, event.id);
  const events = include === null ? page.data : await Promise.all(page.data.map(whole));
  // An event may have been removed since the page was read.
  const texts = events.flatMap((event) => (event === null ? [] : eventText(event, include ?? WHOLE)));
  return jsonText(200, pageText(texts, page), linkTo(PATH, query, page.nextCursor));
}

async function show(parts: ApiParts, { principal, params, query }: Call): Promise<Reply> {
  const event = await found(parts, tenantToRead(principal, namedTenant(query)), eventId(params));
  return jsonText(200, eventText(event, WHOLE));
}

async function attempts({ store }: ApiParts, { principal, params, query }: Call): Promise<Reply> {
  const event = eventId(params);
  const tenant = tenantToRead(principal, namedTenant(query));
  const page = await store.reads.listAttempts({ ...pageOf(query, tenant), event });
  return attemptsReply(`${PATH}/${event}/attempts`, query, page);
}

async function retry(parts: ApiParts, { principal, params, query, body, now, request }: Call): Promise<Reply> {
  const { store, deliveries } = parts;
  const id = eventId(params);
  const scope = body.length === 0 ? {} : readJson(body, RetryBody);
  const tenant = tenantToRead(principal, namedTenant(query));
  const once = request && { ...request, answer: leftAloneText };
  const replay = await store.events.replay(tenant, id, scope, now, once);
  if (replay.result === "endpoint_disabled") throw onlyDisabled(replay.left);
  if (replay.result === "gone") throw erased();
  if (replay.result === "not_found") throw notFound();
  if (replay.result !== "replayed") {
    await requireOwed(store, tenant, id, scope.endpoint);
    throw notFailed(await found(parts, tenant, id));
  }
  deliveries.accept({ fresh: [], waiting: replay.waiting });
  const event = await found(parts, tenant, id);
  return jsonText(202, eventText(event, WHOLE, { left_alone: replay.left }));
}

/** As the event is by now: its data is kept in one place, where it can be erased. */
async function retriedBefore(parts: ApiParts, { principal, params, query }: Call, leftAlone: string): Promise<Reply> {
  const event = await found(parts, tenantToRead(principal, namedTenant(query)), eventId(params));
  return jsonText(202, eventText(event, WHOLE, { left_alone: JSON.parse(leftAlone) as LeftAlone[] }));
}

async function found({ store }: ApiParts, tenant: string | null, id: string): Promise<EventView> {
  const event = await store.reads.getEvent(tenant, id);
  if (event === null) throw notFound();
  return event;
}

function eventId({ id = "" }: Call["params"]): string {
  if (!isId("evt", id)) throw notFound();
  return id;
}

function eventQuery(query: Query, tenant: string | null): EventQuery {
  return {
    ...pageOf(query, tenant),
    ...periodOf(query),
    ...resultOf(query),
    status: Status.read(query),
    type: Type.read(query),
    endpoint: DeliveredTo.read(query),
    test: Test.read(query) ?? false,
  };
}

function included(query: Query): EventParts | null {
  const names = Include.read(query)?.split(",");
  return names === undefined ? null : { data: names.includes("data"), deliveries: names.includes("deliveries") };
}

function notFailed({ deliveries }: EventView): WebhookdError {
  const detail =
    deliveries.length === 0
      ? "no endpoint had chosen its type when it was published: it has no deliveries to send again"
      : "none of its deliveries in scope has failed; force sends delivered ones too";
  return new WebhookdError("event_not_failed", detail);
}

function leftAloneText(replay: Replay): string | null {
  return replay.result === "replayed" ? JSON.stringify(replay.left) : null;
}

function onlyDisabled(left: readonly LeftAlone[]): WebhookdError {
  const endpoints = [...new Set(left.map(({ endpoint }) => endpoint))].join(", ");
  return new WebhookdError(
    "endpoint_disabled",
    `what failed is only owed to disabled or deleted endpoints: ${endpoints}`,
  );
}
