/** Reading attempts: those made for a delivery or to an endpoint, or one by its id. */
import { isId } from "../../domain/id.ts";
import type { Page, Attempt } from "../../store/store.ts";
import type { ApiParts } from "../parts.ts";
import { namedTenant, TenantParameter, tenantToRead } from "../pipeline/access.ts";
import { PERIOD, periodOf, RESULT, resultOf, Test, linkTo, PAGE_PARAMETERS, pageOf } from "../pipeline/lists.ts";
import { endpointId } from "../pipeline/names.ts";
import { notFound } from "../pipeline/problem.ts";
import { choiceParameter, type Query } from "../pipeline/query.ts";
import { type Call, type Route } from "../pipeline/route.ts";
import { json, type Reply } from "../pipeline/reply.ts";
import { OUTCOMES, getAttempt, listDeliveryAttempts, listEndpointAttempts, presentAttempt } from "./schemas.ts";

const Outcome = choiceParameter("outcome", OUTCOMES, "Only attempts with this outcome.");

export function attemptRoutes({ store }: ApiParts): Route[] {
  async function attempts({ principal, params, query }: Call): Promise<Reply> {
    const delivery = idOf("dlv", params);
    const page = await store.reads.listAttempts({
      ...pageOf(query, tenantToRead(principal, namedTenant(query))),
      delivery,
    });
    return attemptsReply(`/v1/webhooks/deliveries/${delivery}/attempts`, query, page);
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

  return [
    {
      method: "GET",
      path: "/v1/webhooks/deliveries/:id/attempts",
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
      query: [TenantParameter],
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
