/** Deliveries as callers see them (`docs/interface.md` §7), and the route that attempts one now. */
import * as v from "valibot";
import { WebhookdError } from "../../domain/errors.ts";
import { SHOWN_STATUSES } from "../../domain/deliveries/delivery.ts";
import type { Blocker } from "../../domain/deliveries/ordering.ts";
import { isId } from "../../domain/id.ts";
import { formatInstant, formatInstantOrNull } from "../../domain/time/instant.ts";
import type { AttemptRequest, DeliveryView } from "../../store/store.ts";
import type { ApiParts } from "../parts.ts";
import { namedTenant, TenantParameter, tenantToRead } from "../pipeline/access.ts";
import { callerOf, listParameters, listQuery, pageReply } from "../pipeline/lists.ts";
import { requireNames } from "../pipeline/names.ts";
import { damagedEndpoint, erased, json, notFound, type Reply } from "../pipeline/reply.ts";
import type { Call, Operation, Route } from "../pipeline/route.ts";
import { aPageOf, Count, described, id, Instant, pageSchema, Tenant, titled } from "../pipeline/shapes.ts";
import { anAttempt, Attempt, presentAttempt } from "./attempts.ts";

export const DeliveryStatus = described(
  v.picklist(SHOWN_STATUSES),
  "`held` is a pending delivery of a disabled endpoint: kept, not sent. `shadowed` is one that is never sent.",
);

export const Delivery = titled(
  "Delivery",
  v.object({
    id: id("dlv"),
    endpoint: id("ep"),
    status: DeliveryStatus,
    attempts: described(Count, "How many attempts have been made."),
    next_attempt_at: described(v.nullable(Instant), "Null unless it is pending."),
    sequence: described(
      v.nullable(Count),
      "The number in `webhook-sequence`, if it is delivered in order: it counts the deliveries of its endpoint and `ordering_key`. 0 if a job added it afterwards.",
    ),
    waits_behind: described(
      v.nullable(
        v.object({
          event: id("evt"),
          attempts: described(Count, "How many attempts have been made of that one."),
          next_attempt_at: described(v.nullable(Instant), "Null if it holds the key."),
          holds_key: described(
            v.boolean(),
            "It failed, and the endpoint has `after_failure` `hold`: replay or cancel it to go on.",
          ),
        }),
      ),
      "The event that goes before it, because it has the same `ordering_key`; null if none does.",
    ),
    last_attempt: v.nullable(Attempt),
  }),
);

/** A delivery shown outside its event, so it repeats some fields of the event and has its place on the ladder. */
export const WholeDelivery = titled(
  "WholeDelivery",
  v.object({
    ...Delivery.entries,
    event: id("evt"),
    type: v.string(),
    received_at: described(Instant, "When its event was committed. Lists are sorted by this."),
    tenant: Tenant,
    test: v.boolean(),
    round: described(Count, "1 at first; each replay adds one."),
    retry: described(
      v.nullable(Count),
      "The place of the next attempt on the ladder, 0 for the first of a round; null if there is none.",
    ),
  }),
);

export const DeliveryPage = pageSchema(WholeDelivery);

export const aDelivery = {
  id: anAttempt.delivery,
  endpoint: anAttempt.endpoint,
  status: "pending",
  attempts: 1,
  next_attempt_at: "2026-11-20T09:55:30.142Z",
  sequence: null,
  waits_behind: null,
  last_attempt: anAttempt,
};

export const aWholeDelivery = {
  ...aDelivery,
  event: anAttempt.event,
  type: "budget.exceeded",
  received_at: "2026-11-20T09:55:00.123Z",
  tenant: "default",
  test: false,
  round: 1,
  retry: 1,
};

export function presentDelivery(delivery: DeliveryView) {
  const { id, ...rest } = presentWithinEvent(delivery);
  return {
    id,
    event: delivery.event,
    type: delivery.type,
    received_at: formatInstant(delivery.receivedAt),
    tenant: delivery.tenant,
    test: delivery.test,
    round: delivery.round,
    retry: delivery.retry,
    ...rest,
  };
}

/** A delivery shown inside its event, so the event's fields are left out. */
export function presentWithinEvent(delivery: DeliveryView) {
  return {
    id: delivery.id,
    endpoint: delivery.endpoint,
    status: delivery.status,
    attempts: delivery.attempts,
    next_attempt_at: formatInstantOrNull(delivery.nextAttemptAt),
    sequence: delivery.sequence,
    waits_behind: delivery.behind && presentBlocker(delivery.behind),
    last_attempt: delivery.lastAttempt === null ? null : presentAttempt(delivery.lastAttempt),
  };
}

function presentBlocker({ event, attempts, nextAttemptAt, holdsKey }: Blocker) {
  return { event, attempts, next_attempt_at: formatInstantOrNull(nextAttemptAt), holds_key: holdsKey };
}

const params = { id: "dlv" };

