import type { Operation } from "../operation.ts";
import { anEventType, EventTypePage } from "../schemas/event-type.ts";
import { aPageOf } from "../schemas/wire.ts";

export const listEventTypes: Operation = {
  id: "listEventTypes",
  tag: "Events",
  summary: "List the event types",
  description: "The catalogue: six are built in, `[[event_types]]` in the configuration adds more. It is one page.",
  replies: { 200: { description: "All of them.", schema: EventTypePage, example: aPageOf(anEventType) } },
};
