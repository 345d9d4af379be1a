/** The configuration that the running daemon uses, which its file may have left behind. */
import * as v from "valibot";
import type { TenantShare } from "../../domain/time/timetable.ts";
import type { ApiParts } from "../parts.ts";
import { requireEveryTenant } from "../pipeline/access.ts";
import { json } from "../pipeline/reply.ts";
import type { Operation, Route } from "../pipeline/route.ts";
import { Count, described, titled } from "../pipeline/shapes.ts";

const Share = v.object({
  weight: described(
    Count,
    "While several tenants wait to publish: how many turns this one gets for each turn of another.",
  ),
  rate_per_second: described(v.nullable(Count), "Events that it may publish; null is no limit."),
  max_pending: described(v.nullable(Count), "Deliveries that it may have pending; null: as many as everyone."),
});

export const Configuration = titled(
  "Configuration",
  v.object({
    settings: described(
      v.record(v.string(), v.unknown()),
      "Every setting by section and key, as a configuration file would have it: `server.listen`. If an address by itself gives access, only its beginning is shown.",
    ),
    tenants: described(v.record(v.string(), Share), "What each `[tenants.NAME]` says, by tenant."),
  }),
);

export const aConfiguration = {
  settings: { "server.listen": "127.0.0.1:8080", "retry.timeout": "10s", "delivery.threads": 1 },
  tenants: { northwind: { weight: 2, rate_per_second: 500, max_pending: null } },
};

export const getConfiguration: Operation = {
  id: "getConfiguration",
  tag: "Daemon",
  summary: "Get the configuration that the daemon uses",
  description: "As it was at the start, with what a SIGHUP has changed since.",
  replies: { 200: { description: "The configuration.", schema: Configuration, example: aConfiguration } },
};

export function configurationRoutes({ running }: ApiParts): Route[] {
  return [
    {
      method: "GET",
      path: "/v1/config",
      access: "admin",
      operation: getConfiguration,
      handle({ principal }) {
        requireEveryTenant(principal);
        const { settings, tenants } = running();
        const shares = [...tenants].map(([tenant, share]) => [tenant, presentShare(share)]);
        return json(200, { settings, tenants: Object.fromEntries(shares) });
      },
    },
  ];
}

function presentShare({ weight, ratePerSecond, maxPending }: TenantShare) {
  return { weight, rate_per_second: ratePerSecond, max_pending: maxPending };
}
