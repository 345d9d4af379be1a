/** The catalogue: which event types there are, and what their data looks like. */
import * as v from "valibot";
import { BUILT_IN_TYPES } from "../../domain/events/built-in-types.ts";
import type { EventType as KnownType } from "../../domain/events/event-type.ts";
import type { ApiParts } from "../parts.ts";
import { type Route, type Operation } from "../pipeline/route.ts";
import { json } from "../pipeline/reply.ts";
import { AnyObject, described, pageSchema, titled, aPageOf } from "../pipeline/shapes.ts";

export const EventType = titled(
  "EventType",
  v.object({
    name: v.string(),
    description: v.string(),
    schema: described(
      AnyObject,
      "JSON Schema 2020-12 of `data`. With `[events] validate`, publishes are checked against it.",
    ),
    sample: described(AnyObject, "The `data` of a test event."),
    source: described(v.picklist(["specified", "example"]), "Whether the data is specified, or only an example."),
  }),
);

export const EventTypePage = pageSchema(EventType);
export const anEventType = BUILT_IN_TYPES[0]!;

export const listEventTypes: Operation = {
  id: "listEventTypes",
  tag: "Events",
  summary: "List the event types",
  description: "The catalogue, all in one page: six are built in, `[[event_types]]` in the configuration adds more.",
  replies: { 200: { description: "All of them.", schema: EventTypePage, example: aPageOf(anEventType) } },
};

export function eventTypeRoutes({ catalogue }: ApiParts): Route[] {
  return [
    {
      method: "GET",
      path: "/v1/webhooks/event-types",
      access: "read",
      operation: listEventTypes,
      handle: () => json(200, { data: [...catalogue.types.values()].map(presentType), next_cursor: null }),
    },
  ];
}

function presentType({ name, description, schema, sample, source }: KnownType) {
  return { name, description, schema, sample, source };
}
