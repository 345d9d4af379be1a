/**
 * The route that sends a test event to one endpoint, and waits for the attempt if the caller asks: `docs/interface.md`
 * §3.
 */
import * as v from "valibot";
import type { EventType } from "../../domain/events/event-type.ts";
import { chosenOf, isPattern } from "../../domain/events/pattern.ts";
import { presentAttempt } from "../deliveries/attempts.ts";
import type { Publication } from "../../store/store.ts";
import type { ApiParts } from "../parts.ts";
import { namedTenant, TenantParameter, tenantToRead } from "../pipeline/access.ts";
import { endpointId } from "../pipeline/names.ts";
import { damagedEndpoint, json, jsonText, notFound, type Reply } from "../pipeline/reply.ts";
import { flagParameter } from "../pipeline/query.ts";
import { type Call, type Route } from "../pipeline/route.ts";
import { described } from "../pipeline/shapes.ts";
import { unknownType, readJson, validationFailed } from "../pipeline/body.ts";
import { publish } from "../publishing/publish.ts";
import { publicationText } from "../publishing/routes.ts";
import { sendTestEvent } from "./schemas.ts";

/**
 * The time that an attempt may take beyond its own limit, to wait for its turn, read the end of the body and be
 * committed.
 */
const SLACK_MS = 5000;
/** The interval at which to ask the store for an attempt that another node makes. */
const LOOK_MS = 50;
const Wait = flagParameter("wait", "Wait for the attempt, and answer with it.", false);

const TestBody = v.strictObject({
  type: v.optional(
    described(v.string(), "An event type; by default the first that the endpoint chose, or that its pattern matches."),
  ),
});

export function testEventRoutes(parts: ApiParts): Route[] {
  const { types } = parts.catalogue;
  const { store, deliveries, clock, config } = parts;

  async function sendTest(call: Call): Promise<Reply> {
    const { principal, query, body, now } = call;
    const given = body.length === 0 ? {} : readJson(body, TestBody);
    const wait = Wait.read(query) ?? false;
    const endpoint = await store.endpoints.get(
      tenantToRead(principal, namedTenant(query)),
      await endpointId(store, call),
    );
    if (endpoint === null) throw notFound();
    if (endpoint.damaged !== null) throw damagedEndpoint(endpoint.damaged);
    const type = sampled(given.type, endpoint.events, types);
    const data = Buffer.from(JSON.stringify(type.sample));
    const draft = { tenant: endpoint.tenant, type: type.name, createdAt: now, data, testFor: endpoint.id };
    const once = call.request && { ...call.request, answer: ([one]: readonly Publication[]) => one!.id };
    const [publication] = await publish(parts, [draft], { now }, once);
    const { id: event, fresh, waiting } = publication!;
    // During a pause or an outage the attempt is made later, so do not wait for it.
    if (wait && deliveries.halts.length === 0) {
      if (fresh.length > 0) await atMost(call, (enough) => deliveries.released(fresh[0]!, enough));
      // Another node owns the endpoint.
      else if (waiting.length > 0) await atMost(call, (enough) => recorded(parts, event, enough));
    }
    return asItIs(parts, event, wait);
  }

  /** Waits until the attempt is recorded, the client is gone, or the attempt takes too long. */
  async function atMost({ whenGone }: Call, ended: (enough: AbortSignal) => Promise<void>): Promise<void> {
    const enough = new AbortController();
    const giveUp = () => enough.abort();
    const cancels = [whenGone(giveUp), clock.after(config.retry.timeout + SLACK_MS, giveUp)];
    await ended(enough.signal);
    for (const cancel of cancels) cancel();
  }

  return [
    {
      method: "POST",
      path: "/v1/webhooks/:id/test",
      access: "replay",
      reach: "endpoint",
      query: [TenantParameter, Wait],
      body: { maxBytes: 64 * 1024, schema: TestBody, optional: true },
      audit: "endpoint.test",
      growth: { grows: 700, kept: "[retention] delivered and failed" },
      operation: sendTestEvent,
      again: ({ query }, event) => asItIs(parts, event, Wait.read(query) ?? false),
      handle: sendTest,
    },
  ];
}

/** By default the type is the first of the catalogue that one of the endpoint's names matches. */
function sampled(
  given: string | undefined,
  events: readonly string[],
  types: ReadonlyMap<string, EventType>,
): EventType {
  const [first] = events.flatMap((name) => chosenOf([name], types.keys()));
  const name = given ?? first ?? events[0]!;
  const type = types.get(name);
  if (type !== undefined) return type;
  // If the body names no type, the endpoint subscribes to one that has since left the configuration.
  const detail =
    given === undefined && isPattern(name)
      ? `is needed: ${events.join(", ")} matches no event type today; see GET /v1/webhooks/event-types`
      : unknownType(name, types);
  throw validationFailed([{ pointer: "/type", code: "unknown_event_type", detail }]);
}

/** Shows the event as it is now. The receiver's answer is stored in one place only, so that it can be erased. */
async function asItIs({ store }: ApiParts, id: string, wait: boolean): Promise<Reply> {
  const event = await store.reads.getEvent(null, id);
  if (event === null) throw notFound();
  const attempt = wait ? event.deliveries[0]?.lastAttempt : null;
  if (attempt) return json(200, presentAttempt(attempt));
  return jsonText(202, publicationText({ ...event, deliveries: event.deliveryCount }));
}

/** Resolves when the event's only attempt is on the disk, or when `enough` aborts. */
async function recorded({ store, clock }: ApiParts, event: string, enough: AbortSignal): Promise<void> {
  while (!enough.aborted) {
    if ((await store.reads.getEvent(null, event))?.deliveries[0]?.lastAttempt) return;
    await new Promise<void>((resolve) => void clock.after(LOOK_MS, resolve));
  }
}
