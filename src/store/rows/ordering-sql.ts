/** SQL about the lines of ordering keys, which both stores read alike. */
import type { HeldKeys } from "../../domain/deliveries/ordering.ts";
import { eventId } from "./codes.ts";

/** True if the endpoint `e` holds no key, whatever fails there. `holdsKey` decides the same for a delivery. */
export const FREED = "(e.ordering <> 'by_key' OR e.after_failure <> 'hold' OR e.deleted_at IS NOT NULL)";

/**
 * Selects what holds a key, although its endpoint does not hold any now. A failure that one node records while another
 * deletes the endpoint may hold a key of it.
 */
export const FREED_KEYS = `SELECT h.ordering_key AS key, h.sequence, h.event, h.endpoint
  FROM held_key h JOIN endpoint e ON e.number = h.endpoint WHERE ${FREED}`;

/** True if every event of an ordering key is gone, so that its row may go too. */
export const IS_OVER = `seen < coalesce((SELECT min(key) FROM event), ${Number.MAX_SAFE_INTEGER})`;

const OLDEST = "ORDER BY h.since, h.ordering_key LIMIT 1";

/**
 * Selects the endpoints that have held keys for longest, with two steps in the index for each endpoint that has any.
 */
export function holdingSql(limit: string): string {
  return `
    WITH RECURSIVE holding (number) AS (
      SELECT min(endpoint) FROM held_key
      UNION ALL SELECT (SELECT min(endpoint) FROM held_key WHERE endpoint > holding.number) FROM holding
      WHERE holding.number IS NOT NULL)
    SELECT e.number, e.id, (SELECT h.since FROM held_key h WHERE h.endpoint = e.number ${OLDEST}) AS since
    FROM holding CROSS JOIN endpoint e WHERE e.number = holding.number AND e.deleted_at IS NULL
    ORDER BY since LIMIT ${limit}`;
}

export interface HoldingRow {
  readonly number: number;
  readonly id: string;
}

/**
 * Selects the held keys of the endpoints whose numbers this SQL selects, the longest held first, and counts them up to
 * the limit. If several failed deliveries hold a key, the first in line must go first.
 */
export function heldKeysSql(endpoints: string, limit: string): string {
  const oldest = `FROM held_key h WHERE h.endpoint = n.number ${OLDEST}`;
  return `SELECT o.number, o.count, o.since, k.key AS line, e.key AS event, e.random FROM (
      SELECT n.number, (SELECT h.since ${oldest}) AS since, (SELECT h.ordering_key ${oldest}) AS num,
        (SELECT count(DISTINCT few.num) FROM (
           SELECT h.ordering_key AS num FROM held_key h WHERE h.endpoint = n.number LIMIT ${limit}) few) AS count
      FROM (${endpoints}) n) o
    JOIN ordering_key k ON k.num = o.num
    JOIN event e ON e.key = (
      SELECT h.event FROM held_key h WHERE h.ordering_key = o.num ORDER BY h.sequence, h.event LIMIT 1)
    ORDER BY o.since`;
}

export interface HeldKeysRow {
  /** That of the endpoint. */
  readonly number: number;
  readonly count: number;
  readonly since: number;
  readonly line: string;
  readonly event: number;
  readonly random: string;
}

export function heldKeysOf({ count, since, line, event, random }: HeldKeysRow): HeldKeys {
  return { count, since, orderingKey: line, event: eventId(event, random) };
}
