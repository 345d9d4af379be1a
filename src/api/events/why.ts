/** The route that says why an event arrived at an endpoint, or did not: `docs/interface.md` §3. */
import * as v from "valibot";
import type { KeptChoice } from "../../domain/endpoints/choice.ts";
import { WHEN_DISABLED } from "../../domain/endpoints/endpoint.ts";
import type { Decision } from "../../domain/events/filter/evaluate.ts";
import { REASON_CODES, reasonOf, sentenceOf, type Reason } from "../../domain/events/why.ts";
import { isId, receivedWithin, EVERY_TENANT } from "../../domain/id.ts";
import { formatInstant, formatInstantOrNull } from "../../domain/time/instant.ts";
import { FilterDecision, inOnePiece, presentDecisions } from "../endpoints/filter-test.ts";
import type { ApiParts } from "../parts.ts";
import { namedTenant, type Principal, TenantParameter, tenantToRead } from "../pipeline/access.ts";
import { idParameter, invalidQuery } from "../pipeline/query.ts";
import { json, notFound, type Reply } from "../pipeline/reply.ts";
import type { Call, Operation, Route } from "../pipeline/route.ts";
import { AnyObject, described, id, Instant, titled } from "../pipeline/shapes.ts";

const Endpoint = idParameter("endpoint", "ep", "The endpoint to explain it for; required. It may be a deleted one.");

export const Explanation = titled(
  "Explanation",
  v.object({
    event: id("evt"),
    endpoint: id("ep"),
    reason: described(
      v.picklist(REASON_CODES),
      "The first eight are about its delivery: `retrying` is due later, `waiting` is due and waits for its turn, `behind` waits for another event with its ordering key, `erased` was cancelled and its event erased. The next ones say why there is none. `unknown`: what would tell is not kept any more.",
    ),
    sentence: described(v.string(), "The answer in one sentence, for people. Its words may change."),
    at: described(
      v.nullable(Instant),
      "When it was delivered, failed or was erased, when it is due, or when the endpoint was registered or deleted; null for other reasons, and if it is not known.",
    ),
    delivery: described(v.nullable(id("dlv")), "The delivery; null if there is none."),
    decided: described(
      v.array(FilterDecision),
      "The conditions of the filter that decided; empty for any other reason, and if the event's data is gone.",
    ),
    choice: described(
      v.nullable(
        v.object({
          since: Instant,
          events: v.array(v.string()),
          filter: v.nullable(AnyObject),
          enabled: v.boolean(),
          when_disabled: v.picklist(WHEN_DISABLED),
        }),
      ),
      "What the endpoint had chosen when the event was published, if that is the reason; otherwise null.",
    ),
  }),
);

export const anExplanation = {
  event: "evt_06fbqxw6v8s2d4f6g8h0j2k4m6",
  endpoint: "ep_01m7w8bx02jeyjr53r14y5rmma",
  reason: "filtered",
  sentence: "The endpoint's filter did not take it: /data/amount/$gt fails, because /data/amount is 250.",
  at: null,
  delivery: null,
  decided: [{ pointer: "/data/amount/$gt", path: "/data/amount", found: "250", holds: false }],
  choice: {
    since: "2026-11-19T08:00:00.000Z",
    events: ["budget.*"],
    filter: { data: { amount: { $gt: 1000 } } },
    enabled: true,
    when_disabled: "hold",
  },
};

export const explainEvent: Operation = {
  id: "explainEvent",
  tag: "Events",
  summary: "Say why an event arrived at an endpoint, or did not",
  description:
    "The answer is about the event as it was published: what the endpoint chooses since then changes nothing about it.",
  params: { id: "evt" },
  replies: { 200: { description: "The reason.", schema: Explanation, example: anExplanation } },
};

export function whyRoutes(parts: ApiParts): Route[] {
  return [
    {
      method: "GET",
      path: "/v1/webhooks/events/:id/why",
      access: "read",
      reach: "event",
      query: [Endpoint, TenantParameter],
      operation: explainEvent,
      handle: (call) => why(parts, call),
    },
  ];
}

const NO_ENDPOINT = "is not an endpoint that this key may see, or was removed with its history";

async function why(parts: ApiParts, call: Call): Promise<Reply> {
  const { reads } = parts.store;
  const { principal, params, query, now } = call;
  const { id: event = "" } = params;
  if (!isId("evt", event)) throw notFound();
  const tenant = tenantToRead(principal, namedTenant(query));
  const isRemoved = mayBeRemoved(parts, event, now);
  const isThere = (await reads.unknownName(tenant, { event })) === null;
  if (!isThere && !isRemoved) throw notFound();
  const endpoint = Endpoint.read(query);
  if (endpoint === undefined) throw invalidQuery("endpoint", "must be given", "missing_field");
  const facts = isWithin(principal, endpoint) ? await reads.whyFacts(tenant, event, endpoint) : "no_endpoint";
  const isKnown = facts === "no_event" && (await reads.unknownName(tenant, { endpoint })) === null;
  if (facts === "no_endpoint" || (facts === "no_event" && !isKnown))
    throw invalidQuery("endpoint", NO_ENDPOINT, "unknown_endpoint");
  if (facts === "no_event") return json(200, present(event, endpoint, { code: "unknown", because: "event" }, null));
  // A filter may take long.
  const halted = haltedFor(parts, principal);
  const reason = await call.inPieces(inOnePiece(() => reasonOf(facts, { now, halted })));
  return json(200, present(event, endpoint, readable(reason, principal), facts.delivery?.id ?? null));
}

/** An id from before this was never made: it is a typing error. */
const OLDEST_MS = 10 * 365 * 86_400_000;

/** An event whose id says that it is old may have been here. Ids of other tenants' events look the same. */
function mayBeRemoved({ config: { retention } }: ApiParts, event: string, now: number): boolean {
  const periods = [retention.delivered, retention.failed].filter((period) => period > 0);
  const age = now - Date.parse(receivedWithin(event.slice("evt_".length)).since);
  return age > Math.min(...periods, Number.POSITIVE_INFINITY) && age < OLDEST_MS;
}

function isWithin({ endpoints }: Principal, endpoint: string): boolean {
  return endpoints === null || endpoints.includes(endpoint);
}

/** The details are for those who may read the status. */
function haltedFor({ deliveries }: ApiParts, { tenant }: Principal): string | null {
  const halt = deliveries.halts.find(({ reason }) => reason !== "shortage");
  if (halt === undefined) return null;
  return tenant === EVERY_TENANT ? halt.detail : "sending has stopped";
}

/** A customer does not see the tags of events. */
function readable(reason: Reason, { isPortal }: Principal): Reason {
  if (!isPortal || reason.code !== "filtered" || reason.decided === null) return reason;
  return { ...reason, decided: reason.decided.filter(({ path }) => !/^\/tags(?:\/|$)/.test(path)) };
}

function present(event: string, endpoint: string, reason: Reason, delivery: string | null) {
  const decided: readonly Decision[] = reason.code === "filtered" ? (reason.decided ?? []) : [];
  return {
    event,
    endpoint,
    reason: reason.code,
    sentence: sentenceOf(reason),
    at: formatInstantOrNull("at" in reason ? reason.at : null),
    delivery,
    decided: presentDecisions(decided),
    choice: "choice" in reason ? presentChoice(reason.choice) : null,
  } satisfies v.InferInput<typeof Explanation>;
}

function presentChoice({ at, events, filter, enabled, whenDisabled }: KeptChoice) {
  return { since: formatInstant(at), events: [...events], filter, enabled, when_disabled: whenDisabled };
}