export const listDeliveries: Operation = {
  id: "listDeliveries",
  tag: "Deliveries",
  summary: "List deliveries",
  description: "Sorted by when their events were received.",
  replies: {
    200: {
      description: "A page of deliveries.",
      schema: DeliveryPage,
      example: aPageOf(aWholeDelivery),
      headers: ["link"],
    },
  },
};

export const getDelivery: Operation = {
  id: "getDelivery",
  tag: "Deliveries",
  summary: "Get a delivery",
  description:
    "With its status, its place on the ladder, its next attempt, and the last attempt with the answer of the receiver.",
  params,
  replies: { 200: { description: "The delivery.", schema: WholeDelivery, example: aWholeDelivery } },
};

export const attemptDelivery: Operation = {
  id: "attemptDelivery",
  tag: "Deliveries",
  summary: "Make one attempt now",
  description:
    "The attempt is outside the ladder: a 2xx makes the delivery `delivered`; a failure leaves its rung, its due time and its status as they were. The attempt survives a restart, and asking again before it is made does not add a second one. If another attempt is already on the wire, the new one follows it, unless that one succeeds. A `held` delivery can be attempted too, to see if its receiver is back.",
  params,
  replies: { 202: { description: "The attempt will be made now.", schema: WholeDelivery, example: aWholeDelivery } },
  problems: ["delivery_settled", "endpoint_disabled", "endpoint_damaged", "gone"],
};

const PATH = "/v1/webhooks/deliveries";

export function deliveryRoutes(parts: ApiParts): Route[] {
  const one = [TenantParameter];
  return [
    {
      method: "GET",
      path: PATH,
      access: "read",
      reach: "filter",
      query: listParameters("deliveries"),
      operation: listDeliveries,
      handle: (call) => list(parts, call),
    },
    {
      method: "GET",
      path: `${PATH}/:id`,
      access: "read",
      reach: "delivery",
      query: one,
      operation: getDelivery,
      handle: (call) => shown(parts, 200, call),
    },
    {
      method: "POST",
      path: `${PATH}/:id/attempt`,
      access: "replay",
      reach: "delivery",
      query: one,
      audit: "delivery.attempt",
      growth: { grows: 250, kept: "[retention] delivered and failed and audit" },
      operation: attemptDelivery,
      // A repeat shows the delivery as it is now. The receiver's answer is stored in one place only, so that it can be
      // erased.
      again: (call) => shown(parts, 202, call),
      handle: (call) => attemptNow(parts, call),
    },
  ];
}

async function list(parts: ApiParts, call: Call): Promise<Reply> {
  const { store } = parts;
  const asked = listQuery("deliveries", call);
  await requireNames(parts, asked.tenant, asked);
  const page = await store.reads.listDeliveries(asked, callerOf(call));
  const items = page.data.map((item) => JSON.stringify(presentDelivery(item)));
  return pageReply(PATH, call.query, page, items);
}

async function shown({ store }: ApiParts, status: number, { principal, params, query }: Call): Promise<Reply> {
  const tenant = tenantToRead(principal, namedTenant(query));
  const delivery = await store.reads.getDelivery(tenant, idOf(params));
  if (delivery === null) throw notFound();
  return json(status, presentDelivery(delivery));
}

async function attemptNow(parts: ApiParts, call: Call): Promise<Reply> {
  const { store, deliveries } = parts;
  const { principal, params, query, now, request } = call;
  const tenant = tenantToRead(principal, namedTenant(query));
  const once = request && { ...request, answer: requestedText };
  const id = idOf(params);
  const delivery = await store.reads.getDelivery(tenant, id);
  const endpoint = delivery && (await store.endpoints.get(tenant, delivery.endpoint));
  if (endpoint?.damaged) throw damagedEndpoint(endpoint.damaged);
  const requested = await store.deliveries.requestAttempt(tenant, id, now, once);
  if (requested.result !== "requested") throw refusal(requested.result);
  deliveries.attempt(requested);
  return shown(parts, 202, call);
}

function idOf({ id = "" }: Call["params"]): string {
  if (!isId("dlv", id)) throw notFound();
  return id;
}

/** The text is empty, because a repeat only needs to know that the request was made. */
function requestedText({ result }: AttemptRequest): string | null {
  return result === "requested" ? "" : null;
}

function refusal(result: Exclude<AttemptRequest["result"], "requested">): WebhookdError {
  switch (result) {
    case "not_found":
      return notFound();
    case "gone":
      return erased();
    case "settled":
      return new WebhookdError(
        "delivery_settled",
        "it was delivered, cancelled or shadowed, so there is nothing to attempt; to send a delivered one again, replay its event with force",
      );
    case "behind":
      return new WebhookdError(
        "delivery_behind",
        "another event with its ordering key goes first; attempt, replay or cancel that one, which `why` names",
      );
    case "endpoint_deleted":
      return new WebhookdError("endpoint_disabled", "its endpoint was deleted, so there is nowhere to send it");
  }
}
