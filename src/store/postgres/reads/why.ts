/** Reads the facts that tell why an event arrived at an endpoint, or did not. */
import { dataOf } from "../../../domain/events/event.ts";
import { AHEAD_LIMIT, type WhyDelivery, type WhyFacts } from "../../../domain/events/why.ts";
import { outcomeCode, WAITING } from "../../rows/codes.ts";
import { whyDelivery } from "../../rows/delivery-row.ts";
import { choiceAt } from "../endpoints/choices.ts";
import { isOf } from "../endpoints/endpoint-rows.ts";
import type { Engine } from "../engine/engine.ts";
import { findEvent, type FoundEvent } from "../events/event-changes.ts";
import {
  ATTEMPT,
  attemptOf,
  DELIVERY,
  deliveryOf,
  FROM_ATTEMPT,
  FROM_DELIVERY,
  lastAttempts,
  type AttemptRow,
  type DeliveryRow,
} from "./attempts.ts";
import { labelsOf } from "./summaries.ts";

interface EndpointRow {
  readonly number: number;
  readonly tenant: string;
  readonly deleted_at: number | null;
}

export async function whyFacts(
  engine: Engine,
  tenant: string | null,
  eventId: string,
  endpointId: string,
): Promise<WhyFacts | "no_event" | "no_endpoint"> {
  const { database } = engine;
  const event = await findEvent(database, tenant, eventId);
  if (event === null) return "no_event";
  const sql = "SELECT number, tenant, deleted_at FROM endpoint WHERE id = $1";
  const [endpoint] = await database.rows<EndpointRow>(sql, [endpointId]);
  if (endpoint === undefined || !isOf(tenant, endpoint)) return "no_endpoint";
  const { key, type } = event;
  const [labels, [more], delivery] = await Promise.all([
    labelsOf(database, [key]),
    database.rows<{ body: Buffer | null; choice: number }>("SELECT body, choice FROM event WHERE key = $1", [key]),
    deliveryTo(engine, endpoint.number, event),
  ]);
  const body = more?.body ?? null;
  return {
    event: {
      type,
      tenant: event.tenant,
      receivedAt: engine.keys.times.madeAt(key),
      test: event.test === 1,
      data: body === null ? null : dataOf(body, eventId, type),
      tags: labels.get(key)?.tags ?? [],
      erasedAt: event.erased_at,
    },
    endpoint: { tenant: endpoint.tenant, deletedAt: endpoint.deleted_at },
    decidedBy: await choiceAt(database, endpoint.number, more?.choice ?? 0, engine.owner.owns === null),
    delivery,
  };
}

async function deliveryTo(engine: Engine, endpoint: number, { key }: FoundEvent): Promise<WhyDelivery | null> {
  const { database } = engine;
  const sql = `SELECT ${DELIVERY} FROM ${FROM_DELIVERY} WHERE d.event = $1 AND d.endpoint = $2`;
  const [row] = await database.rows<DeliveryRow>(sql, [key, endpoint]);
  if (row === undefined) return null;
  const view = deliveryOf(row, await lastAttempts(database, [row]), engine.keys.times);
  const isOther = view.status === "delivered" && view.lastAttempt?.outcome !== "succeeded";
  const [success] = isOther
    ? await database.rows<AttemptRow>(
        `SELECT ${ATTEMPT} FROM ${FROM_ATTEMPT} WHERE a.event = $1 AND a.endpoint = $2 AND a.outcome = $3
         ORDER BY a.number DESC LIMIT 1`,
        [key, endpoint, outcomeCode("succeeded")],
      )
    : [];
  const waits = view.status === "pending" && row.status === WAITING;
  const [ahead] = waits
    ? await database.rows<{ count: number }>(
        `SELECT count(*)::integer AS count FROM (SELECT 1 FROM delivery
           WHERE status = ${WAITING} AND endpoint = $1 AND (due_at, event) < ($2::bigint, $3::bigint)
           LIMIT ${AHEAD_LIMIT}) AS before`,
        [endpoint, row.due_at, key],
      )
    : [];
  return whyDelivery(view, success === undefined ? null : attemptOf(success), ahead?.count ?? null);
}
