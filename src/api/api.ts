/** The API: its resources as one table of routes, and the pipeline that every request passes. */
import { randomFillSync } from "node:crypto";
import { catalogue } from "../domain/event-type.ts";
import { auditRoutes } from "./audit.ts";
import { backupRoutes } from "./backups.ts";
import { secretKeyRoutes } from "./secret-key.ts";
import { brakeRoutes } from "./brake.ts";
import { deliveryRoutes } from "./deliveries.ts";
import { descriptionRoutes } from "./openapi/description.ts";
import { replacementRoutes } from "./endpoint-replacement.ts";
import { endpointRoutes } from "./endpoints.ts";
import { eventRoutes } from "./events.ts";
import { eventTypeRoutes } from "./event-types.ts";
import { failureRoutes } from "./failures.ts";
import { healthRoutes } from "./health.ts";
import { jobRoutes } from "./jobs.ts";
import { keyRoutes } from "./keys.ts";
import { metricsRoutes } from "./metrics.ts";
import { publishRoutes } from "./publish.ts";
import { secretRoutes } from "./secrets.ts";
import { streamRoutes } from "./stream.ts";
import { statusRoutes } from "./status.ts";
import { tenantRoutes } from "./tenants.ts";
import { statisticsRoutes } from "./statistics.ts";
import { testEventRoutes } from "./test-events.ts";
import { withdrawalRoutes } from "./withdrawals.ts";
import type { ApiParts } from "./parts.ts";
import { Pipeline } from "./pipeline/pipeline.ts";
import { rejection } from "./pipeline/problem.ts";
import type { Route } from "./pipeline/route.ts";
import type { NodeHandler, Reject } from "./server/listener.ts";

export interface Api {
  /** `trusted` is for the unix socket alone: no key is asked for, and no Host is compared. */
  handler(trusted: boolean): NodeHandler;
  readonly routes: readonly Route[];
  /** For what never becomes a request. */
  readonly reject: Reject;
}

type Optional = "random" | "catalogue" | "departures" | "damaged";

export function createApi(given: Omit<ApiParts, Optional> & Partial<Pick<ApiParts, Optional>>): Api {
  const parts: ApiParts = {
    random: pooledRandom(),
    departures: () => [],
    damaged: () => [],
    catalogue: { types: catalogue(given.config.eventTypes), checkData: undefined },
    ...given,
  };
  const { types } = parts.catalogue;
  const routes: Route[] = [
    ...healthRoutes(parts),
    ...metricsRoutes(parts),
    ...publishRoutes(parts, types),
    ...eventRoutes(parts),
    ...eventTypeRoutes(types),
    ...withdrawalRoutes(parts),
    ...deliveryRoutes(parts),
    ...jobRoutes(parts),
    ...failureRoutes(parts),
    ...statisticsRoutes(parts),
    ...streamRoutes(parts),
    ...endpointRoutes(parts, types),
    ...replacementRoutes(parts, types),
    ...secretRoutes(parts),
    ...testEventRoutes(parts, types),
    ...keyRoutes(parts),
    ...auditRoutes(parts),
    ...statusRoutes(parts),
    ...brakeRoutes(parts),
    ...backupRoutes(parts),
    ...secretKeyRoutes(parts),
    ...tenantRoutes(parts),
    ...descriptionRoutes(parts, types, () => routes),
  ];
  const pipeline = new Pipeline(routes, parts);
  return {
    routes,
    reject: rejection(() => pipeline.newRequestId()),
    handler: (trusted) => pipeline.handler(trusted),
  };
}

/** One call of the generator for many small draws. */
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
