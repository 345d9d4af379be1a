import type { Operation } from "../operation.ts";
import { anAttempt, Attempt, AttemptPage } from "../schemas/attempt.ts";
import { aWholeDelivery, DeliveryPage, WholeDelivery } from "../schemas/delivery.ts";
import { aPageOf } from "../schemas/wire.ts";

const params = { id: "dlv" };
const aPageOfAttempts = {
  description: "A page of them.",
  schema: AttemptPage,
  example: aPageOf(anAttempt),
  headers: ["link"],
} as const;

export const listDeliveries: Operation = {
  id: "listDeliveries",
  tag: "Deliveries",
  summary: "List deliveries",
  description: "In the order in which their events were received.",
  replies: {
    200: { description: "A page of them.", schema: DeliveryPage, example: aPageOf(aWholeDelivery), headers: ["link"] },
  },
};

export const getDelivery: Operation = {
  id: "getDelivery",
  tag: "Deliveries",
  summary: "Look at one delivery",
  params,
  replies: { 200: { description: "The delivery.", schema: WholeDelivery, example: aWholeDelivery } },
};

export const listDeliveryAttempts: Operation = {
  id: "listDeliveryAttempts",
  tag: "Deliveries",
  summary: "List every attempt made for a delivery",
  params,
  replies: { 200: aPageOfAttempts },
};

export const attemptDelivery: Operation = {
  id: "attemptDelivery",
  tag: "Deliveries",
  summary: "Make one attempt now",
  description:
    "Outside the ladder: a 2xx makes the delivery `delivered`, a failure leaves its rung, its due time and its status as " +
    "they were. It is owed from now on, through a restart too, and asking again before it was made makes no second one. " +
    "If an attempt is on the wire it comes after that, unless that one delivers. A delivery that is `held` may be " +
    "attempted too, to see whether its receiver is back.",
  params,
  replies: { 202: { description: "It will be made now.", schema: WholeDelivery, example: aWholeDelivery } },
  problems: ["delivery_settled", "endpoint_disabled", "endpoint_damaged", "gone"],
};

export const listEndpointAttempts: Operation = {
  id: "listEndpointAttempts",
  tag: "Deliveries",
  summary: "List the attempts made to an endpoint",
  description:
    "In the order in which their events were received, then by number: an attempt made late stands beside the first " +
    "one of its delivery. Those of a deleted endpoint stay.",
  params: { id: "ep" },
  replies: { 200: aPageOfAttempts },
};

export const getAttempt: Operation = {
  id: "getAttempt",
  tag: "Deliveries",
  summary: "Look at one attempt",
  params: { id: "att" },
  replies: { 200: { description: "The attempt.", schema: Attempt, example: anAttempt } },
};
