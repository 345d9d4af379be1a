/** The schemas of events as callers see them: `docs/interface.md` §7. */
import * as v from "valibot";
import { EVENT_STATUSES } from "../../domain/deliveries/delivery.ts";
import { formatInstant } from "../../domain/time/instant.ts";
import type { EventView, EventSummary as StoredSummary } from "../../store/store.ts";
import { anAttempt } from "../deliveries/attempts.ts";
import { aDelivery, Delivery, presentWithinEvent } from "../deliveries/deliveries.ts";
import type { Operation } from "../pipeline/route.ts";
import {
  AnyObject,
  aPageOf,
  Count,
  described,
  extending,
  id,
  Instant,
  pageSchema,
  Tenant,
  titled,
} from "../pipeline/shapes.ts";

/** The fields that each shape of an event has. */
const EventFacts = titled(
  "EventFacts",
  v.object({
    id: id("evt"),
    type: v.string(),
    created_at: described(Instant, "When it happened, according to the publisher."),
    received_at: described(Instant, "When webhookd committed it. Lists and retention use this time."),
    tenant: Tenant,
    test: v.boolean(),
    status: described(
      v.picklist(EVENT_STATUSES),
      "`failed` if any of its deliveries is, else `pending` if any is, else `held`, `delivered`, `cancelled`, `shadowed`; " +
        "`unmatched` if no endpoint chose it.",
    ),
    publisher_id: described(v.nullable(v.string()), "The publisher's own id for it; null if it has none."),
    tags: described(v.array(v.string()), "The publisher's tags, sorted; at most 5."),
    ordering_key: described(
      v.nullable(v.string()),
      "Endpoints with `ordering` `by_key` get the events of this key in order; null if it has none.",
    ),
    erased_at: described(v.nullable(Instant), "When its data was erased; null if it was not."),
  }),
);

const Data = described(v.nullable(AnyObject), "Byte for byte as it was published; null once it has been erased.");
const Deliveries = described(v.array(Delivery), "At most 100 deliveries.");
const DeliveryCount = described(Count, "How many deliveries there are, whether shown here or not.");
const MoreDeliveries = described(
  v.nullable(v.string()),
  "The path of the full list; null if all of them are shown here.",
);

export const Event = extending("Event", EventFacts, {
  data: Data,
  deliveries: Deliveries,
  delivery_count: DeliveryCount,
  more_deliveries: MoreDeliveries,
});

/** An event as lists show it. */
export const EventSummary = extending("EventSummary", EventFacts, {
  data: v.optional(Data),
  deliveries: v.optional(Deliveries),
  delivery_count: v.optional(DeliveryCount),
  more_deliveries: v.optional(MoreDeliveries),
});

export const EventPage = pageSchema(EventSummary);

export const ReplayedEvent = titled(
  "ReplayedEvent",
  v.object({
    ...Event.entries,
    left_alone: described(
      v.array(
        v.object({
          delivery: id("dlv"),
          endpoint: id("ep"),
          reason: v.picklist(["endpoint_disabled", "endpoint_deleted"]),
        }),
      ),
      "Failed deliveries that are not replayed, and why.",
    ),
  }),
);

export const CancelledEvent = extending("CancelledEvent", EventFacts, {
  cancelled: described(Count, "How many of its deliveries were open."),
});

const summary = {
  id: "evt_06fbqxw6v8s2d4f6g8h0j2k4m6",
  type: "budget.exceeded",
  created_at: "2026-11-20T09:55:00.123Z",
  received_at: "2026-11-20T09:55:00.123Z",
  tenant: "default",
  test: false,
  status: "pending",
  publisher_id: "order-1042",
  tags: ["customer:1042"],
  ordering_key: null,
  erased_at: null,
};

export const anEventSummary = summary;

export const anEvent = {
  ...summary,
  data: { budget_id: "bud_1", spent: 512.4 },
  deliveries: [aDelivery],
  delivery_count: 1,
  more_deliveries: null,
};

