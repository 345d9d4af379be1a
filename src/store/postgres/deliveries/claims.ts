/** Reads due deliveries. Nothing is claimed on disk: a row stays as it is until its attempt is recorded. */
import type { Claim, JobPace, Position } from "../../../domain/deliveries/delivery.ts";
import type { DuePage, EventDelivery, PendingDelivery } from "../../store.ts";
import type { Queries } from "../engine/database.ts";
import { CHUNK } from "../engine/engine.ts";
import { bound } from "../engine/page.ts";
import {
  BEHIND,
  bodyHash,
  deliveryId,
  eventId,
  FAILED,
  FRESH,
  isBehind,
  keyOf,
  parseDeliveryId,
  positionKey,
  traceOf,
  triggerCode,
  triggerOf,
  WAITING,
} from "../../rows/codes.ts";
import { orderedOf } from "../../rows/delivery-row.ts";

interface ClaimRow {
  readonly event: number;
  readonly endpoint: number;
  readonly endpoint_id: string;
  readonly due_at: number | null;
  readonly attempts: number;
  readonly round: number;
  readonly retry: number;
  readonly trigger: number;
  readonly random: string;
  readonly trace: string | null;
  readonly body_hash: Buffer;
  readonly body: Buffer | null;
  readonly ordering_key: number | null;
  readonly sequence: number | null;
}

interface PendingRow {
  readonly event: number;
  readonly endpoint: number;
  readonly endpoint_id: string;
  readonly due_at: number;
  readonly random: string;
}

const LADDER = triggerCode("ladder");
/** The number of rows read in one search for first attempts. */
const LOOKED_AT = 1024;
const NOTHING: DuePage = { claims: [], nextDueAt: null };
const CANCELLING: DuePage = { ...NOTHING, cancelling: true };

const COLUMNS = `d.event, d.endpoint, p.id AS endpoint_id, d.due_at, d.attempts, d.round, d.retry, d.trigger, e.random,
  e.trace, e.body_hash, e.body, d.ordering_key, d.sequence`;
const FROM = "delivery d JOIN event e ON e.key = d.event JOIN endpoint p ON p.number = d.endpoint";
const IS_FIRST = `d.attempts = 0 AND d.round = 1 AND d.trigger = ${LADDER}`;

interface Place {
  readonly number: number;
  readonly cancelling: boolean;
}

async function placeOf(queries: Queries, endpoint: string): Promise<Place | null> {
  const sql = "SELECT number, cancel_to IS NOT NULL AS cancelling FROM endpoint WHERE id = $1";
  return (await queries.rows<Place>(sql, [endpoint]))[0] ?? null;
}

export interface DueRead {
  readonly endpoint: string;
  readonly after: Position;
  readonly until: number;
  readonly limit: number;
}

interface DueRow extends Partial<ClaimRow> {
  /** The number of the read that found it, from 1. */
  readonly at: number;
  readonly cancelling: boolean;
  /** The due time of the first delivery after `until`. */
  readonly next: number | null;
}

/** Returns a page for each read, in the same order. One statement reads several endpoints. */
export async function duePages(queries: Queries, reads: readonly DueRead[]): Promise<DuePage[]> {
  const waits = `d.status = ${WAITING} AND d.endpoint = p.number AND (d.due_at, d.event) > (r.due_at, r.event)`;
  // Read one row more, to find out when the next delivery falls due, if that is within the page's time.
  const rows = await queries.rows<DueRow>(
    `SELECT r.at, p.cancel_to IS NOT NULL AS cancelling, n.due_at AS next, c.*
     FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::integer[])
       WITH ORDINALITY AS r (id, due_at, event, until, size, at)
     JOIN endpoint p ON p.id = r.id
     LEFT JOIN LATERAL (
       SELECT d.due_at FROM delivery d WHERE ${waits} AND d.due_at > r.until AND d.due_at < ${BEHIND} ORDER BY d.due_at, d.event LIMIT 1) n ON true
     LEFT JOIN LATERAL (
       SELECT ${COLUMNS} FROM delivery d JOIN event e ON e.key = d.event
       WHERE ${waits} AND d.due_at <= r.until ORDER BY d.due_at, d.event LIMIT r.size) c ON p.cancel_to IS NULL
     ORDER BY r.at, c.due_at, c.event`,
    [
      reads.map(({ endpoint }) => endpoint),
      reads.map(({ after }) => bound(after.dueAt)),
      reads.map(({ after }) => positionKey(after.event)),
      reads.map(({ until }) => bound(Math.min(until, BEHIND - 1))),
      reads.map(({ limit }) => limit + 1),
    ],
  );
  const found = Map.groupBy(rows, ({ at }) => at);
  const pages = reads.map(({ limit }, at) => pageOf(found.get(at + 1) ?? [], limit));
  const claims = await paced(
    queries,
    pages.flatMap((page) => page.claims),
  );
  let from = 0;
  return pages.map((page) => ({ ...page, claims: claims.slice(from, (from += page.claims.length)) }));
}

