/** Endpoints as callers see them: `interface.md` §7. */
import * as v from "valibot";
import { Count, described, id, Instant, pageOf, Tenant, titled, AnyObject } from "./wire.ts";

const SHOWN = {
  id: id("ep"),
  tenant: Tenant,
  uid: described(v.nullable(v.string()), "The registrant's own name for it, unique within the tenant."),
  url: described(v.string(), "In the form that the WHATWG URL standard gives it."),
  events: v.array(v.string()),
  description: v.string(),
  enabled: v.boolean(),
  disabled_reason: v.nullable(v.string()),
  when_disabled: v.picklist(["hold", "skip"]),
  headers: described(v.record(v.string(), v.string()), "Sent with each attempt; the values are masked."),
  rate_per_second: v.nullable(v.number()),
  max_in_flight: v.nullable(Count),
  metadata: AnyObject,
  created_at: Instant,
  updated_at: Instant,
};

export const Endpoint = titled("Endpoint", v.object(SHOWN));

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
  created_at: "2026-11-20T09:50:00.000Z",
  updated_at: "2026-11-20T09:50:00.000Z",
};
