/** The route that shows the configuration in use, because the file may have changed since it was read. */
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
    "When several tenants are waiting to publish, how many turns this one gets for each turn of a tenant with weight 1.",
  ),
  rate_per_second: described(v.nullable(Count), "How many events it may publish per second; null means no limit."),
  max_pending: described(
    v.nullable(Count),
    "How many deliveries it may have pending; null means the limit for every tenant, `[limits] max_pending_per_tenant`.",
  ),
});

export const Configuration = titled(
  "Configuration",
  v.object({
    settings: described(
      v.record(v.string(), v.unknown()),
      "Every setting by section and key, such as `server.listen`, with its value as in a configuration file. If knowing a URL is enough to use it, only the beginning of the URL is shown.",
    ),
    tenants: described(v.record(v.string(), Share), "The contents of each `[tenants.NAME]`, by tenant."),
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
  description: "The configuration as it was at startup, with everything that a SIGHUP has changed since.",
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
