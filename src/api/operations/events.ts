import type { Operation } from "../operation.ts";
import { anAttempt, AttemptPage } from "../schemas/attempt.ts";
import { anEvent, anEventSummary, CancelledEvent, Event, EventPage, RetriedEvent } from "../schemas/event.ts";
import { aPageOf } from "../schemas/wire.ts";

const params = { id: "evt" };

export const listEvents: Operation = {
  id: "listEvents",
  tag: "Events",
  summary: "List events",
  replies: {
    200: { description: "A page of them.", schema: EventPage, example: aPageOf(anEventSummary), headers: ["link"] },
  },
};

export const getEvent: Operation = {
  id: "getEvent",
  tag: "Events",
  summary: "Look at one event and its deliveries",
  params,
  replies: { 200: { description: "The event.", schema: Event, example: anEvent } },
};

export const listEventAttempts: Operation = {
  id: "listEventAttempts",
  tag: "Events",
  summary: "List every attempt made for an event",
  params,
  replies: {
    200: { description: "A page of them.", schema: AttemptPage, example: aPageOf(anAttempt), headers: ["link"] },
  },
};

export const retryEvent: Operation = {
  id: "retryEvent",
  tag: "Events",
  summary: "Send a failed event again",
  description:
    "Its failed deliveries go back to `pending`, due now, on a fresh ladder: the same id, the same bytes. What is " +
    "pending elsewhere is not touched. `endpoint` narrows it to one endpoint, `force` sends delivered ones too. Twice " +
    "in a row, the second is `event_not_failed`.",
  params,
  example: { endpoint: anAttempt.endpoint },
  replies: {
    202: { description: "They are due now.", schema: RetriedEvent, example: { ...anEvent, left_alone: [] } },
  },
  problems: ["event_not_failed", "endpoint_disabled", "gone"],
};

export const cancelEvent: Operation = {
  id: "cancelEvent",
  tag: "Events",
  summary: "Send no more of an event",
  description:
    "Its open deliveries become `cancelled`, for good. What is on the wire is recorded, and a 2xx makes it `delivered` " +
    "all the same. What was delivered or has failed stays as it is; with nothing open, nothing changes.",
  params,
  example: { endpoint: anAttempt.endpoint },
  replies: {
    200: {
      description: "Nothing more of it is started.",
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
    "Its data and everything that receivers answered are erased; the rows stay. Open deliveries become `cancelled`, and " +
    "it cannot be sent again. What is on the wire ends within its time limit, and its answer is not kept.",
  params,
  replies: { 204: { description: "Nothing of it is kept." } },
};
