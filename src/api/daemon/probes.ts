/**
 * Routes for machines: `/readyz` for load balancers, which needs no key and ignores the query, and `/metrics` for
 * Prometheus.
 */
import * as v from "valibot";
import { skewText } from "../../domain/time/skew.ts";
import type { Condition } from "../../store/store.ts";
import type { ApiParts } from "../parts.ts";
import { tenantToRead } from "../pipeline/access.ts";
import { type Header, word } from "../pipeline/reply.ts";
import type { Operation, ReplyShape, Route } from "../pipeline/route.ts";

function aWord(description: string, ...words: [string, ...string[]]): ReplyShape {
  return { description, schema: v.picklist(words), example: words[0], type: "text/plain; charset=utf-8" };
}

export const getHealth: Operation = {
  id: "getHealth",
  tag: "Daemon",
  summary: "Check that the process answers",
  description: "It answers as long as the process serves requests, whatever the state of the store and the network.",
  replies: { 200: aWord("The process answers.", "ok") },
};

export const getReadiness: Operation = {
  id: "getReadiness",
  tag: "Daemon",
  summary: "Check that events are accepted",
  description:
    "This says nothing about sending: a daemon that cannot reach receivers accepts events, keeps them and stays `ready`. In that case the header `X-Webhookd-Not-Sending` names the reasons, as `not_sending` of `GET /v1/status` does; otherwise it is absent. The header `X-Webhookd-Storage` names a problem with the store that does not stop events from being accepted yet: `damaged` after the database was repaired, `log_growing` while the write-ahead log cannot be emptied and fills the disk. The header `X-Webhookd-Clock` is there while the clock of this host differs by more than a second from that of PostgreSQL, by which everything goes: `3.2 s ahead of PostgreSQL`, for example.",
  replies: {
    200: aWord("Events are accepted.", "ready"),
    503: aWord("Events are not accepted; the body says why.", "draining", "disk_full", "store_unavailable"),
  },
};

export function healthRoutes(parts: ApiParts): Route[] {
  return [
    {
      method: "GET",
      path: "/healthz",
      access: "open",
      query: "any",
      operation: getHealth,
      handle: () => word(200, "ok"),
    },
    {
      method: "GET",
      path: "/readyz",
      access: "open",
      query: "any",
      operation: getReadiness,
      handle: async () => {
        const { state: stored, trouble } = await parts.store.upkeep.condition();
        const state = stateOf(parts, stored);
        const reasons = parts.deliveries.halts.map(({ reason }) => reason);
        const damage = await parts.store.operations.damage().catch(() => null);
        const storage = [...(damage === null ? [] : ["damaged"]), ...(trouble === null ? [] : ["log_growing"])];
        const skew = skewText(parts.hostAheadMs());
        const headers: Header[] = [
          ...(reasons.length === 0 ? [] : [["x-webhookd-not-sending", reasons.join(", ")] as const]),
          ...(storage.length === 0 ? [] : [["x-webhookd-storage", storage.join(", ")] as const]),
          ...(skew === null ? [] : [["x-webhookd-clock", `${skew} PostgreSQL`] as const]),
        ];
        return { ...word(state === "ready" ? 200 : 503, state), headers };
      },
    },
  ];
}

/** `ready` means that the daemon accepts publishes, which it does even during a pause or an outage. */
export function stateOf({ phase }: ApiParts, stored: Condition["state"]): Condition["state"] | "draining" {
  return phase.now === "serving" ? stored : "draining";
}

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
        "# HELP webhookd_paused 1 if an operator paused all sending, otherwise 0.\n# TYPE webhookd_paused gauge\nwebhookd_paused 0\n",
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
