/** Reading deliveries, and making an attempt of one now. */
import { WebhookdError } from "../../domain/errors.ts";
import { isId } from "../../domain/id.ts";
import type { AttemptRequest } from "../../store/store.ts";
import type { ApiParts } from "../parts.ts";
import { namedTenant, TenantParameter, tenantToRead } from "../pipeline/access.ts";
import { PERIOD, periodOf, RESULT, resultOf, Test, Type, linkTo, PAGE_PARAMETERS, pageOf } from "../pipeline/lists.ts";
import { requireNames } from "../pipeline/names.ts";
import { damagedEndpoint, erased, notFound } from "../pipeline/problem.ts";
import { idParameter, severalParameter } from "../pipeline/query.ts";
import { type Call, type Route } from "../pipeline/route.ts";
import { json, type Reply } from "../pipeline/reply.ts";
import { attemptDelivery, getDelivery, listDeliveries, presentDelivery, DELIVERY_STATUSES } from "./schemas.ts";

const PATH = "/v1/webhooks/deliveries";
const Status = severalParameter("status", DELIVERY_STATUSES, "Only deliveries with this status.");
const Endpoint = idParameter("endpoint", "ep", "Only deliveries to this endpoint.");
const Event = idParameter("event", "evt", "Only deliveries of this event.");

export function deliveryRoutes(parts: ApiParts): Route[] {
  const one = [TenantParameter];
  return [
    {
      method: "GET",
      path: PATH,
      access: "read",
      query: [...PAGE_PARAMETERS, Status, Type, Endpoint, Event, ...RESULT, ...PERIOD, Test],
      operation: listDeliveries,
      handle: (call) => list(parts, call),
    },
    {
      method: "GET",
      path: `${PATH}/:id`,
      access: "read",
      query: one,
      operation: getDelivery,
      handle: (call) => shown(parts, 200, call),
    },
    {
      method: "POST",
      path: `${PATH}/:id/attempt`,
      access: "manage",
      query: one,
      audit: "delivery.attempt",
      operation: attemptDelivery,
      // As the delivery is by now: what its receiver answered is kept in one place, where it can be erased.
      again: (call) => shown(parts, 202, call),
      handle: (call) => attemptNow(parts, call),
    },
  ];
}

async function list(parts: ApiParts, { principal, query }: Call): Promise<Reply> {
  const { store } = parts;
  const tenant = tenantToRead(principal, namedTenant(query));
  const names = { type: Type.read(query), endpoint: Endpoint.read(query), event: Event.read(query) };
  await requireNames(parts, tenant, names);
  const page = await store.reads.listDeliveries({
    ...pageOf(query, tenant),
    ...periodOf(query),
    ...resultOf(query),
    ...names,
    status: Status.read(query),
    test: Test.read(query) ?? false,
  });
  const answer = { data: page.data.map(presentDelivery), next_cursor: page.nextCursor };
  return json(200, answer, linkTo(PATH, query, page.nextCursor));
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

/** Nothing to remember of it but that it was done. */
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
        "it was delivered or cancelled, so there is nothing to attempt; a forced retry of its event sends a delivered one again",
      );
    case "endpoint_deleted":
      return new WebhookdError("endpoint_disabled", "its endpoint was deleted, so there is nowhere to send it");
  }
}
