/** What Prometheus asks for. */
import { getMetrics } from "./operations/daemon.ts";
import type { ApiParts } from "./parts.ts";
import type { Route } from "./route.ts";

const TEXT_FORMAT = "text/plain; version=0.0.4; charset=utf-8";

export function metricsRoutes({ config, metrics }: ApiParts): Route[] {
  return [
    {
      method: "GET",
      path: "/metrics",
      access: config.metrics.public ? "open" : "metrics",
      operation: getMetrics,
      handle: async () => ({ status: 200, type: TEXT_FORMAT, body: await metrics.text() }),
    },
  ];
}
