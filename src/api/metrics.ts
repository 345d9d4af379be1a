/** What Prometheus asks for. */
import { getMetrics } from "./operations/daemon.ts";
import type { ApiParts } from "./parts.ts";
import type { Route } from "./route.ts";
import { tenantToRead } from "./tenant.ts";

const TEXT_FORMAT = "text/plain; version=0.0.4; charset=utf-8";

export function metricsRoutes({ config, metrics }: ApiParts): Route[] {
  const isPublic = config.metrics.public;
  return [
    {
      method: "GET",
      path: "/metrics",
      access: isPublic ? "open" : "metrics",
      operation: getMetrics,
      handle: async ({ principal }) => {
        const tenant = isPublic ? null : tenantToRead(principal, undefined);
        return { status: 200, type: TEXT_FORMAT, body: await metrics.text(tenant) };
      },
    },
  ];
}
