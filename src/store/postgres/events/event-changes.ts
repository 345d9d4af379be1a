/** Changes to an event that was published: replay, cancel and erase. */
import { isOpen } from "../../../domain/deliveries/delivery.ts";
import { isCancellable, replayOf, replayTrigger, whoIsNotified } from "../../../domain/deliveries/withdrawal.ts";
import type { LeftAlone, Replay, ReplayScope, Waiting, Withdrawal, WithdrawnDelivery } from "../../store.ts";
import { type Pending, pendingOfEach } from "../deliveries/pending.ts";
import { KEPT, receivingOf } from "../endpoints/endpoint-rows.ts";
import type { Queries } from "../engine/database.ts";
import { CHUNK, type Engine } from "../engine/engine.ts";
import { withoutAnswer } from "../../rows/attempt-row.ts";
import { type Lines, lockLinesIn, type Settled } from "../ordering/lines.ts";
import { BEHIND, CANCELLED, deliveryId, parseEventId, storedStatusOf, triggerCode, WAITING } from "../../rows/codes.ts";
import { orderedOf } from "../../rows/delivery-row.ts";

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
  readonly ordering_key: string | null;
}

/** The parts of the store that a change of deliveries also changes. */
export interface Changing {
  readonly lines: Lines;
  readonly pending: Pending;
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
    `SELECT key, random, tenant, type, created_at, test, erased_at, body IS NULL AS erased, ordering_key
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
  readonly key: number | null;
  readonly sequence: number | null;
}

/** Locks the lines that the event's deliveries stand in. Only one that has an ordering key can be in a line. */
export async function lockLinesOf(tx: Queries, { key, ordering_key: orderingKey }: FoundEvent): Promise<void> {
  if (orderingKey === null) return;
  await lockLinesIn(tx, "SELECT ordering_key FROM delivery WHERE event = $1", [key]);
}

/**
 * Starts a new round for failed deliveries: the same event, the same bytes, a fresh ladder. The event and its lines
 * must be locked.
 */
export async function replayEvent(
  tx: Queries,
  { lines, pending }: Changing,
  event: FoundEvent,
  scope: ReplayScope,
  now: number,
): Promise<Replay> {
  if (event.erased) return { result: "gone" };
  const targets = await tx.rows<Target>(
    `SELECT d.endpoint, e.tenant, d.status, e.id, e.enabled, e.deleted_at IS NOT NULL AS deleted,
       e.cancel_to, d.ordering_key AS key, d.sequence
     FROM delivery d JOIN endpoint e ON e.number = d.endpoint WHERE d.event = $1 ORDER BY d.endpoint
     FOR UPDATE OF d ${KEPT}`,
    [event.key],
  );
  const restarted: Target[] = [];
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
  }
  if (restarted.length === 0) return left.length > 0 ? { result: "endpoint_disabled", left } : { result: "not_failed" };
  const trigger = triggerCode(replayTrigger(event.test === 1));
  const inLine = restarted.flatMap((target) => {
    const ordered = orderedOf(target);
    return ordered === null ? [] : [{ ...ordered, event: event.key, endpoint: target.endpoint }];
  });
  const behind = new Set([...(await lines.reenter(tx, inLine))].map(({ endpoint }) => endpoint));
  await Promise.all([
    tx.change(
      `UPDATE delivery SET status = ${WAITING}, round = round + 1, retry = 0, trigger = $3,
         due_at = CASE WHEN endpoint = ANY($5::integer[]) THEN $4 + ${BEHIND} ELSE $4 END
       WHERE event = $1 AND endpoint = ANY($2::integer[])`,
      [event.key, restarted.map(({ endpoint }) => endpoint), trigger, now, [...behind]],
    ),
    pending.change(tx, pendingOfEach(restarted, 1)),
  ]);
  const due = restarted.filter(({ endpoint }) => !behind.has(endpoint));
  const isQuiet = event.test === 1 && { isQuiet: true as const };
  const waiting = due.map(({ id }): Waiting => ({ endpoint: id, event: event.id, dueAt: now, ...isQuiet }));
  return { result: "replayed", waiting, left };
}

interface Cancelling {
  readonly endpoint: number;
  readonly tenant: string;
  readonly status: number;
  readonly id: string;
  /** Its line. */
  readonly key: number | null;
  readonly sequence: number | null;
  readonly holds: boolean;
}

type Withdrawn = Extract<Withdrawal, { result: "withdrawn" }>;

/** Cancels open deliveries and drops requested attempts, at one endpoint or at all. */
export async function cancelEvent(
  engine: Engine,
  changing: Changing,
  event: FoundEvent,
  only: string | null,
): Promise<Withdrawn> {
  const deliveries: WithdrawnDelivery[] = [];
  let cancelled = 0;
  for (let after: number | null = -1; after !== null;) {
    const from: number = after;
    const some = await engine.write(async (tx) => {
      const taken = await cancelSome(tx, changing, event, { after: from, only, now: engine.clock.now() });
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
  { lines, pending }: Changing,
  event: FoundEvent,
  { after, only, now }: { readonly after: number; readonly only: string | null; readonly now: number },
) {
  const { id, key, test } = event;
  await lockLinesOf(tx, event);
  const rows = await tx.rows<Cancelling>(
    `SELECT d.endpoint, e.tenant, d.status, e.id, d.ordering_key AS key, d.sequence,
       EXISTS (SELECT 1 FROM held_key h WHERE h.event = d.event AND h.endpoint = d.endpoint) AS holds
     FROM delivery d JOIN endpoint e ON e.number = d.endpoint
     WHERE d.event = $1 AND d.endpoint > $2 ORDER BY d.endpoint LIMIT ${CHUNK} FOR UPDATE OF d`,
    [key, after],
  );
  const meant = rows.filter((row) => only === null || row.id === only);
  const numbers = meant.map(({ endpoint }) => endpoint);
  const open = meant.filter(({ status }) => isOpen(storedStatusOf(status)));
  const ending = meant.filter(({ status, holds }) => isCancellable(storedStatusOf(status), holds));
  const [cancelled, dropped] = await Promise.all([
    tx.change(
      `UPDATE delivery SET status = ${CANCELLED}, due_at = NULL WHERE event = $1 AND endpoint = ANY($2::integer[])`,
      [key, ending.map(({ endpoint }) => endpoint)],
    ),
    tx.rows<{ endpoint: number }>(
      "DELETE FROM manual_attempt WHERE event = $1 AND endpoint = ANY($2::integer[]) RETURNING endpoint",
      [key, numbers],
    ),
    pending.change(tx, pendingOfEach(open, -1)),
  ]);
  await lines.settled(
    tx,
    ending.flatMap((row): Settled[] => {
      const ordered = orderedOf(row);
      if (ordered === null) return [];
      return [{ ...ordered, event: key, endpoint: row.endpoint, before: "waiting", status: "cancelled" }];
    }),
    now,
  );
  const requested = new Set(dropped.map(({ endpoint }) => endpoint));
  const deliveries = meant.flatMap(({ endpoint, status, holds, id: name }): WithdrawnDelivery[] => {
    const notified = whoIsNotified(storedStatusOf(status), requested.has(endpoint), test === 1, holds);
    if (notified === null) return [];
    const isQuiet = notified === "dispatcher" && { isQuiet: true as const };
    return [{ delivery: deliveryId(id, endpoint), endpoint: name, ...isQuiet }];
  });
  return { deliveries, cancelled, next: rows.length < CHUNK ? null : rows.at(-1)!.endpoint };
}

/** Cancels the event, and removes its data and the responses to it. */
export async function eraseEvent(
  engine: Engine,
  changing: Changing,
  event: FoundEvent,
  now: number,
): Promise<Withdrawn> {
  const deliveries: WithdrawnDelivery[] = [];
  let cancelled = 0;
  for (let isErased = false; !isErased;) {
    const some = await cancelEvent(engine, changing, event, null);
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
  await tx.change(
    "UPDATE event SET body = NULL, body_hash = '', ordering_key = NULL, erased_at = coalesce(erased_at, $2) WHERE key = $1",
    [key, now],
  );
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
