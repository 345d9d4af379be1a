/** Deliveries as callers see them: `interface.md` §7. */
import * as v from "valibot";
import { anAttempt, Attempt } from "./attempt.ts";
import { Count, described, id, Instant, titled } from "./wire.ts";

export const DeliveryStatus = described(
  v.picklist(["pending", "held", "delivered", "failed", "cancelled"]),
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

export const aDelivery = {
  id: anAttempt.delivery,
  endpoint: anAttempt.endpoint,
  status: "pending",
  attempts: 1,
  next_attempt_at: "2026-11-20T09:55:30.142Z",
  last_attempt: anAttempt,
};
