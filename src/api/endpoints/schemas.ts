/** The schemas of endpoints as callers see them: `docs/interface.md` §7. */
import * as v from "valibot";
import { HEALTH_COUNT_LIMIT, type EndpointHealth } from "../../domain/endpoints/endpoint.ts";
import { formatInstant, formatInstantOrNull } from "../../domain/time/instant.ts";
import { sum } from "../../domain/tally.ts";
import type { Stats } from "../../store/store.ts";
import { anAttempt, Attempt } from "../deliveries/attempts.ts";
import type { Operation } from "../pipeline/route.ts";
import { Count, described, Instant, pageSchema, titled, aPageOf } from "../pipeline/shapes.ts";
import { aPublication, Publication } from "../publishing/schemas.ts";
import { SHOWN, anEndpoint } from "./fields.ts";
import { HeldKeys, presentHeldKeys } from "./held-keys.ts";
import { someSecrets } from "./secrets.ts";

export const Endpoint = titled("Endpoint", v.object(SHOWN));
const Some = v.pipe(Count, v.maxValue(HEALTH_COUNT_LIMIT));

export const Health = titled(
  "Health",
  v.object({
    last_success_at: v.nullable(Instant),
    last_failure_at: v.nullable(Instant),
    consecutive_failures: described(Count, "Failed attempts since the last success, or since it was enabled."),
    pending: described(
      Some,
      "Deliveries that are pending now, counted up to the maximum; `held` and `failed` are counted the same way.",
    ),
    held: Some,
    failed: Some,
    held_keys: described(
      v.nullable(HeldKeys),
      "The ordering keys of which nothing is sent, because an event failed and `after_failure` is `hold`; null if there is none.",
    ),
    at_once: described(
      v.nullable(Count),
      "How many attempts to it may be on the wire at once for now: fewer if it is slow to answer. Other deliveries that are due wait for their turn. Null if another node sends to it.",
    ),
  }),
);

export const EndpointWithHealth = titled("EndpointWithHealth", v.object({ ...SHOWN, health: Health }));

/** A list shows it with `include=recent`. */
const RecentAttempts = titled(
  "RecentAttempts",
  v.object({
    since: Instant,
    step_seconds: described(Count, "The length of each part; the last one is not over yet."),
    succeeded: described(v.array(Count), "Successful attempts in each part."),
    failed: described(v.array(Count), "Failed attempts in each part."),
  }),
);

export const ListedEndpoint = titled(
  "ListedEndpoint",
  v.object({
    ...SHOWN,
    health: v.optional(Health),
    recent: v.optional(RecentAttempts),
  }),
);

export const RegisteredEndpoint = titled(
  "RegisteredEndpoint",
  v.object({
    ...SHOWN,
    signing_secret: described(
      v.string(),
      "Signs what is sent to this endpoint. Shown only here and to keys with the scope `secrets`.",
    ),
  }),
);

export const EndpointPage = pageSchema(ListedEndpoint, {
  failing: v.optional(
    described(
      Count,
      "With `include=failing`: how many of all the endpoints that the key may see are failing, counted up to 10,000.",
    ),
  ),
});

export const aHealth = {
  last_success_at: "2026-11-20T09:54:58.120Z",
  last_failure_at: null,
  consecutive_failures: 0,
  pending: 2,
  held: 0,
  failed: 0,
  held_keys: null,
  at_once: 16,
};

export function presentHealth(health: EndpointHealth, atOnce: number | null) {
  return {
    last_success_at: formatInstantOrNull(health.lastSuccessAt),
    last_failure_at: formatInstantOrNull(health.lastFailureAt),
    consecutive_failures: health.consecutiveFailures,
    pending: health.pending,
    held: health.held,
    failed: health.failed,
    held_keys: health.heldKeys && presentHeldKeys(health.heldKeys),
    at_once: atOnce,
  };
}

export function presentRecent(
  { series }: Stats,
  { since, stepMs }: { readonly since: number; readonly stepMs: number },
) {
  return {
    since: formatInstant(since),
    step_seconds: stepMs / 1000,
    succeeded: series.map(({ attempts }) => attempts.succeeded),
    failed: series.map(({ attempts }) => sum(attempts.failed.values())),
  };
}

const params = { id: "ep" };
const IF_MATCH = "The `ETag` that you read: the change is made only if nobody has changed the endpoint since.";

const CHANGED = {
  description: "The endpoint as it is now.",
  schema: Endpoint,
  example: anEndpoint,
  headers: ["etag"],
} as const;

const REGISTERED = {
  description: "The endpoint was registered.",
  schema: RegisteredEndpoint,
  example: { ...anEndpoint, headers: {}, signing_secret: someSecrets.signing_secret },
  headers: ["location", "etag"],
} as const;