function pageOf(rows: readonly DueRow[], limit: number): DuePage {
  const [first] = rows;
  if (first === undefined) return NOTHING;
  if (first.cancelling) return CANCELLING;
  const some = rows.filter((row) => row.event !== null) as (DueRow & ClaimRow)[];
  return { claims: some.slice(0, limit).map(claimOf), nextDueAt: some[limit]?.due_at ?? first.next };
}

/** Does the same as `duePages` for the first attempts of one endpoint, among the next thousand rows. */
export async function dueFirstPage(
  queries: Queries,
  endpoint: string,
  after: Position,
  until: number,
  limit: number,
): Promise<DuePage> {
  const place = await placeOf(queries, endpoint);
  if (place === null) return { ...NOTHING, reached: null };
  if (place.cancelling) return CANCELLING;
  const ahead = await queries.rows<{ event: number; due_at: number; random: string; first: boolean }>(
    `SELECT d.event, d.due_at, e.random, ${IS_FIRST} AS first FROM delivery d JOIN event e ON e.key = d.event
     WHERE d.status = ${WAITING} AND d.endpoint = $1 AND (d.due_at, d.event) > ($2, $3) AND d.due_at <= $4
     ORDER BY d.due_at, d.event LIMIT ${LOOKED_AT}`,
    [place.number, bound(after.dueAt), positionKey(after.event), bound(Math.min(until, BEHIND - 1))],
  );
  const firsts = ahead.filter(({ first }) => first).slice(0, limit);
  const last = firsts.length === limit ? firsts.at(-1)! : ahead.at(-1);
  const rows = await queries.rows<ClaimRow>(
    `SELECT ${COLUMNS} FROM ${FROM} WHERE d.event = ANY($1::bigint[]) AND d.endpoint = $2 AND d.status = ${WAITING}
     ORDER BY d.due_at, d.event`,
    [firsts.map(({ event }) => event), place.number],
  );
  const wasAll = ahead.length < LOOKED_AT && last === ahead.at(-1);
  const reached = wasAll ? null : { dueAt: last!.due_at, event: eventId(last!.event, last!.random) };
  return { claims: rows.map(claimOf), nextDueAt: null, reached };
}

/**
 * Hops from endpoint to endpoint along the index, so the number of steps depends on the number of endpoints, not on the
 * backlog.
 */
export async function earliestDue(
  queries: Queries,
  slots: readonly number[] | null,
  after: string | null,
  limit: number,
): Promise<Map<string, number>> {
  const waits = `FROM delivery WHERE status = ${WAITING} AND endpoint`;
  const rows = await queries.rows<{ id: string; due_at: number }>(
    `WITH RECURSIVE hop (number) AS (
       SELECT (SELECT endpoint ${waits} > coalesce((SELECT number FROM endpoint WHERE id = $1), -1)
               ORDER BY endpoint LIMIT 1)
       UNION ALL
       SELECT (SELECT endpoint ${waits} > hop.number ORDER BY endpoint LIMIT 1) FROM hop WHERE hop.number IS NOT NULL
     ), few AS (
       SELECT h.number FROM hop h JOIN endpoint p ON p.number = h.number
       WHERE $3::smallint[] IS NULL OR p.slot = ANY($3::smallint[]) LIMIT $2)
     SELECT e.id, (SELECT due_at ${waits} = e.number ORDER BY due_at LIMIT 1) AS due_at
     FROM few JOIN endpoint e ON e.number = few.number ORDER BY e.number`,
    [after, limit, slots],
  );
  return new Map(rows.map(({ id, due_at: dueAt }) => [id, isBehind(dueAt) ? Number.POSITIVE_INFINITY : dueAt]));
}

const OWED = "SELECT d.event, d.endpoint, p.id AS endpoint_id, d.due_at, e.random";

export async function waitingPage(
  queries: Queries,
  endpoint: string,
  after: Position,
  limit: number,
): Promise<PendingDelivery[]> {
  const rows = await queries.rows<PendingRow>(
    `${OWED} FROM ${FROM} WHERE p.id = $1 AND p.cancel_to IS NULL AND d.status = ${WAITING}
       AND (d.due_at, d.event) > ($2, $3) AND d.due_at < ${BEHIND} ORDER BY d.due_at, d.event LIMIT $4`,
    [endpoint, bound(after.dueAt), positionKey(after.event), Math.min(limit, CHUNK)],
  );
  return rows.map(pendingOf);
}

export async function freshPage(
  queries: Queries,
  slots: readonly number[] | null,
  after: PendingDelivery | null,
  limit: number,
): Promise<PendingDelivery[]> {
  const rows = await queries.rows<PendingRow>(
    `${OWED} FROM ${FROM} WHERE d.status = ${FRESH}
       AND (d.event, d.endpoint) > ($1, coalesce((SELECT number FROM endpoint WHERE id = $2), -1))
       AND ($4::smallint[] IS NULL OR d.slot = ANY($4::smallint[]))
     ORDER BY d.event, d.endpoint LIMIT $3`,
    [after === null ? -1 : positionKey(after.event), after?.endpoint ?? null, Math.min(limit, CHUNK), slots],
  );
  return rows.map(pendingOf);
}

