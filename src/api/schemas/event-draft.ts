/**
 * The bodies of a publish. event-draft.ts reads them with one scan and by the same field names, because `data` must not
 * be parsed; `test/api/described-drafts.test.ts` holds the two together.
 */
import * as v from "valibot";
import { IDEMPOTENCY_KEY } from "../../domain/idempotency.ts";
import { AnyObject, described, Tenant, titled, typeName } from "./wire.ts";

export const MAX_BATCH = 1000;

type Types = ReadonlyMap<string, unknown>;

export function eventDraft(types: Types) {
  return titled(
    "EventDraft",
    v.strictObject({
      type: typeName(types),
      data: described(
        AnyObject,
        "Delivered byte for byte as it is here. At most `[server] max_event_bytes` with the whole event.",
      ),
      created_at: v.optional(
        described(
          v.pipe(v.string(), v.metadata({ format: "date-time" })),
          "When it happened: RFC 3339, not more than 5 minutes ahead. Without it, now.",
        ),
      ),
      tenant: v.optional(described(Tenant, "For a key of every tenant, whose event it is.")),
    }),
  );
}

/** One of a batch, or a line of it. */
export function batchItem(types: Types) {
  const key = v.pipe(v.string(), v.regex(IDEMPOTENCY_KEY));
  return titled(
    "BatchItem",
    v.strictObject({
      ...eventDraft(types).entries,
      idempotency_key: v.optional(described(key, "The same key and event again make no second event.")),
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

export const aDraft = {
  type: "budget.exceeded",
  data: { budget_id: "bud_1", spent: { value: "512.40", currency: "EUR" } },
};
