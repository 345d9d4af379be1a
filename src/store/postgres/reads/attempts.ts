/** Attempts as they are shown, and deliveries with their last attempts. */
import type { KeyTimes } from "../../rows/key-times.ts";
import type { ShownStatus } from "../../../domain/deliveries/delivery.ts";
import type { Attempt, DeliveryView } from "../../store.ts";
import type { Queries } from "../engine/database.ts";
import { blockerSql } from "../../rows/blocker.ts";
import { eventId } from "../../rows/codes.ts";
import { attemptOf as viewOf, type AttemptRow as StoredAttempt } from "../../rows/attempt-row.ts";
import { deliveryOf as shownDelivery, type DeliveryRow as StoredDelivery } from "../../rows/delivery-row.ts";
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

export function attemptOf(row: AttemptRow): Attempt {
  const names = { event: eventId(row.event, row.random), endpoint: row.endpoint_id, url: row.url };
  return viewOf(row, { ...names, secretNow: row.secret_now });
}

/** The columns of an endpoint on which a delivery's status depends. */
export interface OfEndpoint {
  readonly endpoint_id: string;
  readonly enabled: number;
  readonly deleted: boolean;
  readonly cancel_to: number | null;
}

export interface DeliveryRow extends StoredDelivery, OfEndpoint {
  /** The random part of the event's id. */
  readonly random: string;
  readonly tenant: string;
  readonly type: string;
  readonly test: number;
}

export const OF_ENDPOINT = "p.id AS endpoint_id, p.enabled, p.deleted_at IS NOT NULL AS deleted, p.cancel_to";
/** SQL for the columns of `delivery d JOIN event e JOIN endpoint p`. */
export const DELIVERY = `d.event, d.endpoint, d.status, d.attempts, d.round, d.retry, d.trigger, d.due_at,
  d.sequence, ${blockerSql("json_build_array")} AS behind, e.random, e.tenant, e.type, e.test, ${OF_ENDPOINT}`;
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
  const last = lasts.get(nameOf(row));
  return shownDelivery(row, {
    ...row,
    event: eventId(row.event, row.random),
    receivedAt: times.madeAt(row.event),
    endpoint: row.endpoint_id,
    status: statusOf(row),
    lastAttempt: last === undefined ? null : attemptOf(last),
  });
}

export function nameOf({ event, endpoint }: { readonly event: number; readonly endpoint: number }): string {
  return `${event} ${endpoint}`;
}
