/** What a load balancer asks: one word, without a key. */
import { getHealth, getReadiness } from "./operations/daemon.ts";
import type { ApiParts } from "./parts.ts";
import { word, type Route } from "./route.ts";

export function healthRoutes({ store, phase }: ApiParts): Route[] {
  return [
    { method: "GET", path: "/healthz", access: "open", operation: getHealth, handle: () => word(200, "ok") },
    {
      method: "GET",
      path: "/readyz",
      access: "open",
      operation: getReadiness,
      handle: () => {
        const state = phase() === "serving" ? store.state() : "draining";
        return word(state === "ready" ? 200 : 503, state);
      },
    },
  ];
}
