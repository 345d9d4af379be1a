/** The catalogue: which event types there are, and what their data looks like. */
import type { EventType } from "../domain/event-type.ts";
import { listEventTypes } from "./operations/event-types.ts";
import { json, type Route } from "./route.ts";

export function eventTypeRoutes(types: ReadonlyMap<string, EventType>): Route[] {
  return [
    {
      method: "GET",
      path: "/v1/webhooks/event-types",
      access: "read",
      operation: listEventTypes,
      handle: () => json(200, { data: [...types.values()].map(presentType), next_cursor: null }),
    },
  ];
}

function presentType({ name, description, schema, sample, source }: EventType) {
  return { name, description, schema, sample, source };
}
