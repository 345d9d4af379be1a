/**
 * Attempts as callers see them (`docs/interface.md` §7): the attempts of a delivery or an endpoint, or one by its id.
 */
import * as v from "valibot";
import { OUTCOMES } from "../../domain/deliveries/attempt.ts";
import { responseText } from "../../domain/deliveries/response-text.ts";
import { isId } from "../../domain/id.ts";
import { formatInstant } from "../../domain/time/instant.ts";
import type { Attempt as StoredAttempt, Page } from "../../store/store.ts";
import type { ApiParts } from "../parts.ts";
import { namedTenant, TenantParameter, tenantToRead } from "../pipeline/access.ts";
import { callerOf, listParameters, listQuery, PAGE_PARAMETERS, pageOf, pageReply } from "../pipeline/lists.ts";
import { endpointId } from "../pipeline/names.ts";
import { type Query } from "../pipeline/query.ts";
import { json, notFound, type Reply } from "../pipeline/reply.ts";
import type { Call, Operation, Route } from "../pipeline/route.ts";
import { aPageOf, AttemptError, Count, described, id, Instant, pageSchema, titled } from "../pipeline/shapes.ts";

const Phase = v.nullable(v.number());

export const Attempt = titled(
  "Attempt",
  v.object({
    id: id("att"),
    event: id("evt"),
    delivery: id("dlv"),
    endpoint: id("ep"),
    url: described(v.string(), "The URL that it was sent to: the endpoint's URL at that time."),
    number: described(Count, "Counts the delivery's attempts from 1 and never restarts."),
    trigger: v.picklist(["ladder", "replay", "manual", "test"]),
    started_at: Instant,
    duration_ms: described(v.number(), "From the start of the attempt until its outcome was known."),
    round: described(Count, "1 at first; each replay adds one."),
    retry: described(
      v.nullable(Count),
      "The place on the ladder, 0 for the first attempt of a round; null for an attempt outside the ladder.",
    ),
    outcome: v.picklist(OUTCOMES),
    status_code: described(
      v.nullable(v.pipe(v.number(), v.integer())),
      "The status code that the receiver answered with, if it answered.",
    ),
    error: described(v.nullable(AttemptError), "Why it failed; null when it succeeded."),
    body_error: described(
      v.nullable(v.picklist(["timeout", "connection_closed", "bad_response"])),
      "A problem with the response body that came after the status had decided the outcome. It does not change the outcome.",
    ),
    detail: described(v.string(), "What happened, in one sentence."),
    remote_address: v.nullable(v.string()),
    secret: described(
      v.nullable(v.picklist(["current", "previous"])),
      "Whether the secret that signed it is still in use.",
    ),
    phases: described(
      v.object({ dns_ms: Phase, connect_ms: Phase, tls_ms: Phase, first_byte_ms: Phase }),
      "When each step was complete, in milliseconds since the attempt began; null if the step did not happen.",
    ),
    response_headers: described(
      v.record(v.string(), v.string()),
      "Some of the response headers, each cut to 256 bytes.",
    ),
    response_body: described(
      v.string(),
      "The beginning of the response body, read by its declared charset, else as UTF-8; of a compressed body only its size. Do not trust this text.",
    ),
    response_truncated: v.boolean(),
  }),
);

export const AttemptPage = pageSchema(Attempt);

export const anAttempt = {
  id: "att_06fbqxw6w0a1b2c3d4e5f6g7h8",
  event: "evt_06fbqxw6v8s2d4f6g8h0j2k4m6",
  delivery: "dlv_06fbqxw6v8s2d4f6g8h0j2k4n0",
  endpoint: "ep_06fbqxvx8r4m8q2v6ng0c3kz7t",
  url: "https://example.com/hook",
  number: 1,
  trigger: "ladder",
  started_at: "2026-11-20T09:55:00.130Z",
  duration_ms: 12,
  round: 1,
  retry: 0,
  outcome: "failed",
  status_code: 503,
  error: "http_status",
  body_error: null,
  detail: "the receiver answered 503",
  remote_address: "93.184.216.34",
  secret: "current",
  phases: { dns_ms: 1, connect_ms: 3, tls_ms: 7, first_byte_ms: 12 },
  response_headers: { "content-type": "text/plain" },
  response_body: "try again later",
  response_truncated: false,
};

