/** Events as callers publish and see them: `interface.md` §3 and §7. */
import * as v from "valibot";
import { aDelivery, Delivery } from "./delivery.ts";
import { AnyObject, Count, described, id, Instant, pageOf, Tenant, titled } from "./wire.ts";

export const EVENT_STATUSES = ["pending", "held", "delivered", "failed", "cancelled", "unmatched"] as const;

const SUMMARY = {
  id: id("evt"),
  type: v.string(),
  created_at: described(Instant, "When it happened, as the publisher says."),
  received_at: described(Instant, "When webhookd committed it; orders lists and retention."),
  tenant: Tenant,
  test: v.boolean(),
  status: described(
    v.picklist(EVENT_STATUSES),
    "`failed` if any of its deliveries is, else `pending` if any is, else `held`, `delivered`, `cancelled`; " +
      "`unmatched` if no endpoint chose it.",
  ),
};

const Data = described(v.nullable(AnyObject), "Byte for byte as it was published; null once it was erased.");
const Deliveries = described(v.array(Delivery), "At most 100 of them.");
const DeliveryCount = described(Count, "How many there are, shown here or not.");
const MoreDeliveries = described(v.nullable(v.string()), "Where all of them are listed; null when all are shown here.");

export const Event = titled(
  "Event",
  v.object({
    ...SUMMARY,
    data: Data,
    deliveries: Deliveries,
    delivery_count: DeliveryCount,
    more_deliveries: MoreDeliveries,
  }),
);

/** An event in a list. */
export const EventSummary = titled(
  "EventSummary",
  v.object({
    ...SUMMARY,
    data: v.optional(Data),
    deliveries: v.optional(Deliveries),
    delivery_count: v.optional(DeliveryCount),
    more_deliveries: v.optional(MoreDeliveries),
  }),
);

export const EventPage = pageOf(EventSummary);

export const RetriedEvent = titled(
  "RetriedEvent",
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
      "Failed deliveries that were not sent again, and why.",
    ),
  }),
);

export const CancelledEvent = titled(
  "CancelledEvent",
  v.object({ ...SUMMARY, cancelled: described(Count, "How many of its deliveries were open.") }),
);

export const Publication = titled(
  "Publication",
  v.object({
    id: id("evt"),
    type: v.string(),
    created_at: Instant,
    delivery_count: described(Count, "To how many endpoints it goes."),
    deliveries: described(Count, "The same number, as it was called before. Deprecated: use `delivery_count`."),
  }),
);

const BatchedPublication = titled(
  "BatchedPublication",
  v.object({
    ...Publication.entries,
    duplicate: v.optional(described(v.boolean(), "Published before under the same key: this is the first answer.")),
  }),
);

export const BatchPublication = v.object({
  data: described(v.array(BatchedPublication), "In the order of the request."),
});

const summary = {
  id: "evt_06fbqxw6v8s2d4f6g8h0j2k4m6",
  type: "budget.exceeded",
  created_at: "2026-11-20T09:55:00.123Z",
  received_at: "2026-11-20T09:55:00.123Z",
  tenant: "default",
  test: false,
  status: "pending",
};

export const anEventSummary = summary;

export const anEvent = {
  ...summary,
  data: { budget_id: "bud_1", spent: 512.4 },
  deliveries: [aDelivery],
  delivery_count: 1,
  more_deliveries: null,
};

export const aPublication = {
  id: summary.id,
  type: summary.type,
  created_at: summary.created_at,
  delivery_count: 1,
  deliveries: 1,
};