export const registerEndpoint: Operation = {
  id: "registerEndpoint",
  tag: "Endpoints",
  summary: "Register an endpoint",
  description:
    "From now on, events of the chosen types are sent to this URL. This is the only response that shows `signing_secret` without the scope `secrets`: give it to the people who verify the requests.",
  example: { url: "https://example.com/hook", events: ["budget.exceeded"] },
  replies: {
    201: REGISTERED,
  },
  problems: ["endpoint_limit", "already_created", "endpoint_damaged", "gone"],
};

export const listEndpoints: Operation = {
  id: "listEndpoints",
  tag: "Endpoints",
  summary: "List endpoints",
  description:
    "Newest first. `match` searches, `standing=failing` keeps only those that fail, and `sort=failing` begins with them. `include` adds their health and their recent attempts.",
  replies: {
    200: { description: "A page of endpoints.", schema: EndpointPage, example: aPageOf(anEndpoint), headers: ["link"] },
  },
};

export const getEndpoint: Operation = {
  id: "getEndpoint",
  tag: "Endpoints",
  summary: "Get an endpoint",
  description:
    "With its health: the latest success and failure, the failures in a row, and what is pending. Send its `ETag` as `If-Match` with a change.",
  params,
  replies: {
    200: {
      description: "The endpoint, with its health.",
      schema: EndpointWithHealth,
      example: { ...anEndpoint, health: aHealth },
      headers: ["etag"],
    },
  },
};

export const changeEndpoint: Operation = {
  id: "changeEndpoint",
  tag: "Endpoints",
  summary: "Change, disable or enable an endpoint",
  description:
    "A merge-patch (RFC 7396) of the registration: fields that are left out stay as they are, null resets a field to its default, and `headers` and `metadata` are merged; `filter` is replaced as a whole. Waiting deliveries use the settings at the moment of the attempt; a change of `events` or `filter` affects only later events. With `enabled: false` the answer comes once nothing more " +
    'starts for the endpoint. From then on its deliveries are held or, with `when_disabled: "skip"`, not made. ' +
    "With `enabled: true`, what was held is sent, slowly at first, unless `held` is `cancel`. What is `damaged` must be " +
    "set again in the same change: each of its `headers` by name, or `headers` to null.",
  params,
  headers: { "If-Match": IF_MATCH },
  example: { enabled: true, held: "release" },
  replies: { 200: CHANGED },
  problems: ["already_created", "endpoint_damaged", "precondition_failed"],
};

export const putEndpoint: Operation = {
  id: "putEndpoint",
  tag: "Endpoints",
  summary: "Register or replace an endpoint",
  description:
    "If the path has `uid:` and your own name for the endpoint, the endpoint is registered, or replaced if it exists. You can safely repeat this, even from several places at once, for example at each deploy. If the path has an id, the endpoint is replaced. Fields that are left out get their defaults, except `enabled`, which stays as it is. The signing secret stays the same, and is shown only when the endpoint is registered. With `dry_run=true` the request is only checked.",
  params,
  headers: { "If-Match": IF_MATCH, "If-None-Match": "`*`: only if there is no such endpoint yet." },
  example: { url: "https://example.com/hook", events: ["budget.exceeded"] },
  replies: {
    200: { ...CHANGED, description: "The endpoint existed and was replaced." },
    201: { ...REGISTERED, description: "The endpoint was registered." },
    204: { description: "With `dry_run`: the request could be done." },
  },
  problems: ["already_created", "endpoint_limit", "precondition_failed"],
};

export const deleteEndpoint: Operation = {
  id: "deleteEndpoint",
  tag: "Endpoints",
  summary: "Delete an endpoint",
  description:
    "The call returns once no further attempt to the endpoint can start. Its open deliveries become `cancelled`; its history stays until retention removes it.",
  params,
  replies: { 204: { description: "The endpoint was deleted." } },
};

export const sendTestEvent: Operation = {
  id: "sendTestEvent",
  tag: "Endpoints",
  summary: "Send a test event",
  description:
    "Sends the sample of an event type, by default the first that the endpoint chose, to this endpoint alone: one " +
    "attempt, outside the ladder, even if the endpoint is disabled. Lists and statistics leave it out. With `wait=true`, the call returns after the attempt, with the receiver's response: up to 16 KiB of its body, and up to 16 KiB of header names and values, without the separators between them. If no attempt was made within 15 s, because nothing can be sent now, the answer is 202 and the attempt follows later. While all sending is paused, the answer is 202 at once, and the attempt waits until somebody resumes sending.",
  params,
  example: { type: "budget.exceeded" },
  replies: {
    200: {
      description: "The attempt was made; it may have succeeded or failed.",
      schema: Attempt,
      example: { ...anAttempt, trigger: "test", retry: null },
    },
    202: { description: "The test event is on its way.", schema: Publication, example: aPublication },
  },
  problems: ["endpoint_damaged"],
};