export function presentAttempt(attempt: StoredAttempt) {
  const { phases } = attempt;
  return {
    id: attempt.id,
    event: attempt.event,
    delivery: attempt.delivery,
    endpoint: attempt.endpoint,
    url: attempt.url,
    number: attempt.number,
    trigger: attempt.trigger,
    started_at: formatInstant(attempt.startedAt),
    duration_ms: attempt.durationMs,
    round: attempt.round,
    retry: attempt.retry,
    outcome: attempt.outcome,
    status_code: attempt.statusCode,
    error: attempt.error,
    body_error: attempt.bodyError,
    detail: attempt.detail,
    remote_address: attempt.remoteAddress,
    secret: attempt.secret,
    phases: {
      dns_ms: phases.dnsMs,
      connect_ms: phases.connectMs,
      tls_ms: phases.tlsMs,
      first_byte_ms: phases.firstByteMs,
    },
    response_headers: attempt.responseHeaders,
    response_body: responseText(attempt.responseBody, attempt.responseHeaders, attempt.responseTruncated),
    response_truncated: attempt.responseTruncated,
  };
}

const aPageOfAttempts = {
  description: "A page of attempts.",
  schema: AttemptPage,
  example: aPageOf(anAttempt),
  headers: ["link"],
} as const;

export const listEventAttempts: Operation = {
  id: "listEventAttempts",
  tag: "Events",
  summary: "List every attempt made for an event",
  description:
    "To all endpoints, in the order in which they began. Each has the answer of the receiver, its timing and its error.",
  params: { id: "evt" },
  replies: {
    200: aPageOfAttempts,
  },
};

export const listDeliveryAttempts: Operation = {
  id: "listDeliveryAttempts",
  tag: "Deliveries",
  summary: "List every attempt made for a delivery",
  description: "In the order of their numbers. Each has the answer of the receiver, its timing and its error.",
  params: { id: "dlv" },
  replies: { 200: aPageOfAttempts },
};

export const listEndpointAttempts: Operation = {
  id: "listEndpointAttempts",
  tag: "Deliveries",
  summary: "List the attempts made to an endpoint",
  description:
    "Sorted by when their events were received, then by number: a late attempt is listed next to the first one of its delivery. Attempts to a deleted endpoint stay listed.",
  params: { id: "ep" },
  replies: { 200: aPageOfAttempts },
};

export const getAttempt: Operation = {
  id: "getAttempt",
  tag: "Deliveries",
  summary: "Get an attempt",
  description:
    "With the status, the headers and up to 16 KiB of the body that the receiver answered, and how long each phase took.",
  params: { id: "att" },
  replies: { 200: { description: "The attempt.", schema: Attempt, example: anAttempt } },
};

export function attemptRoutes({ store }: ApiParts): Route[] {
  async function attempts(call: Call): Promise<Reply> {
    const { principal, params, query } = call;
    const delivery = idOf("dlv", params);
    const asked = { ...pageOf(query, tenantToRead(principal, namedTenant(query))), delivery };
    const page = await store.reads.listAttempts(asked, callerOf(call));
    return attemptsReply(`/v1/webhooks/deliveries/${delivery}/attempts`, query, page);
  }

  async function attemptsOfEndpoint(call: Call): Promise<Reply> {
    const endpoint = await endpointId(store, call);
    const page = await store.reads.listEndpointAttempts({ ...listQuery("attempts", call), endpoint }, callerOf(call));
    return attemptsReply(`/v1/webhooks/${endpoint}/attempts`, call.query, page);
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
      reach: "delivery",
      query: PAGE_PARAMETERS,
      operation: listDeliveryAttempts,
      handle: attempts,
    },
    {
      method: "GET",
      path: "/v1/webhooks/:id/attempts",
      access: "read",
      reach: "endpoint",
      query: listParameters("attempts"),
      operation: listEndpointAttempts,
      handle: attemptsOfEndpoint,
    },
    {
      method: "GET",
      path: "/v1/webhooks/attempts/:id",
      access: "read",
      reach: "attempt",
      query: [TenantParameter],
      operation: getAttempt,
      handle: attempt,
    },
  ];
}

/** Throws `not_found` if `page` is null: the delivery or the endpoint does not exist. */
export function attemptsReply(path: string, query: Query, page: Page<StoredAttempt> | null): Reply {
  if (page === null) throw notFound();
  const items = page.data.map((item) => JSON.stringify(presentAttempt(item)));
  return pageReply(path, query, page, items);
}

function idOf(prefix: "dlv" | "att", { id = "" }: Call["params"]): string {
  if (!isId(prefix, id)) throw notFound();
  return id;
}
