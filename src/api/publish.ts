/** The way in for events. What this answers with 202 is durable. */
import type { EventDraft } from "../domain/event.ts";
import type { EventType } from "../domain/event-type.ts";
import type { Publication } from "../store/store.ts";
import { readBatch, readEvent, type DraftRules } from "./event-draft.ts";
import { formatInstant } from "./instant.ts";
import { publishBatch, publishEvent } from "./operations/publishing.ts";
import type { ApiParts } from "./parts.ts";
import { json, type Call, type Route } from "./route.ts";
import { eventBatch, eventDraft } from "./schemas/event-draft.ts";
import { namedTenant, TenantParameter, tenantToWrite } from "./tenant.ts";

const MAX_BATCH_BYTES = 4 * 1024 * 1024;

export function publishRoutes(parts: ApiParts, types: ReadonlyMap<string, EventType>): Route[] {
  const { maxEventBytes } = parts.config.server;

  function rulesFor({ principal, query, now }: Call): DraftRules {
    const fallback = namedTenant(query);
    const tenantFor = (named: string | undefined) => tenantToWrite(principal, named ?? fallback);
    return { knows: (type) => types.has(type), maxEventBytes, tenantFor, now };
  }

  return [
    {
      method: "POST",
      path: "/v1/webhooks/events",
      access: "publish",
      query: [TenantParameter],
      body: { maxBytes: maxEventBytes, metered: true, schema: eventDraft(types.keys()) },
      operation: publishEvent,
      async handle(call) {
        const [publication] = await publish(parts, [readEvent(call.body, rulesFor(call))], call.now);
        return json(202, presentPublication(publication!));
      },
    },
    {
      method: "POST",
      path: "/v1/webhooks/events/batch",
      access: "publish",
      query: [TenantParameter],
      body: { maxBytes: MAX_BATCH_BYTES, metered: true, schema: eventBatch(types.keys()) },
      operation: publishBatch,
      async handle(call) {
        const publications = await publish(parts, readBatch(call.body, rulesFor(call)), call.now);
        return json(202, { data: publications.map(presentPublication) });
      },
    },
  ];
}

/** Commits, and hands over in the same turn what nobody else would read again. */
export async function publish(
  { store, deliveries }: ApiParts,
  drafts: readonly EventDraft[],
  now: number,
): Promise<Publication[]> {
  const publications = await store.publish(drafts, now, deliveries.hasRoom);
  for (const publication of publications) deliveries.accept(publication);
  return publications;
}

export function presentPublication({ id, type, createdAt, deliveries }: Publication) {
  return { id, type, created_at: formatInstant(createdAt), deliveries };
}
