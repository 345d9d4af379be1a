/** Deliveries as callers see them: `docs/interface.md` §7. */
import * as v from "valibot";
import { formatInstant, formatInstantOrNull } from "../../domain/time/instant.ts";
import type { DeliveryView } from "../../store/store.ts";
import { anAttempt, Attempt, presentAttempt } from "../attempts/schemas.ts";
import type { Operation } from "../pipeline/route.ts";
import { Count, described, id, Instant, pageSchema, Tenant, titled, aPageOf } from "../pipeline/shapes.ts";

export const DELIVERY_STATUSES = ["pending", "held", "delivered", "failed", "cancelled"] as const;

export const DeliveryStatus = described(
  v.picklist(DELIVERY_STATUSES),
  "`held` is a pending delivery of a disabled endpoint: kept, not sent.",
);

export const Delivery = titled(
  "Delivery",
  v.object({
    id: id("dlv"),
    endpoint: id("ep"),
    status: DeliveryStatus,
    attempts: described(Count, "How many attempts were made."),
    next_attempt_at: described(v.nullable(Instant), "Null unless it is pending."),
    last_attempt: v.nullable(Attempt),
  }),
);

/** A delivery by itself: with what its event would say, and its place on the ladder. */
export const WholeDelivery = titled(
  "WholeDelivery",
  v.object({
    ...Delivery.entries,
    event: id("evt"),
    type: v.string(),
    received_at: described(Instant, "When its event was committed. Lists go by it."),
    tenant: Tenant,
    test: v.boolean(),
    round: described(Count, "1, and one more at each replay."),
    retry: described(
      v.nullable(Count),
      "The place of the next attempt on the ladder, 0 for the first of a round; null if there is none.",
    ),
  }),
);

export const DeliveryPage = pageSchema(WholeDelivery);

export const aDelivery = {
  id: anAttempt.delivery,
  endpoint: anAttempt.endpoint,
  status: "pending",
  attempts: 1,
  next_attempt_at: "2026-11-20T09:55:30.142Z",
  last_attempt: anAttempt,
};

export const aWholeDelivery = {
  ...aDelivery,
  event: anAttempt.event,
  type: "budget.exceeded",
  received_at: "2026-11-20T09:55:00.123Z",
  tenant: "default",
  test: false,
  round: 1,
  retry: 1,
};

export function presentDelivery(delivery: DeliveryView) {
  const { id, ...owed } = presentOwed(delivery);
  return {
    id,
    event: delivery.event,
    type: delivery.type,
    received_at: formatInstant(delivery.receivedAt),
    tenant: delivery.tenant,
    test: delivery.test,
    round: delivery.round,
    retry: delivery.retry,
    ...owed,
  };
}

/** Inside its event, which says the rest. */
export function presentOwed(delivery: DeliveryView) {
  return {
    id: delivery.id,
    endpoint: delivery.endpoint,
    status: delivery.status,
    attempts: delivery.attempts,
    next_attempt_at: formatInstantOrNull(delivery.nextAttemptAt),
    last_attempt: delivery.lastAttempt === null ? null : presentAttempt(delivery.lastAttempt),
  };
}

const params = { id: "dlv" };

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

export const attemptDelivery: Operation = {
  id: "attemptDelivery",
  tag: "Deliveries",
  summary: "Make one attempt now",
  description:
    "Outside the ladder: a 2xx makes the delivery `delivered`; a failure leaves its rung, its due time and its " +
    "status as they were. It will be made even after a restart, and asking again before then makes no second one. If " +
    "an attempt is on the wire, it comes after that, unless that one delivers. A `held` delivery may be attempted " +
    "too, to see if its receiver is back.",
  params,
  replies: { 202: { description: "It will be made now.", schema: WholeDelivery, example: aWholeDelivery } },
  problems: ["delivery_settled", "endpoint_disabled", "endpoint_damaged", "gone"],
};
