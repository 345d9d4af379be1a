/**
 * Limits keys that are for some endpoints only: they see those endpoints, their deliveries and attempts, and the parts
 * of events that concern them. Each route declares how it relates to endpoints, and only this file compares that with
 * the key. A route that declares nothing is closed to such keys. Everything else looks as if it did not exist.
 */
import { eventStatus } from "../../domain/deliveries/delivery.ts";
import { WebhookdError } from "../../domain/errors.ts";
import { isId } from "../../domain/id.ts";
import type { Job } from "../../domain/deliveries/job.ts";
import type { DeliveryView, EventSummary, EventView, Store } from "../../store/store.ts";
import { namedTenant, type Principal, tenantToRead } from "./access.ts";
import { validationFailed } from "./body.ts";
import { endpointId } from "./names.ts";
import { idParameter, invalidQuery, type Query } from "./query.ts";
import { notFound } from "./reply.ts";
import type { Call, Reach } from "./route.ts";

type Asked = Pick<Call, "principal" | "params" | "query" | "isAbout">;
type Reads = Pick<Store, "endpoints" | "jobs" | "reads">;

const Endpoint = idParameter("endpoint", "ep", "");
const Event = idParameter("event", "evt", "");
const UNKNOWN_ENDPOINT = "is not an endpoint that this key may see";
const UNKNOWN_EVENT = "is not an event that this key may see, or was removed";

/** Returns the query that the route should read. Throws as if things beyond the key's reach did not exist. */
export async function withinReach(store: Reads, reach: Reach | undefined, asked: Asked): Promise<Query> {
  const { principal, query } = asked;
  const { endpoints } = principal;
  if (endpoints === null || reach === "all") return query;
  if (reach === undefined) {
    throw new WebhookdError(
      "forbidden",
      "this key is limited to some endpoints, and the request is about more than those",
    );
  }
  if (reach === "filter" || reach === "own") return filtered(store, reach, asked, endpoints);
  if (!(await isWithin(store, reach, asked, endpoints))) throw notFound();
  return query;
}

async function filtered(
  store: Reads,
  reach: "filter" | "own",
  { principal, query }: Asked,
  endpoints: readonly string[],
) {
  const named = Endpoint.read(query);
  if (named !== undefined && !endpoints.includes(named)) {
    throw invalidQuery("endpoint", UNKNOWN_ENDPOINT, "unknown_endpoint");
  }
  const event = query.has("event") ? Event.read(query) : undefined;
  if (event !== undefined && (await deliveriesTo(store, tenantOf(principal, query), endpoints, event)).length === 0) {
    throw invalidQuery("event", UNKNOWN_EVENT, "unknown_event");
  }
  if (reach === "own" || named !== undefined) return query;
  const [only, ...others] = endpoints;
  if (others.length > 0) {
    throw invalidQuery("endpoint", "must be given, because this key is for several endpoints", "missing_field");
  }
  return new Map([...query, ["endpoint", only!]]);
}

async function isWithin(
  store: Reads,
  reach: Exclude<Reach, "filter" | "own" | "all">,
  asked: Asked,
  endpoints: readonly string[],
): Promise<boolean> {
  const { id = "" } = asked.params;
  const tenant = tenantOf(asked.principal, asked.query);
  const { reads } = store;
  switch (reach) {
    case "endpoint":
      return endpoints.includes(await endpointId(store, asked));
    case "delivery":
      return isId("dlv", id) && isOne(endpoints, await reads.getDelivery(tenant, id));
    case "attempt":
      return isId("att", id) && isOne(endpoints, await reads.getAttempt(tenant, id));
    case "event":
      return isId("evt", id) && (await deliveriesTo(store, tenant, endpoints, id)).length > 0;
    case "job": {
      const job = isId("job", id) ? await store.jobs.get(tenant, id) : null;
      return job !== null && isJobWithin(asked.principal, job);
    }
  }
}

function isOne(endpoints: readonly string[], of: { readonly endpoint: string } | null): boolean {
  return of !== null && endpoints.includes(of.endpoint);
}

function tenantOf(principal: Principal, query: Query): string | null {
  return tenantToRead(principal, namedTenant(query));
}

/** Returns the event's deliveries to these endpoints. Each endpoint has at most one. */
async function deliveriesTo(
  { reads }: Pick<Store, "reads">,
  tenant: string | null,
  endpoints: readonly string[],
  event: string,
): Promise<DeliveryView[]> {
  const order = "newest" as const;
  const pages = endpoints.map((endpoint) => reads.listDeliveries({ tenant, event, endpoint, limit: 1, order }));
  return (await Promise.all(pages)).flatMap(({ data }) => data);
}

export function isJobWithin({ endpoints }: Principal, { filter }: Pick<Job, "filter">): boolean {
  return endpoints === null || (filter.endpoint !== undefined && endpoints.includes(filter.endpoint));
}

/**
 * Returns the part of an event that the key may see. A portal link sees no tags, which may show what an operator thinks
 * of a customer. A key for only some endpoints does not see the event's other deliveries.
 */
export async function partOf<E extends EventSummary | EventView>(
  store: Pick<Store, "reads">,
  { isPortal, endpoints }: Pick<Principal, "isPortal" | "endpoints">,
  event: E,
): Promise<E> {
  const seen = isPortal ? { ...event, tags: [] } : event;
  if (endpoints === null) return seen;
  const deliveries = await deliveriesTo(store, event.tenant, endpoints, event.id);
  const part = { ...seen, status: eventStatus(deliveries.map(({ status }) => status)) };
  return "deliveries" in event ? { ...part, deliveries, deliveryCount: deliveries.length } : part;
}

/**
 * Returns the endpoint that a body names. Throws `validation_failed` with `pointer` if it is beyond the key's reach.
 */
export function endpointWithin(
  { endpoints }: Principal,
  named: string | undefined,
  pointer: string,
): string | undefined {
  if (endpoints === null) return named;
  const only = endpoints.length === 1 ? endpoints[0] : undefined;
  const meant = named ?? only;
  if (meant !== undefined && endpoints.includes(meant)) return meant;
  if (meant === undefined) {
    const detail = "must be given, because this key is for several endpoints";
    throw validationFailed([{ pointer, code: "missing_field", detail }]);
  }
  throw validationFailed([{ pointer, code: "unknown_endpoint", detail: UNKNOWN_ENDPOINT }]);
}
