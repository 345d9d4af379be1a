/** Taking events back: cancelling what is still to be sent of one, and erasing what it said. */
import * as v from "valibot";
import { isId } from "../../domain/id.ts";
import type { Withdrawal } from "../../store/store.ts";
import type { ApiParts } from "../parts.ts";
import { namedTenant, TenantParameter, tenantToRead } from "../pipeline/access.ts";
import { OwedTo, requireOwed } from "../pipeline/names.ts";
import { notFound } from "../pipeline/problem.ts";
import { type Call, type Route } from "../pipeline/route.ts";
import { jsonText, NO_CONTENT, type Reply } from "../pipeline/reply.ts";
import { described } from "../pipeline/shapes.ts";
import { readJson } from "../pipeline/validation.ts";
import { cancelEvent, eraseEvent, eventText } from "./schemas.ts";

const PATH = "/v1/webhooks/events/:id";
const SUMMARY = { data: false, deliveries: false };

const CancelBody = v.strictObject({
  endpoint: v.optional(described(OwedTo, "Only the delivery to this endpoint.")),
});

export function withdrawalRoutes({ store, deliveries }: ApiParts): Route[] {
  async function cancel(call: Call): Promise<Reply> {
    const [tenant, id] = whose(call);
    const scope = call.body.length === 0 ? {} : readJson(call.body, CancelBody);
    const cancelled = await withdrawn(store.events.cancel(tenant, id, scope.endpoint ?? null));
    const event = await store.reads.getEvent(tenant, id);
    if (event === null) throw notFound();
    if (cancelled === 0) await requireOwed(store, tenant, id, scope.endpoint);
    // Neither data nor answers: it may be kept for whoever asks again, and outlive them.
    return jsonText(200, eventText(event, SUMMARY, { cancelled }));
  }

  async function erase(call: Call): Promise<Reply> {
    await withdrawn(store.events.erase(...whose(call)));
    return NO_CONTENT;
  }

  /** Answers only once nothing more of it is started. */
  async function withdrawn(done: Promise<Withdrawal>): Promise<number> {
    const withdrawal = await done;
    if (withdrawal.result === "not_found") throw notFound();
    await deliveries.withdraw(withdrawal.deliveries);
    return withdrawal.cancelled;
  }

  return [
    {
      method: "POST",
      path: `${PATH}/cancel`,
      access: "manage",
      query: [TenantParameter],
      body: { maxBytes: 64 * 1024, schema: CancelBody, optional: true },
      audit: "event.cancel",
      operation: cancelEvent,
      handle: cancel,
    },
    {
      method: "DELETE",
      path: `${PATH}/data`,
      access: "manage",
      query: [TenantParameter],
      audit: "event.erase",
      operation: eraseEvent,
      handle: erase,
    },
  ];
}

function whose({ principal, params: { id = "" }, query }: Call): [tenant: string | null, id: string] {
  if (!isId("evt", id)) throw notFound();
  return [tenantToRead(principal, namedTenant(query)), id];
}
