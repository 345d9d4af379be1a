/** Endpoints as callers see them: `interface.md` §7. */
import * as v from "valibot";
import { DISABLED_REASONS, ENDPOINT_PARTS, HEALTH_COUNT_LIMIT } from "../../domain/endpoint.ts";
import { Count, described, id, Instant, pageOf, Tenant, titled, AnyObject } from "./wire.ts";

export const DamagedParts = described(
  v.array(v.picklist(ENDPOINT_PARTS)),
  "What cannot be read. A secret is mended by a rotation with `overlap_seconds` 0, anything else by a change that gives it anew.",
);
export const DamagedReason = described(v.string(), "In what way; for people.");

const SHOWN = {
  id: id("ep"),
  tenant: Tenant,
  uid: described(v.nullable(v.string()), "The registrant's own name for it, unique within the tenant."),
  url: described(v.string(), "In the form that the WHATWG URL standard gives it."),
  events: v.array(v.string()),
  description: v.string(),
  enabled: v.boolean(),
  disabled_reason: described(
    v.nullable(v.picklist(DISABLED_REASONS)),
    "Why the daemon disabled it by itself: its receiver answered 410 (`gone`), or nothing succeeded for long (`failing`).",
  ),
  when_disabled: v.picklist(["hold", "skip"]),
  headers: described(v.record(v.string(), v.string()), "Sent with each attempt; the values are masked."),
  rate_per_second: v.nullable(v.number()),
  max_in_flight: v.nullable(Count),
  metadata: AnyObject,
  secret_switches_at: described(
    v.nullable(Instant),
    "While a rotation is under way: when the next signing secret takes over.",
  ),
  damaged: described(
    v.nullable(v.object({ parts: DamagedParts, reason: DamagedReason })),
    "What of the endpoint the store cannot read any more; null when all is well. Nothing is sent meanwhile, and what it is owed waits.",
  ),
  created_at: Instant,
  updated_at: Instant,
};

export const Endpoint = titled("Endpoint", v.object(SHOWN));

const Some = v.pipe(Count, v.maxValue(HEALTH_COUNT_LIMIT));

export const Health = titled(
  "Health",
  v.object({
    last_success_at: v.nullable(Instant),
    last_failure_at: v.nullable(Instant),
    consecutive_failures: described(Count, "Failed attempts since the last success, or since it was enabled."),
    pending: described(Some, "Deliveries that are so now, counted up to the maximum; so are the next two."),
    held: Some,
    failed: Some,
  }),
);

export const EndpointWithHealth = titled("EndpointWithHealth", v.object({ ...SHOWN, health: Health }));

export const RegisteredEndpoint = titled(
  "RegisteredEndpoint",
  v.object({
    ...SHOWN,
    signing_secret: described(v.string(), "Signs what this endpoint gets. Shown here and to scope `secrets` only."),
  }),
);

export const EndpointPage = pageOf(Endpoint);

export const anEndpoint = {
  id: "ep_06fbqxvx8r4m8q2v6ng0c3kz7t",
  tenant: "default",
  uid: null,
  url: "https://example.com/hook",
  events: ["budget.exceeded"],
  description: "",
  enabled: true,
  disabled_reason: null,
  when_disabled: "hold",
  headers: { authorization: "***" },
  rate_per_second: null,
  max_in_flight: null,
  metadata: {},
  secret_switches_at: null,
  damaged: null,
  created_at: "2026-11-20T09:50:00.000Z",
  updated_at: "2026-11-20T09:50:00.000Z",
};

export const aHealth = {
  last_success_at: "2026-11-20T09:54:58.120Z",
  last_failure_at: null,
  consecutive_failures: 0,
  pending: 2,
  held: 0,
  failed: 0,
};
