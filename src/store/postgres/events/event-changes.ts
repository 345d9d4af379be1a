/** Changes to an event that was published: replay, cancel and erase. */
import { isOpen } from "../../../domain/deliveries/delivery.ts";
import { replayOf, replayTrigger, whoIsNotified } from "../../../domain/deliveries/withdrawal.ts";
import type { LeftAlone, Replay, ReplayScope, Waiting, Withdrawal, WithdrawnDelivery } from "../../store.ts";
import { type Pending, pendingOfEach } from "../deliveries/pending.ts";
import { KEPT, receivingOf } from "../endpoints/endpoint-rows.ts";
import type { Queries } from "../engine/database.ts";
import { CHUNK, type Engine } from "../engine/engine.ts";
import { withoutAnswer } from "../../rows/attempt-row.ts";
import { CANCELLED, deliveryId, parseEventId, storedStatusOf, triggerCode, WAITING } from "../../rows/codes.ts";

export interface FoundEvent {
  readonly id: string;
  readonly key: number;
  readonly random: string;
  readonly tenant: string;
  readonly type: string;
  readonly created_at: number;
  readonly test: number;
  readonly erased_at: number | null;
  readonly erased: boolean;
}

/** Returns the event with exactly this id, if the tenant may see it. */
export async function findEvent(
  queries: Queries,
  tenant: string | null,
  id: string,
  lock: "" | "FOR UPDATE" = "",
): Promise<FoundEvent | null> {
  const parsed = parseEventId(id);
  if (parsed === null) return null;
  const [row] = await queries.rows<Omit<FoundEvent, "id">>(
    `SELECT key, random, tenant, type, created_at, test, erased_at, body IS NULL AS erased
     FROM event WHERE key = $1 ${lock}`,
    [parsed.key],
  );
  if (row === undefined || row.random !== parsed.random || (tenant !== null && row.tenant !== tenant)) return null;
  return { ...row, id };
}

interface Target {
  readonly endpoint: number;
  readonly tenant: string;
  readonly status: number;
  readonly id: string;
  readonly enabled: number;
  readonly deleted: boolean;
  readonly cancel_to: number | null;
}

/** Starts a new round for failed deliveries: the same event, the same bytes, a fresh ladder. */
export async function replayEvent(
  tx: Queries,
  pending: Pending,
  event: FoundEvent,
  scope: ReplayScope,
  now: number,
): Promise<Replay> {
  if (event.erased) return { result: "gone" };
  const targets = await tx.rows<Target>(
    `SELECT d.endpoint, e.tenant, d.status, e.id, e.enabled, e.deleted_at IS NOT NULL AS deleted,
       e.cancel_to
     FROM delivery d JOIN endpoint e ON e.number = d.endpoint WHERE d.event = $1 ORDER BY d.endpoint
     FOR UPDATE OF d ${KEPT}`,
    [event.key],
  );
  const restarted: Target[] = [];
  const waiting: Waiting[] = [];
  const left: LeftAlone[] = [];
  for (const target of targets) {
    const { endpoint, status, id } = target;
    if (scope.endpoint !== undefined && scope.endpoint !== id) continue;
    const action = replayOf(storedStatusOf(status), receivingOf(target), scope.force === true);
    if (action === null) continue;
    if (action !== "restart") {
      left.push({ delivery: deliveryId(event.id, endpoint), endpoint: id, reason: action });
      continue;
    }
    restarted.push(target);
    waiting.push({ endpoint: id, event: event.id, dueAt: now, ...(event.test === 1 && { isQuiet: true }) });
  }
  if (restarted.length === 0) return left.length > 0 ? { result: "endpoint_disabled", left } : { result: "not_failed" };
  const trigger = triggerCode(replayTrigger(event.test === 1));
  await Promise.all([
    tx.change(
      `UPDATE delivery SET status = ${WAITING}, round = round + 1, retry = 0, trigger = $3, due_at = $4
       WHERE event = $1 AND endpoint = ANY($2::integer[])`,
      [event.key, restarted.map(({ endpoint }) => endpoint), trigger, now],
    ),
    pending.change(tx, pendingOfEach(restarted, 1)),
  ]);
  return { result: "replayed", waiting, left };
}

type Withdrawn = Extract<Withdrawal, { result: "withdrawn" }>;

/** Cancels open deliveries and drops requested attempts, at one endpoint or at all. */
export async function cancelEvent(
  engine: Engine,
  pending: Pending,
  event: FoundEvent,
  only: string | null,
): Promise<Withdrawn> {
  const deliveries: WithdrawnDelivery[] = [];
  let cancelled = 0;
  for (let after: number | null = -1; after !== null;) {
    const from: number = after;
    const some = await engine.write(async (tx) => {
      const taken = await cancelSome(tx, pending, event, from, only);
      await engine.owner.notify(tx, { withdrawn: taken.deliveries });
      return taken;
    });
    deliveries.push(...some.deliveries);
    cancelled += some.cancelled;
    after = some.next;
  }
  return { result: "withdrawn", deliveries, cancelled };
}

