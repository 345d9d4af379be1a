/** Deliveries as callers see them: `interface.md` §7. */
import * as v from "valibot";
import { anAttempt, Attempt } from "./attempt.ts";
import { Count, described, id, Instant, pageOf, Tenant, titled } from "./wire.ts";

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
    attempts: described(Count, "How many were made."),
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
    received_at: described(Instant, "When its event was committed; orders lists."),
    tenant: Tenant,
    test: v.boolean(),
    round: described(Count, "1, and one more at each replay."),
    retry: described(
      v.nullable(Count),
      "The place on the ladder of the attempt to come, 0 for the first of a round; null if none is to come.",
    ),
  }),
);

export const DeliveryPage = pageOf(WholeDelivery);

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
