/** What Prometheus asks for. */
import * as v from "valibot";
import type { ApiParts } from "../parts.ts";
import { tenantToRead } from "../pipeline/access.ts";
import type { Route, Operation } from "../pipeline/route.ts";

const TEXT_FORMAT = "text/plain; version=0.0.4; charset=utf-8";

export const getMetrics: Operation = {
  id: "getMetrics",
  tag: "Daemon",
  summary: "Read the metrics in Prometheus's text format",
  description:
    "A key for every tenant (`*`) gets all of them. A key for one tenant gets only the series of that tenant's endpoints.",
  replies: {
    200: {
      description: "The metrics.",
      schema: v.string(),
      example:
        "# HELP webhookd_paused Whether all sending is paused.\n# TYPE webhookd_paused gauge\nwebhookd_paused 0\n",
      type: "text/plain; version=0.0.4; charset=utf-8",
    },
  },
};

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