/** Returns null if the delivery does not wait. */
export async function waitingClaim(queries: Queries, event: number, endpoint: number): Promise<Claim | null> {
  const [row] = await queries.rows<ClaimRow>(
    `SELECT ${COLUMNS} FROM ${FROM} WHERE d.event = $1 AND d.endpoint = $2 AND d.status = ${WAITING}
       AND d.due_at < ${BEHIND} AND d.event > coalesce(p.cancel_to, -1)`,
    [event, endpoint],
  );
  return row === undefined ? null : claimOf(row);
}

/** Returns null if no attempt is requested, or if a fresh delivery's own attempt must end first. */
export async function requestedClaim(queries: Queries, event: number, endpoint: number): Promise<Claim | null> {
  const [row] = await queries.rows<ClaimRow & { test: number; urgent: number }>(
    `SELECT ${COLUMNS}, e.test, m.urgent FROM ${FROM} JOIN manual_attempt m ON m.event = d.event AND m.endpoint = d.endpoint
     WHERE d.event = $1 AND d.endpoint = $2 AND d.status IN (${WAITING}, ${FAILED}) AND e.body IS NOT NULL
       AND coalesce(d.due_at, 0) < ${BEHIND} AND p.deleted_at IS NULL AND NOT (d.status = ${WAITING} AND d.event <= coalesce(p.cancel_to, -1))`,
    [event, endpoint],
  );
  if (row === undefined) return null;
  const trigger = row.test === 1 ? "test" : "manual";
  const [claim] = await paced(queries, [{ ...claimOf(row), trigger, fresh: row.urgent === 1 } satisfies Claim]);
  return claim!;
}

export async function requestedPage(
  queries: Queries,
  slots: readonly number[] | null,
  after: EventDelivery | null,
  limit: number,
): Promise<EventDelivery[]> {
  const from = after === null ? null : parseDeliveryId(after.delivery);
  const rows = await queries.rows<Omit<PendingRow, "due_at">>(
    `SELECT m.event, m.endpoint, p.id AS endpoint_id, e.random
     FROM manual_attempt m JOIN event e ON e.key = m.event JOIN endpoint p ON p.number = m.endpoint
     WHERE (m.event, m.endpoint) > ($1, $2) AND ($4::smallint[] IS NULL OR p.slot = ANY($4::smallint[])) ORDER BY m.event, m.endpoint LIMIT $3`,
    [from?.event ?? -1, from?.endpoint ?? -1, limit, slots],
  );
  return rows.map(({ event, endpoint, endpoint_id: id, random }) => ({
    delivery: deliveryId(eventId(event, random), endpoint),
    endpoint: id,
  }));
}

/**
 * Adds the pace of the job that requested each attempt, or the slowest pace of several jobs. A job never releases an
 * attempt by the ladder.
 */
async function paced(queries: Queries, claims: readonly Claim[]): Promise<Claim[]> {
  const some = claims.filter(({ trigger }) => trigger !== "ladder");
  if (some.length === 0) return [...claims];
  const rows = await queries.rows<JobPace & { event: number; endpoint: string }>(
    `SELECT d.event, p.id AS endpoint, j.id AS job, j.rate_per_second AS "perSecond"
     FROM job_delivery d JOIN job j ON j.num = d.job JOIN endpoint p ON p.number = d.endpoint
     WHERE d.released = 1 AND d.event = ANY($1::bigint[]) ORDER BY j.rate_per_second DESC`,
    [some.map(({ event }) => keyOf(event))],
  );
  const paces = new Map(rows.map(({ event, endpoint, ...pace }) => [`${event} ${endpoint}`, pace]));
  return claims.map((claim) => {
    const pace = claim.trigger === "ladder" ? undefined : paces.get(`${keyOf(claim.event)} ${claim.endpoint}`);
    return pace === undefined ? claim : { ...claim, pace };
  });
}

function pendingOf({ event: key, endpoint, endpoint_id: id, random, due_at: dueAt }: PendingRow): PendingDelivery {
  const event = eventId(key, random);
  return { endpoint: id, event, delivery: deliveryId(event, endpoint), dueAt };
}

function claimOf(row: ClaimRow): Claim {
  const event = eventId(row.event, row.random);
  const body = row.body ?? Buffer.alloc(0);
  const claim: Claim = {
    event,
    delivery: deliveryId(event, row.endpoint),
    endpoint: row.endpoint_id,
    body,
    trace: traceOf(row.trace),
    number: row.attempts + 1,
    round: row.round,
    retry: row.retry,
    trigger: triggerOf(row.trigger),
    // Infinity stands for no due time. Nobody reads it here.
    dueAt: row.due_at ?? Number.POSITIVE_INFINITY,
    fresh: row.attempts === 0 && row.round === 1 && row.trigger === LADDER,
  };
  const isIntact = bodyHash(body).equals(row.body_hash);
  const ordered = orderedOf({ key: row.ordering_key, sequence: row.sequence });
  if (isIntact && ordered === null) return claim;
  return { ...claim, ...(ordered && { ordered }), ...(!isIntact && { corrupt: true }) };
}
