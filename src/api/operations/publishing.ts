import type { Operation } from "../operation.ts";
import { aDraft } from "../schemas/event-draft.ts";
import { aPublication, BatchPublication, Publication } from "../schemas/event.ts";

const TRACE = {
  traceparent: "W3C Trace Context: goes on to the receivers.",
  tracestate: "Goes with `traceparent`.",
};

export const publishEvent: Operation = {
  id: "publishEvent",
  tag: "Publishing",
  summary: "Publish an event",
  description: "Answered once the event and its deliveries are on the disk (fsync'd); the attempts begin at once.",
  headers: TRACE,
  example: aDraft,
  replies: { 202: { description: "It is durable.", schema: Publication, example: aPublication } },
};

export const publishBatch: Operation = {
  id: "publishBatch",
  tag: "Publishing",
  summary: "Publish many events at once",
  description:
    "All or nothing: a bad event is named by its index and none is stored. At most 4 MiB, and at most 20,000 " +
    "deliveries (`fan_out_too_large`). As `application/x-ndjson` it is one event a line, and `/events/3` the fourth line.",
  headers: TRACE,
  example: { events: [aDraft] },
  line: aDraft,
  replies: {
    202: { description: "All are durable.", schema: BatchPublication, example: { data: [aPublication] } },
  },
};
