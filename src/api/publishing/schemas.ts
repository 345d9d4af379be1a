/**
 * The schemas of publishes and their answers. event-draft.ts reads the bodies by scanning, with the same field names,
 * because `data` must not be parsed. `test/api/openapi/described-drafts.test.ts` checks that the two agree.
 */
import * as v from "valibot";
import { MAX_TAGS, PUBLISHER_ID, TAG } from "../../domain/events/event.ts";
import { MAX_KEY_BYTES } from "../../domain/deliveries/ordering.ts";
import { IDEMPOTENCY_KEY } from "../../domain/events/idempotency.ts";
import type { Operation } from "../pipeline/route.ts";
import { AnyObject, Count, described, id, Instant, named, Tenant, titled, typeName } from "../pipeline/shapes.ts";

export const MAX_BATCH = 1000;

type Types = ReadonlyMap<string, unknown>;

const PublishedData = titled(
  "PublishedData",
  described(
    AnyObject,
    "Delivered byte for byte as given here. The whole event may have at most `[server] max_event_bytes` bytes.",
  ),
);
const Happened = titled(
  "HappenedAt",
  described(
    v.pipe(v.string(), v.metadata({ format: "date-time" })),
    "When it happened, as an RFC 3339 instant at most 5 minutes in the future. By default, now.",
  ),
);
const PublisherId = titled(
  "PublisherId",
  described(
    v.pipe(v.string(), v.regex(PUBLISHER_ID)),
    "Your own id for it, to find it by. Receivers do not get it, and it need not be unique: the idempotency key is what keeps an event from being published twice.",
  ),
);
const Tags = titled(
  "Tags",
  described(
    v.pipe(v.array(v.pipe(v.string(), v.regex(TAG))), v.maxLength(MAX_TAGS), v.metadata({ uniqueItems: true })),
    "Up to 5 different tags to find it by, such as `customer:1042`. Receivers do not get them.",
  ),
);
const OrderingKey = titled(
  "OrderingKey",
  described(
    v.pipe(v.string(), v.minLength(1), v.maxLength(MAX_KEY_BYTES)),
    "What the event is about, such as `order_1042`. Endpoints with `ordering` `by_key` get the events of a key in the order in which they were published. 1 to 256 bytes in UTF-8, without control characters.",
  ),
);

export function eventDraft(types: Types) {
  return titled(
    "EventDraft",
    v.strictObject({
      type: named("EventTypeName", typeName(types)),
      data: PublishedData,
      created_at: v.optional(Happened),
      publisher_id: v.optional(PublisherId),
      tags: v.optional(Tags),
      ordering_key: v.optional(OrderingKey),
      tenant: v.optional(described(Tenant, "With a key for every tenant: the tenant of the event.")),
    }),
  );
}

/** The schema of an event in a batch, or of a line. */
export function batchItem(types: Types) {
  const key = v.pipe(v.string(), v.regex(IDEMPOTENCY_KEY));
  return titled(
    "BatchItem",
    v.strictObject({
      ...eventDraft(types).entries,
      idempotency_key: v.optional(
        described(key, "Publishing the same event again with this key does not create a second event."),
      ),
    }),
  );
}

export function eventBatch(types: Types) {
  return titled(
    "EventBatch",
    v.strictObject({ events: v.pipe(v.array(batchItem(types)), v.minLength(1), v.maxLength(MAX_BATCH)) }),
  );
}

export const DRAFT_FIELDS: ReadonlySet<string> = new Set(Object.keys(eventDraft(new Map()).entries));
export const ITEM_FIELDS: ReadonlySet<string> = new Set(Object.keys(batchItem(new Map()).entries));

const DataWarning = titled(
  "DataWarning",
  v.object({
    pointer: described(v.string(), "A JSON pointer (RFC 6901) into the body."),
    code: v.string(),
    detail: v.string(),
  }),
);

const WARNINGS = v.optional(
  described(
    v.array(DataWarning),
    "Data that does not match the schema of a type whose `validation` is `warn`, at most 20. The events were accepted anyway.",
  ),
);

const PUBLISHED = {
  id: id("evt"),
  type: v.string(),
  created_at: Instant,
  delivery_count: described(Count, "How many endpoints it goes to."),
};

export const Publication = titled("Publication", v.object({ ...PUBLISHED, warnings: WARNINGS }));

const BatchedPublication = titled(
  "BatchedPublication",
  v.object({
    ...PUBLISHED,
    duplicate: v.optional(
      described(v.boolean(), "The event was already published with the same key; this is the first answer."),
    ),
  }),
);

export const BatchPublication = v.object({
  data: described(v.array(BatchedPublication), "In the same order as in the request."),
  warnings: WARNINGS,
});

export const aDraft = {
  type: "budget.exceeded",
  data: { budget_id: "bud_1", spent: { value: "512.40", currency: "EUR" } },
};

export const aPublication = {
  id: "evt_06fbqxw6v8s2d4f6g8h0j2k4m6",
  type: "budget.exceeded",
  created_at: "2026-11-20T09:55:00.123Z",
  delivery_count: 1,
};

const TRACE = {
  traceparent: "W3C Trace Context, for endpoints with `trace_context`.",
  tracestate: "With `traceparent`.",
};

export const publishEvent: Operation = {
  id: "publishEvent",
  tag: "Publishing",
  summary: "Publish an event",
  description:
    "The call returns once the event and its deliveries are on the disk (fsync'd); the attempts begin at once. It also takes a CloudEvent 1.0, as `application/cloudevents+json` or with the headers `ce-*`; `source` and `id` are then the idempotency key, so the header `Idempotency-Key` is refused.",
  headers: TRACE,
  example: aDraft,
  replies: {
    202: {
      description: "The event is durable.",
      schema: Publication,
      example: aPublication,
      headers: ["deprecation", "sunset", "link"],
    },
  },
};

export const publishBatch: Operation = {
  id: "publishBatch",
  tag: "Publishing",
  summary: "Publish many events at once",
  description:
    "All or nothing: if one event is invalid, the answer names its index and nothing is stored. The body may have at most 4 MiB, and the events at most 20,000 deliveries (`fan_out_too_large`). As `application/x-ndjson` the body has one event on each line, at most 1,000, and `/events/3` is the fourth. As `application/cloudevents-batch+json` it is an array of CloudEvents, and `/3` is the fourth. The header `Idempotency-Key` is the key of the whole request.",
  headers: TRACE,
  example: { events: [aDraft] },
  replies: {
    202: {
      description: "All the events are durable.",
      schema: BatchPublication,
      example: { data: [aPublication] },
      headers: ["deprecation", "sunset", "link"],
    },
  },
};
