/** Reads due deliveries. Nothing is claimed on disk: a row stays as it is until its attempt is recorded. */
import type { Database, Statement } from "better-sqlite3";
import type { Claim, Position } from "../../../domain/deliveries/delivery.ts";
import type { DuePage, PendingDelivery } from "../../store.ts";
import { CHUNK } from "../engine/group-commit.ts";
import type { EndpointEntry, EndpointIndex } from "../numbers/endpoint-index.ts";
import {
  BEHIND,
  FRESH,
  isBehind,
  traceOf,
  triggerCode,
  triggerOf,
  WAITING,
  deliveryId,
  eventId,
  positionKey,
  wholeBody,
  type StoredBody,
} from "../../rows/codes.ts";
import { orderedOf } from "../../rows/delivery-row.ts";
import { FRESH_FROM, LARGE_DATA } from "../numbers/fragments.ts";

export interface ClaimRow extends StoredBody {
  readonly event: number;
  readonly due_at: number;
  readonly attempts: number;
  readonly round: number;
  readonly retry: number;
  readonly trigger: number;
  readonly random: string;
  readonly trace: string | null;
  readonly ordering_key: number | null;
  readonly sequence: number | null;
}

interface PendingRow {
  readonly event: number;
  readonly due_at: number;
  readonly random: string;
}

interface AheadRow {
  readonly event: number;
  readonly due_at: number;
  readonly first: 0 | 1;
}

/** SQL for the columns of a `ClaimRow`, from a delivery `d` and its event `e`. */
export const CLAIM = `d.event, d.due_at, d.attempts, d.round, d.retry, d.trigger, d.ordering_key, d.sequence, e.random,
  e.trace, e.body_hash, e.body,  ${LARGE_DATA} AS data`;

const LADDER = triggerCode("ladder");
/** The number of rows read in one search for first attempts. */
const LOOKED_AT = 1024;
const NOTHING: DuePage = { claims: [], nextDueAt: null };
const CANCELLING: DuePage = { ...NOTHING, cancelling: true };

export class Due {
  readonly #index: EndpointIndex;
  readonly #page: Statement<[number, number, number, number, number], ClaimRow>;
  readonly #ahead: Statement<[number, number, number, number, number], AheadRow>;
  readonly #random: Statement<[number], string>;
  readonly #one: Statement<[number, number], ClaimRow>;
  readonly #next: Statement<[number, number, number], number>;
  readonly #earliest: Statement<[number, number], [id: string, dueAt: number]>;
  readonly #waiting: Statement<[number, number, number, number], PendingRow>;
  readonly #fresh: Statement<[number, number, number], PendingRow & { endpoint: number }>;

