/** Reading deliveries and the attempts made for them. */
import { isId } from "../domain/id.ts";
import type { Attempt, Page } from "../store/store.ts";
import { PERIOD, periodOf, RESULT, resultOf, Test, Type } from "./filters.ts";
import {
  getAttempt,
  getDelivery,
  listDeliveries,
  listDeliveryAttempts,
  listEndpointAttempts,
} from "./operations/deliveries.ts";
import { choiceParameter, idParameter, type Query } from "./parameter.ts";
import type { ApiParts } from "./parts.ts";
import { presentAttempt, presentDelivery } from "./present.ts";
import { notFound } from "./problem.ts";
import { linkTo, PAGE_PARAMETERS, pageOf } from "./query.ts";
import { json, type Call, type Reply, type Route } from "./route.ts";
import { OUTCOMES } from "./schemas/attempt.ts";
import { DELIVERY_STATUSES } from "./schemas/delivery.ts";
import { namedTenant, TenantParameter, tenantToRead } from "./tenant.ts";

const PATH = "/v1/webhooks/deliveries";

const Status = choiceParameter("status", DELIVERY_STATUSES, "Only deliveries of this status.");
const Endpoint = idParameter("endpoint", "ep", "Only deliveries to this endpoint.");
const Event = idParameter("event", "evt", "Only deliveries of this event.");
const Outcome = choiceParameter("outcome", OUTCOMES, "Only attempts with this outcome.");

export function deliveryRoutes({ store }: ApiParts): Route[] {
  async function list({ principal, query }: Call): Promise<Reply> {
    const page = await store.listDeliveries({
      ...pageOf(query, tenantToRead(principal, namedTenant(query))),
      ...periodOf(query),
      ...resultOf(query),
      status: Status.read(query),
      type: Type.read(query),
      endpoint: Endpoint.read(query),
      event: Event.read(query),
      test: Test.read(query) ?? false,
    });
    const answer = { data: page.data.map(presentDelivery), next_cursor: page.nextCursor };
    return json(200, answer, linkTo(PATH, query, page.nextCursor));
  }

  async function get({ principal, params, query }: Call): Promise<Reply> {
    const tenant = tenantToRead(principal, namedTenant(query));
    const delivery = await store.getDelivery(tenant, idOf("dlv", params));
    if (delivery === null) throw notFound();
    return json(200, presentDelivery(delivery));
  }

  async function attempts({ principal, params, query }: Call): Promise<Reply> {
    const delivery = idOf("dlv", params);
    const page = await store.listAttempts({ ...pageOf(query, tenantToRead(principal, namedTenant(query))), delivery });
    return attemptsReply(`${PATH}/${delivery}/attempts`, query, page);
  }

  async function attemptsOfEndpoint({ principal, params, query }: Call): Promise<Reply> {
    const endpoint = idOf("ep", params);
    const page = await store.listEndpointAttempts({
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
    const found = await store.getAttempt(tenantToRead(principal, namedTenant(query)), idOf("att", params));
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
    { method: "GET", path: `${PATH}/:id`, access: "read", query: one, operation: getDelivery, handle: get },
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

function idOf(prefix: "dlv" | "ep" | "att", { id = "" }: Call["params"]): string {
  if (!isId(prefix, id)) throw notFound();
  return id;
}
