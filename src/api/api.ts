/** The API: a table of all routes, and the pipeline that every request passes through. */
import { randomFillSync } from "node:crypto";
import { auditRoutes } from "./daemon/audit.ts";
import { backupRoutes, secretKeyRoutes } from "./daemon/backups.ts";
import { configurationRoutes } from "./daemon/configuration.ts";
import { keyRoutes } from "./daemon/keys.ts";
import { nodeRoutes, pauseRoutes } from "./daemon/sending.ts";
import { outboxRoutes } from "./daemon/outboxes.ts";
import { healthRoutes, metricsRoutes } from "./daemon/probes.ts";
import { statusRoutes, tenantRoutes } from "./daemon/status.ts";
import { attemptRoutes } from "./deliveries/attempts.ts";
import { deliveryRoutes } from "./deliveries/deliveries.ts";
import { endpointRoutes } from "./endpoints/routes.ts";
import { secretRoutes } from "./endpoints/secrets.ts";
import { signingKeyRoutes } from "./endpoints/signing-keys.ts";
import { filterTestRoutes } from "./endpoints/filter-test.ts";
import { testEventRoutes } from "./endpoints/test-events.ts";
import { Catalogue, withLatestTypes } from "./event-types/catalogue.ts";
import { eventTypeRoutes } from "./event-types/routes.ts";
import { eventRoutes, withdrawalRoutes } from "./events/routes.ts";
import { whyRoutes } from "./events/why.ts";
import { jobRoutes } from "./jobs/routes.ts";
import { descriptionRoutes } from "./openapi/description.ts";
import type { ApiParts } from "./parts.ts";
import { Pipeline } from "./pipeline/pipeline.ts";
import type { Route } from "./pipeline/route.ts";
import { portalLinkRoutes } from "./portal/links.ts";
import { portalPageRoutes } from "./portal/page.ts";
import { publishRoutes } from "./publishing/routes.ts";
import { failureRoutes } from "./reports/failures.ts";
import { statisticsRoutes } from "./reports/statistics.ts";
import { streamRoutes } from "./reports/stream.ts";
import type { NodeHandler, Reject } from "./server/listener.ts";
import type { Plain } from "./server/plain-requests.ts";

export interface Api {
  /** `trusted` is true only for the unix socket, which needs no key and whose Host is not checked. */
  handler(trusted: boolean): NodeHandler;
  readonly routes: readonly Route[];
  /** Handles publishes that bypass Node's HTTP parser. */
  readonly plain: Plain;
  /** Answers connections whose bytes do not form a request. */
  readonly reject: Reject;
}

type Optional = "random" | "outboxes" | "catalogue" | "traces" | "departures" | "damaged" | "portal" | "running";

export function createApi(given: Omit<ApiParts, Optional> & Partial<Pick<ApiParts, Optional>>): Api {
  const parts: ApiParts = {
    random: pooledRandom(),
    departures: () => [],
    outboxes: [],
    traces: null,
    damaged: () => [],
    portal: () => ({ ...given.config.portal, listening: "http://localhost" }),
    running: () => ({ settings: {}, tenants: given.config.tenants }),
    catalogue: Catalogue.unread(given.config, given),
    ...given,
  };
  const routes: Route[] = [
    ...healthRoutes(parts),
    ...metricsRoutes(parts),
    ...publishRoutes(parts),
    ...eventRoutes(parts),
    ...whyRoutes(parts),
    ...eventTypeRoutes(parts),
    ...withdrawalRoutes(parts),
    ...deliveryRoutes(parts),
    ...attemptRoutes(parts),
    ...jobRoutes(parts),
    ...failureRoutes(parts),
    ...statisticsRoutes(parts),
    ...streamRoutes(parts),
    ...endpointRoutes(parts),
    ...secretRoutes(parts),
    ...signingKeyRoutes(parts),
    ...testEventRoutes(parts),
    ...filterTestRoutes(parts),
    ...keyRoutes(parts),
    ...portalLinkRoutes(parts),
    ...portalPageRoutes(parts),
    ...auditRoutes(parts),
    ...statusRoutes(parts),
    ...configurationRoutes(parts),
    ...pauseRoutes(parts),
    ...nodeRoutes(parts),
    ...outboxRoutes(parts),
    ...backupRoutes(parts),
    ...secretKeyRoutes(parts),
    ...tenantRoutes(parts),
    ...descriptionRoutes(parts, () => routes),
  ];
  const { catalogue } = parts;
  const current = catalogue.isShared ? routes.map((route) => routeWithLatestTypes(route, catalogue)) : routes;
  const pipeline = new Pipeline(current, parts);
  return {
    routes,
    plain: pipeline.plain(),
    reject: pipeline.reject(),
    handler: (trusted) => pipeline.handler(trusted),
  };
}

/** Refuses a type as unknown only after checking that no other node has added it. */
function routeWithLatestTypes(route: Route, catalogue: Catalogue): Route {
  return { ...route, handle: (call) => withLatestTypes(catalogue, () => route.handle(call)) };
}

/** Returns random bytes for ids from a pool, so that many ids need only one call to the generator. */
function pooledRandom(): (length: number) => Uint8Array {
  let pool = Buffer.alloc(0);
  let used = 0;
  return (length) => {
    if (used + length > pool.length) {
      pool = randomFillSync(Buffer.allocUnsafeSlow(Math.max(4096, length)));
      used = 0;
    }
    used += length;
    return pool.subarray(used - length, used);
  };
}
