/** What a load balancer asks: one word, without a key, and whatever it adds to the query. */
import { getHealth, getReadiness } from "./operations/daemon.ts";
import type { Condition } from "../store/store.ts";
import type { ApiParts } from "./parts.ts";
import { word, type Header, type Route } from "./pipeline/route.ts";

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
        const headers: Header[] = [
          ...(reasons.length === 0 ? [] : [["x-webhookd-not-sending", reasons.join(", ")] as const]),
          ...(storage.length === 0 ? [] : [["x-webhookd-storage", storage.join(", ")] as const]),
        ];
        return { ...word(state === "ready" ? 200 : 503, state), headers };
      },
    },
  ];
}

/** Whether publishes are taken. Neither the brake nor an outage has a say in it: they are. */
export function stateOf({ phase }: ApiParts, stored: Condition["state"]): Condition["state"] | "draining" {
  return phase() === "serving" ? stored : "draining";
}
