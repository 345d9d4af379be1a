/** Attempts as they are shown, and deliveries with their last attempts. */
import type { KeyTimes } from "../../rows/key-times.ts";
import { answered, type Outcome } from "../../../domain/deliveries/attempt.ts";
import type { ShownStatus } from "../../../domain/deliveries/delivery.ts";
import type { Attempt, DeliveryView } from "../../store.ts";
import type { Queries } from "../engine/database.ts";
import { attemptId, deliveryId, eventId, outcomeOf, triggerOf, WAITING } from "../../rows/codes.ts";
import { readConnection, type AttemptRow as StoredAttempt, type ConnectionDetails } from "../../rows/attempt-row.ts";
import { shownStatus } from "../../rows/shown-status.ts";

/** In this store each attempt has its whole URL. */
export interface AttemptRow extends Omit<StoredAttempt, "url"> {
  readonly url: string;
  /** The random part of the event's id. */
  readonly random: string;
  /** The id of the endpoint. */
  readonly endpoint_id: string;
  readonly secret_now: number;
}

/** SQL for the columns of `attempt a JOIN event e JOIN endpoint p`. */
export const ATTEMPT = "a.*, e.random, p.id AS endpoint_id, p.secret_version AS secret_now";
export const FROM_ATTEMPT = "attempt a JOIN event e ON e.key = a.event JOIN endpoint p ON p.number = a.endpoint";

const NO_BODY = new Uint8Array(0);

export function attemptOf(row: AttemptRow): Attempt {
  const event = eventId(row.event, row.random);
  const trigger = triggerOf(row.trigger);
  const onLadder = trigger === "ladder" || trigger === "replay";
  const details: ConnectionDetails & Pick<Outcome, "detail"> =
    row.details === null
      ? { detail: answered(row.status_code), ...readConnection(row.connection, row.started_at) }
      : (JSON.parse(row.details) as ConnectionDetails & Pick<Outcome, "detail">);
  return {
    id: attemptId(event, row.endpoint, row.number),
    event,
    delivery: deliveryId(event, row.endpoint),
    endpoint: row.endpoint_id,
    url: row.url,
    number: row.number,
    trigger,
    round: row.round,
    retry: onLadder ? row.retry : null,
    startedAt: row.started_at,
    durationMs: row.duration_ms,
    outcome: outcomeOf(row.outcome),
    statusCode: row.status_code,
    error: row.error,
    bodyError: row.body_error,
    secret: row.secret_version === null ? null : row.secret_version === row.secret_now ? "current" : "previous",
    ...details,
    responseBody: row.body ?? NO_BODY,
    responseTruncated: row.truncated === 1,
  };
}

/** The columns of an endpoint on which a delivery's status depends. */
export interface OfEndpoint {
  readonly endpoint_id: string;
  readonly enabled: number;
  readonly deleted: boolean;
  readonly cancel_to: number | null;
}

export interface DeliveryRow extends OfEndpoint {
  readonly event: number;
  readonly endpoint: number;
  readonly status: number;
  readonly attempts: number;
  readonly round: number;
  readonly retry: number;
  readonly trigger: number;
  readonly due_at: number | null;
  /** The random part of the event's id. */
  readonly random: string;
  readonly tenant: string;
  readonly type: string;
  readonly test: number;
}

export const OF_ENDPOINT = "p.id AS endpoint_id, p.enabled, p.deleted_at IS NOT NULL AS deleted, p.cancel_to";
/** SQL for the columns of `delivery d JOIN event e JOIN endpoint p`. */
export const DELIVERY = `d.event, d.endpoint, d.status, d.attempts, d.round, d.retry, d.trigger, d.due_at,
  e.random, e.tenant, e.type, e.test, ${OF_ENDPOINT}`;
export const FROM_DELIVERY = "delivery d JOIN event e ON e.key = d.event JOIN endpoint p ON p.number = d.endpoint";

/** Selects the same for rows `event, endpoint`, each found by its key. The planner must not begin at another table. */
export const fromKeys = (keys: string) => `${keys} k
  CROSS JOIN LATERAL (SELECT * FROM delivery o WHERE o.event = k.event AND o.endpoint = k.endpoint LIMIT 1) d
  CROSS JOIN LATERAL (SELECT * FROM event o WHERE o.key = k.event LIMIT 1) e
  CROSS JOIN LATERAL (SELECT * FROM endpoint o WHERE o.number = k.endpoint LIMIT 1) p`;

export function statusOf(
  row: Pick<DeliveryRow, "event" | "status" | "trigger" | "enabled" | "deleted" | "cancel_to">,
): ShownStatus {
  return shownStatus({ enabled: row.enabled === 1, deleted: row.deleted, cancelTo: row.cancel_to }, row);
}

/** Keyed by delivery: `event endpoint`. */
export async function lastAttempts(
  queries: Queries,
  rows: readonly { readonly event: number; readonly endpoint: number }[],
): Promise<Map<string, AttemptRow>> {
  if (rows.length === 0) return new Map();
  const found = await queries.rows<AttemptRow>(
    `SELECT ${ATTEMPT} FROM unnest($1::bigint[], $2::integer[]) AS n (event, endpoint)
     CROSS JOIN LATERAL (SELECT * FROM attempt l WHERE l.event = n.event AND l.endpoint = n.endpoint
       ORDER BY l.number DESC LIMIT 1) a
     JOIN event e ON e.key = a.event JOIN endpoint p ON p.number = a.endpoint`,
    [rows.map(({ event }) => event), rows.map(({ endpoint }) => endpoint)],
  );
  return new Map(found.map((row) => [nameOf(row), row]));
}

export function deliveryOf(row: DeliveryRow, lasts: ReadonlyMap<string, AttemptRow>, times: KeyTimes): DeliveryView {
  const status = statusOf(row);
  const event = eventId(row.event, row.random);
  const last = lasts.get(nameOf(row));
  return {
    id: deliveryId(event, row.endpoint),
    event,
    type: row.type,
    receivedAt: times.madeAt(row.event),
    tenant: row.tenant,
    test: row.test === 1,
    endpoint: row.endpoint_id,
    status,
    attempts: row.attempts,
    round: row.round,
    retry: status === "pending" || status === "held" ? row.retry : null,
    nextAttemptAt: status === "pending" && row.status <= WAITING ? row.due_at : null,
    lastAttempt: last === undefined ? null : attemptOf(last),
  };
}

export function nameOf({ event, endpoint }: { readonly event: number; readonly endpoint: number }): string {
  return `${event} ${endpoint}`;
}