  constructor(db: Database, index: EndpointIndex) {
    this.#index = index;
    this.#page = db.prepare(
      `SELECT ${CLAIM}
       FROM delivery d INDEXED BY delivery_waiting CROSS JOIN event e ON e.key = d.event
       WHERE d.status = ${WAITING} AND d.endpoint = ? AND (d.due_at, d.event) > (?, ?) AND d.due_at <= ?
       ORDER BY d.due_at, d.event LIMIT ?`,
    );
    this.#ahead = db.prepare(
      `SELECT event, due_at, attempts = 0 AND round = 1 AND trigger = ${LADDER} AS first
       FROM delivery INDEXED BY delivery_waiting
       WHERE status = ${WAITING} AND endpoint = ? AND (due_at, event) > (?, ?) AND due_at <= ?
       ORDER BY due_at, event LIMIT ?`,
    );
    this.#random = db.prepare<[number], string>("SELECT random FROM event WHERE key = ?").pluck();
    this.#one = db.prepare(
      `SELECT ${CLAIM}
       FROM delivery d JOIN event e ON e.key = d.event
       WHERE d.status = ${WAITING} AND d.due_at < ${BEHIND} AND d.event = ? AND d.endpoint = ?`,
    );
    this.#next = db
      .prepare<[number, number, number], number>(
        `SELECT due_at FROM delivery INDEXED BY delivery_waiting
         WHERE status = ${WAITING} AND endpoint = ? AND (due_at, event) > (?, ?) AND due_at < ${BEHIND}
         ORDER BY due_at, event LIMIT 1`,
      )
      .pluck();
    const waiting = `FROM delivery INDEXED BY delivery_waiting WHERE status = ${WAITING} AND endpoint`;
    // Hops from endpoint to endpoint along the index, so the number of steps depends on the number of endpoints, not on
    // the backlog.
    this.#earliest = db
      .prepare<[number, number], [id: string, dueAt: number]>(
        `WITH RECURSIVE hop (number) AS (
           SELECT (SELECT endpoint ${waiting} > ? ORDER BY endpoint LIMIT 1)
           UNION ALL
           SELECT (SELECT endpoint ${waiting} > number ORDER BY endpoint LIMIT 1) FROM hop WHERE number IS NOT NULL LIMIT ?
         )
         SELECT e.id, (SELECT due_at ${waiting} = e.number ORDER BY due_at LIMIT 1)
         FROM hop CROSS JOIN endpoint e ON e.number = hop.number`,
      )
      .raw();
    this.#waiting = db.prepare(
      `SELECT d.event, d.due_at, e.random
       FROM delivery d INDEXED BY delivery_waiting CROSS JOIN event e ON e.key = d.event
       WHERE d.status = ${WAITING} AND d.endpoint = ? AND (d.due_at, d.event) > (?, ?) AND d.due_at < ${BEHIND}
       ORDER BY d.due_at, d.event LIMIT ?`,
    );
    this.#fresh = db.prepare(
      `SELECT d.event, d.endpoint, d.due_at, e.random
       FROM delivery d CROSS JOIN event e ON e.key = d.event
       WHERE d.status = ${FRESH} AND (d.event, d.endpoint) > (max(?, ${FRESH_FROM} - 1), ?) ORDER BY d.event, d.endpoint LIMIT ?`,
    );
  }

  page(endpointId: string, after: Position, until: number, limit: number): DuePage {
    const endpoint = this.#index.byId(endpointId);
    if (endpoint === undefined) return NOTHING;
    if (endpoint.cancelTo !== null) return CANCELLING;
    const from = positionKey(after.event);
    const rows = this.#page.all(endpoint.number, after.dueAt, from, Math.min(until, BEHIND - 1), limit);
    const last = rows.at(-1);
    const nextDueAt = this.#next.get(endpoint.number, last?.due_at ?? after.dueAt, last?.event ?? from) ?? null;
    return { claims: rows.map((row) => claimOf(endpoint, row)), nextDueAt };
  }

  /** Does the same as `page`, but only for first attempts among the next thousand rows. */
  first(endpointId: string, after: Position, until: number, limit: number): DuePage {
    const endpoint = this.#index.byId(endpointId);
    if (endpoint === undefined) return { ...NOTHING, reached: null };
    if (endpoint.cancelTo !== null) return CANCELLING;
    const rows = this.#ahead.all(
      endpoint.number,
      after.dueAt,
      positionKey(after.event),
      Math.min(until, BEHIND - 1),
      LOOKED_AT,
    );
    const claims: Claim[] = [];
    let last: AheadRow | undefined;
    for (const row of rows) {
      if (claims.length === limit) break;
      last = row;
      if (row.first === 1) claims.push(claimOf(endpoint, this.#one.get(row.event, endpoint.number)!));
    }
    const wasAll = rows.length < LOOKED_AT && last === rows.at(-1);
    const reached = wasAll
      ? null
      : { dueAt: last!.due_at, event: eventId(last!.event, this.#random.get(last!.event)!) };
    return { claims, nextDueAt: null, reached };
  }

  /** Returns null if the delivery does not wait. */
  claim(event: number, endpoint: number): Claim | null {
    const row = this.#one.get(event, endpoint);
    const entry = this.#index.byNumber(endpoint);
    return row === undefined || event <= (entry.cancelTo ?? -1) ? null : claimOf(entry, row);
  }

  earliest(after: string | null, limit: number): Map<string, number> {
    const last = after === null ? -1 : (this.#index.byId(after)?.number ?? Number.MAX_SAFE_INTEGER);
    return new Map(this.#earliest.all(last, limit).map(([id, dueAt]) => [id, isBehind(dueAt) ? Infinity : dueAt]));
  }

  waiting(endpointId: string, after: Position, limit: number): PendingDelivery[] {
    const endpoint = this.#index.byId(endpointId);
    if (endpoint === undefined || endpoint.cancelTo !== null) return [];
    const rows = this.#waiting.all(endpoint.number, after.dueAt, positionKey(after.event), Math.min(limit, CHUNK));
    return rows.map((row) => pendingOf(endpoint, row));
  }

  fresh(after: PendingDelivery | null, limit: number): PendingDelivery[] {
    const event = after === null ? -1 : positionKey(after.event);
    const endpoint = after === null ? -1 : (this.#index.byId(after.endpoint)?.number ?? -1);
    const rows = this.#fresh.all(event, endpoint, Math.min(limit, CHUNK));
    return rows.map((row) => pendingOf(this.#index.byNumber(row.endpoint), row));
  }
}

function pendingOf(endpoint: EndpointEntry, { event: key, random, due_at: dueAt }: PendingRow): PendingDelivery {
  const event = eventId(key, random);
  return { endpoint: endpoint.id, event, delivery: deliveryId(event, endpoint.number), dueAt };
}

export function claimOf(endpoint: EndpointEntry, row: ClaimRow): Claim {
  const event = eventId(row.event, row.random);
  const { body, isIntact } = wholeBody(row);
  const claim: Claim = {
    event,
    delivery: deliveryId(event, endpoint.number),
    endpoint: endpoint.id,
    body,
    trace: traceOf(row.trace),
    number: row.attempts + 1,
    round: row.round,
    retry: row.retry,
    trigger: triggerOf(row.trigger),
    dueAt: row.due_at,
    fresh: row.attempts === 0 && row.round === 1 && row.trigger === LADDER,
  };
  const ordered = orderedOf({ key: row.ordering_key, sequence: row.sequence });
  if (isIntact && ordered === null) return claim;
  return { ...claim, ...(ordered && { ordered }), ...(!isIntact && { corrupt: true }) };
}