const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });

export interface EventParts {
  readonly data: boolean;
  readonly deliveries: boolean;
}

/** Returns JSON text, because `data` must leave as the bytes that arrived: a round trip would change numbers. */
export function eventText(event: StoredSummary | EventView, include: EventParts, more: object = {}): string {
  const members = [
    JSON.stringify({
      id: event.id,
      type: event.type,
      created_at: formatInstant(event.createdAt),
      received_at: formatInstant(event.receivedAt),
      tenant: event.tenant,
      test: event.test,
      status: event.status,
      publisher_id: event.publisherId,
      tags: event.tags,
      ordering_key: event.orderingKey,
      erased_at: event.erasedAt === null ? null : formatInstant(event.erasedAt),
    }).slice(1, -1),
  ];
  if ("data" in event && include.data) members.push(`"data":${event.data === null ? "null" : utf8.decode(event.data)}`);
  if ("deliveries" in event && include.deliveries) {
    const isCut = event.deliveryCount > event.deliveries.length;
    members.push(
      `"deliveries":${JSON.stringify(event.deliveries.map(presentWithinEvent))}`,
      `"delivery_count":${event.deliveryCount}`,
      `"more_deliveries":${isCut ? `"/v1/webhooks/deliveries?event=${event.id}"` : "null"}`,
    );
  }
  const rest = JSON.stringify(more).slice(1, -1);
  if (rest !== "") members.push(rest);
  return `{${members.join(",")}}`;
}

const params = { id: "evt" };

export const listEvents: Operation = {
  id: "listEvents",
  tag: "Events",
  summary: "List events",
  description:
    "Newest first, each with its status and labels, without its deliveries. `include=data` adds the data, `include=deliveries` the deliveries.",
  replies: {
    200: { description: "A page of events.", schema: EventPage, example: aPageOf(anEventSummary), headers: ["link"] },
  },
};

export const getEvent: Operation = {
  id: "getEvent",
  tag: "Events",
  summary: "Get an event and its deliveries",
  description:
    "With its data, byte for byte as published, and its first 100 deliveries; `more_deliveries` leads to the rest.",
  params,
  replies: { 200: { description: "The event.", schema: Event, example: anEvent } },
};

export const replayEvent: Operation = {
  id: "replayEvent",
  tag: "Events",
  summary: "Replay a failed event",
  description:
    "Its failed deliveries go back to `pending`, due now, on a fresh ladder, with the same id and the same bytes. Pending deliveries are not touched. `endpoint` limits the replay to one endpoint; `force` includes delivered ones. If you call this twice in a row, the second answer is `event_not_failed`.",
  params,
  example: { endpoint: anAttempt.endpoint },
  replies: {
    202: { description: "The deliveries are due now.", schema: ReplayedEvent, example: { ...anEvent, left_alone: [] } },
  },
  problems: ["event_not_failed", "endpoint_disabled", "gone"],
};

export const cancelEvent: Operation = {
  id: "cancelEvent",
  tag: "Events",
  summary: "Cancel an event",
  description:
    "Its open deliveries become `cancelled`, for good. An attempt that is on the wire is recorded, and a 2xx still makes its delivery `delivered`. Deliveries that were delivered or have failed stay as they are; if none is open, nothing changes.",
  params,
  example: { endpoint: anAttempt.endpoint },
  replies: {
    200: {
      description: "No more attempts are made for this event.",
      schema: CancelledEvent,
      example: { ...anEventSummary, status: "cancelled", cancelled: 1 },
    },
  },
};

export const eraseEvent: Operation = {
  id: "eraseEvent",
  tag: "Events",
  summary: "Erase an event's data",
  description:
    "Its data and everything that receivers answered are erased; the history stays. Open deliveries become " +
    "`cancelled`, and it cannot be replayed. Attempts that are on the wire end within their time limit, and their answers are not kept.",
  params,
  replies: { 204: { description: "The data and the answers were erased." } },
};