/** `next` is the place at which to continue. Null when all have been examined. */
async function cancelSome(
  tx: Queries,
  pending: Pending,
  { id, key, test }: FoundEvent,
  after: number,
  only: string | null,
) {
  const rows = await tx.rows<{ endpoint: number; tenant: string; status: number; id: string }>(
    `SELECT d.endpoint, e.tenant, d.status, e.id FROM delivery d JOIN endpoint e ON e.number = d.endpoint
     WHERE d.event = $1 AND d.endpoint > $2 ORDER BY d.endpoint LIMIT ${CHUNK} FOR UPDATE OF d`,
    [key, after],
  );
  const meant = rows.filter((row) => only === null || row.id === only);
  const numbers = meant.map(({ endpoint }) => endpoint);
  const open = meant.filter(({ status }) => isOpen(storedStatusOf(status)));
  const [cancelled, dropped] = await Promise.all([
    tx.change(
      `UPDATE delivery SET status = ${CANCELLED}, due_at = NULL
       WHERE event = $1 AND endpoint = ANY($2::integer[]) AND status <= ${WAITING}`,
      [key, numbers],
    ),
    tx.rows<{ endpoint: number }>(
      "DELETE FROM manual_attempt WHERE event = $1 AND endpoint = ANY($2::integer[]) RETURNING endpoint",
      [key, numbers],
    ),
    pending.change(tx, pendingOfEach(open, -1)),
  ]);
  const requested = new Set(dropped.map(({ endpoint }) => endpoint));
  const deliveries = meant.flatMap(({ endpoint, status, id: name }): WithdrawnDelivery[] => {
    const notified = whoIsNotified(storedStatusOf(status), requested.has(endpoint), test === 1);
    if (notified === null) return [];
    const isQuiet = notified === "dispatcher" && { isQuiet: true as const };
    return [{ delivery: deliveryId(id, endpoint), endpoint: name, ...isQuiet }];
  });
  return { deliveries, cancelled, next: rows.length < CHUNK ? null : rows.at(-1)!.endpoint };
}

/** Cancels the event, and removes its data and the responses to it. */
export async function eraseEvent(engine: Engine, pending: Pending, event: FoundEvent, now: number): Promise<Withdrawn> {
  const deliveries: WithdrawnDelivery[] = [];
  let cancelled = 0;
  for (let isErased = false; !isErased;) {
    const some = await cancelEvent(engine, pending, event, null);
    const asked = await engine.write(async (tx) => {
      const dropped = await eraseBody(tx, event, now);
      await engine.owner.notify(tx, { withdrawn: dropped ?? [] });
      return dropped;
    });
    deliveries.push(...some.deliveries, ...(asked ?? []));
    cancelled += some.cancelled;
    isErased = asked !== null;
  }
  for (let after: readonly [number, number] | null = [-1, -1]; after !== null;) {
    const from: readonly [number, number] = after;
    after = await engine.write((tx) => eraseAnswers(tx, event.key, from));
  }
  return { result: "withdrawn", deliveries, cancelled };
}

/**
 * Returns null if a delivery is open because the event was replayed in the meantime. From here on it cannot be. Drops
 * attempts that were requested since the cancel.
 */
async function eraseBody(
  tx: Queries,
  { id, key }: FoundEvent,
  now: number,
): Promise<readonly WithdrawnDelivery[] | null> {
  await tx.rows("SELECT key FROM event WHERE key = $1 FOR UPDATE", [key]);
  const open = await tx.rows(`SELECT 1 FROM delivery WHERE event = $1 AND status <= ${WAITING} LIMIT 1`, [key]);
  if (open.length > 0) return null;
  // Remove the hash too, because short data can be guessed from it.
  await tx.change("UPDATE event SET body = NULL, body_hash = '', erased_at = coalesce(erased_at, $2) WHERE key = $1", [
    key,
    now,
  ]);
  await tx.change("DELETE FROM event_label WHERE event = $1", [key]);
  const dropped = await tx.rows<{ number: number; id: string }>(
    `DELETE FROM manual_attempt m USING endpoint p WHERE m.event = $1 AND p.number = m.endpoint
     RETURNING p.number, p.id`,
    [key],
  );
  return dropped.map((one) => ({ delivery: deliveryId(id, one.number), endpoint: one.id, isQuiet: true }));
}

interface Answer {
  readonly endpoint: number;
  readonly number: number;
  readonly started_at: number;
  readonly connection: Buffer | null;
  readonly details: string | null;
}

/** Erases the responses to some attempts. Returns the place at which to continue, or null when none are left. */
async function eraseAnswers(tx: Queries, key: number, after: readonly [number, number]) {
  const rows = await tx.rows<Answer>(
    `SELECT endpoint, number, started_at, connection, details FROM attempt WHERE event = $1 AND (endpoint, number) > ($2, $3)
     ORDER BY endpoint, number LIMIT ${CHUNK}`,
    [key, ...after],
  );
  await tx.change(
    `UPDATE attempt a SET body = NULL, connection = n.connection, details = n.details
     FROM unnest($2::integer[], $3::integer[], $4::bytea[], $5::text[]) AS n (endpoint, number, connection, details)
     WHERE a.event = $1 AND a.endpoint = n.endpoint AND a.number = n.number`,
    [
      key,
      rows.map(({ endpoint }) => endpoint),
      rows.map(({ number }) => number),
      rows.map(({ connection, started_at: startedAt }) => connection && withoutAnswer(connection, startedAt)),
      rows.map(({ details }) => details && JSON.stringify({ ...JSON.parse(details), responseHeaders: {} })),
    ],
  );
  const last = rows.at(-1);
  return last === undefined || rows.length < CHUNK ? null : ([last.endpoint, last.number] as const);
}
