/** Reading deliveries and the attempts made for them, and making one now. */
import { WebhookdError } from "../domain/errors.ts";
import { isId } from "../domain/id.ts";
import { OUTCOMES } from "./schemas/attempt.ts";
import type { AttemptRequest, Page, Attempt } from "../store/store.ts";
import { endpointId } from "./endpoint-address.ts";
import { PERIOD, periodOf, RESULT, resultOf, Test, Type, linkTo, PAGE_PARAMETERS, pageOf } from "./pipeline/lists.ts";
import { requireNames } from "./pipeline/names.ts";
import {
  attemptDelivery,
  getAttempt,
  getDelivery,
  listDeliveries,
  listDeliveryAttempts,
  listEndpointAttempts,
} from "./operations/deliveries.ts";
import { choiceParameter, idParameter, severalParameter, type Query } from "./pipeline/query.ts";
import type { ApiParts } from "./parts.ts";
import { presentAttempt, presentDelivery } from "./present.ts";
import { damagedEndpoint, erased, notFound } from "./pipeline/problem.ts";
import { json, type Call, type Reply, type Route } from "./pipeline/route.ts";
import { DELIVERY_STATUSES } from "./schemas/delivery.ts";
import { namedTenant, TenantParameter, tenantToRead } from "./pipeline/access.ts";

const PATH = "/v1/webhooks/deliveries";

const Status = severalParameter("status", DELIVERY_STATUSES, "Only deliveries of this status.");
const Endpoint = idParameter("endpoint", "ep", "Only deliveries to this endpoint.");
const Event = idParameter("event", "evt", "Only deliveries of this event.");
const Outcome = choiceParameter("outcome", OUTCOMES, "Only attempts with this outcome.");

export function deliveryRoutes(parts: ApiParts): Route[] {
  const { store, deliveries } = parts;

  async function list({ principal, query }: Call): Promise<Reply> {
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

  async function shown(status: number, { principal, params, query }: Call): Promise<Reply> {
    const tenant = tenantToRead(principal, namedTenant(query));
    const delivery = await store.reads.getDelivery(tenant, idOf("dlv", params));
    if (delivery === null) throw notFound();
    return json(status, presentDelivery(delivery));
  }

  async function attemptNow(call: Call): Promise<Reply> {
    const { principal, params, query, now, request } = call;
    const tenant = tenantToRead(principal, namedTenant(query));
    const once = request && { ...request, answer: requestedText };
    const id = idOf("dlv", params);
    const delivery = await store.reads.getDelivery(tenant, id);
    const endpoint = delivery && (await store.endpoints.get(tenant, delivery.endpoint));
    if (endpoint?.damaged) throw damagedEndpoint(endpoint.damaged);
    const requested = await store.deliveries.requestAttempt(tenant, id, now, once);
    if (requested.result !== "requested") throw refusal(requested.result);
    deliveries.attempt(requested);
    return shown(202, call);
  }

  async function attempts({ principal, params, query }: Call): Promise<Reply> {
    const delivery = idOf("dlv", params);
    const page = await store.reads.listAttempts({
      ...pageOf(query, tenantToRead(principal, namedTenant(query))),
      delivery,
    });
    return attemptsReply(`${PATH}/${delivery}/attempts`, query, page);
  }

  async function attemptsOfEndpoint(call: Call): Promise<Reply> {
    const { principal, query } = call;
    const endpoint = await endpointId(store, call);
    const page = await store.reads.listEndpointAttempts({
      ...pageOf(query, tenantToRead(principal, namedTenant(query))),
      ...periodOf(query),
      ...resultOf(query),
      endpoint,
      outcome: Outcome.read(query),
      test: Test.read(query) ?? false,
    });
    return attemptsReply(`/v1/webhooks/${endpoint}/attempts`, query, page);
  }

  async function attempt({ principal, params, query }: Call): Promise<Reply> {
    const found = await store.reads.getAttempt(tenantToRead(principal, namedTenant(query)), idOf("att", params));
    if (found === null) throw notFound();
    return json(200, presentAttempt(found));
  }

  const one = [TenantParameter];
  return [
    {
      method: "GET",
      path: PATH,
      access: "read",
      query: [...PAGE_PARAMETERS, Status, Type, Endpoint, Event, ...RESULT, ...PERIOD, Test],
      operation: listDeliveries,
      handle: list,
    },
    {
      method: "GET",
      path: `${PATH}/:id`,
      access: "read",
      query: one,
      operation: getDelivery,
      handle: (call) => shown(200, call),
    },
    {
      method: "POST",
      path: `${PATH}/:id/attempt`,
      access: "manage",
      query: one,
      audit: "delivery.attempt",
      operation: attemptDelivery,
      // As the delivery is by now: what its receiver answered is kept in one place, where it can be erased.
      again: (call) => shown(202, call),
      handle: attemptNow,
    },
    {
      method: "GET",
      path: `${PATH}/:id/attempts`,
      access: "read",
      query: PAGE_PARAMETERS,
      operation: listDeliveryAttempts,
      handle: attempts,
    },
    {
      method: "GET",
      path: "/v1/webhooks/:id/attempts",
      access: "read",
      query: [...PAGE_PARAMETERS, Outcome, ...RESULT, ...PERIOD, Test],
      operation: listEndpointAttempts,
      handle: attemptsOfEndpoint,
    },
    {
      method: "GET",
      path: "/v1/webhooks/attempts/:id",
      access: "read",
      query: one,
      operation: getAttempt,
      handle: attempt,
    },
  ];
}

/** Null when what they would be of is not there. */
export function attemptsReply(path: string, query: Query, page: Page<Attempt> | null): Reply {
  if (page === null) throw notFound();
  const answer = { data: page.data.map(presentAttempt), next_cursor: page.nextCursor };
  return json(200, answer, linkTo(path, query, page.nextCursor));
}

function idOf(prefix: "dlv" | "att", { id = "" }: Call["params"]): string {
  if (!isId(prefix, id)) throw notFound();
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
