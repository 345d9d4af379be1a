/** Repairs what a crash of the process, or a change of the clock, has left wrong. */
import type { Position, Send } from "../../../domain/deliveries/delivery.ts";
import {
  latestDue,
  movedDue,
  movesLater,
  putOffAfter,
  staysUntil,
  type Waits,
} from "../../../domain/deliveries/due-time.ts";
import type { Doubt, RecoveryStore, Shift, Shifted, Suspect, Waiting } from "../../store.ts";
import { requestedClaim, waitingClaim } from "./claims.ts";
import type { Queries } from "../engine/database.ts";
import { CHUNK, getMeta, setMeta, type Engine } from "../engine/engine.ts";
import { bound } from "../engine/page.ts";
import { BEHIND, CANCELLED, DELIVERED, eventId, FRESH, keyOf, positionKey, WAITING } from "../../rows/codes.ts";

const QUICK_DEATHS = 2;

/** The facts that the last process left, when the store was opened. */
export interface Left {
  readonly lastInstant: number;
  /** The number of processes in a row that died young, including the last one. */
  readonly deaths: number;
}

export async function leftBy(queries: Queries): Promise<Left> {
  const young = (await getMeta(queries, "young")) === "1";
  const deaths = Number((await getMeta(queries, "quick_deaths")) ?? 0);
  const lastInstant = Number((await getMeta(queries, "last_instant")) ?? 0);
  // A process that neither ran for a minute nor ended cleanly died young.
  return { lastInstant, deaths: young ? deaths + 1 : 0 };
}

export class PostgresRecovery implements RecoveryStore {
  readonly careful: boolean;
  readonly lastInstant: number;
  readonly #engine: Engine;
  readonly #left: Left;
  #tookUp = false;

  /**
   * Nodes that share the store take over slots one by one. Nobody knows which delivery killed which node, or whose
   * clock the last instant came from.
   */
  readonly #isShared: boolean;

  constructor(engine: Engine, left: Left, isShared: boolean) {
    this.#isShared = isShared;
    this.#engine = engine;
    this.#left = left;
    this.careful = left.deaths >= QUICK_DEATHS && !isShared;
    this.lastInstant = isShared ? 0 : left.lastInstant;
  }

  get doubt(): Doubt {
    const { database, lateCommits } = this.#engine;
    return { isOpen: database.inDoubt, madeLate: lateCommits };
  }

  async takeUp(): Promise<boolean> {
    if (this.#tookUp || this.#isShared) return true;
    await this.#engine.write(async (tx) => {
      await setMeta(tx, "young", "1");
      await setMeta(tx, "quick_deaths", String(this.#left.deaths));
      // Accuse only deliveries of the last process, because others still wait to be tried alone.
      await tx.change("UPDATE started SET interruptions = interruptions + 1, dialled = 0 WHERE dialled = 1");
      // The process that ended had them in memory. From now on they wait on disk like all others.
      await tx.change(
        `UPDATE delivery SET status = ${WAITING}, due_at = least(due_at, $1::bigint) WHERE status = ${FRESH}`,
        [this.#engine.clock.now()],
      );
      await tx.change(
        `DELETE FROM manual_attempt m WHERE NOT EXISTS (
           SELECT 1 FROM delivery d JOIN event e ON e.key = d.event JOIN endpoint p ON p.number = d.endpoint
           WHERE d.event = m.event AND d.endpoint = m.endpoint AND d.status NOT IN (${DELIVERED}, ${CANCELLED})
             AND e.body IS NOT NULL AND p.deleted_at IS NULL)`,
      );
    });
    this.#tookUp = true;
    return true;
  }

  async markStarted(sends: readonly Send[]): Promise<void> {
    await this.#engine.write((tx) =>
      tx.change(
        `INSERT INTO started (event, endpoint, interruptions, dialled)
         SELECT n.event, p.number, 0, 1 FROM unnest($1::bigint[], $2::text[]) AS n (event, id)
         JOIN endpoint p ON p.id = n.id ON CONFLICT (event, endpoint) DO UPDATE SET dialled = 1`,
        [sends.map(({ event }) => keyOf(event)), sends.map(({ endpoint }) => endpoint)],
      ),
    );
  }

  async suspects(): Promise<Suspect[]> {
    if (this.#isShared) return [];
    const { database } = this.#engine;
    const rows = await database.rows<{ event: number; endpoint: number; interruptions: number }>(
      "SELECT event, endpoint, interruptions FROM started ORDER BY event, endpoint",
    );
    const suspects: Suspect[] = [];
    const ended: { event: number; endpoint: number }[] = [];
    for (const row of rows) {
      // A requested attempt is tried as a requested one, because its delivery need not be due.
      const claim =
        (await requestedClaim(database, row.event, row.endpoint)) ??
        (await waitingClaim(database, row.event, row.endpoint));
      if (claim === null) ended.push(row);
      else suspects.push({ claim, interruptions: row.interruptions });
    }
    // If this fails, the next start checks them again.
    if (ended.length > 0) this.#engine.write((tx) => forget(tx, ended)).catch(() => {});
    return suspects;
  }

  async outlived(): Promise<void> {
    if (!this.#isShared) await this.#engine.write((tx) => setMeta(tx, "young", "0"));
  }

  shiftDue(endpoint: string, shift: Shift, from: Position | null): Promise<Shifted> {
    return this.#engine.write((tx) => shiftSome(tx, endpoint, shift, from));
  }

  async hasten(waits: Waits, now: number): Promise<readonly Waiting[]> {
    const { database, owner } = this.#engine;
    const found = await putOff(database, owner.slots, waits, now);
    return found.length === 0 ? [] : this.#engine.write((tx) => hasten(tx, found));
  }

  async clockUnsettled(): Promise<void> {
    await this.clockSettled(Number.MAX_SAFE_INTEGER);
  }

  async clockSettled(now: number): Promise<void> {
    if (this.#isShared) return;
    const settled = await this.#engine.write((tx) => this.#engine.setInstant(tx, now));
    settled();
  }
}

interface PutOffRow {
  readonly event: number;
  readonly endpoint: number;
  readonly id: string;
  readonly random: string;
  /** The new due time. */
  readonly dueAt: number;
}

async function putOff(
  queries: Queries,
  slots: readonly number[] | null,
  waits: Waits,
  now: number,
): Promise<readonly PutOffRow[]> {
  const [most] = await queries.rows<{ retry: number | null }>(
    `SELECT max(retry) AS retry FROM delivery WHERE status = ${WAITING}`,
  );
  const found: PutOffRow[] = [];
  for (let retry = 0; retry <= (most!.retry ?? -1) && found.length < CHUNK; retry++) {
    const rows = await queries.rows<Omit<PutOffRow, "dueAt">>(
      `SELECT d.event, d.endpoint, p.id, e.random FROM delivery d
       JOIN endpoint p ON p.number = d.endpoint JOIN event e ON e.key = d.event
       WHERE d.status = ${WAITING} AND d.retry = $1 AND d.due_at > $2 AND d.due_at < ${BEHIND} AND d.event > coalesce(p.cancel_to, -1)
         AND ($4::smallint[] IS NULL OR d.slot = ANY($4::smallint[]))
       ORDER BY d.due_at DESC LIMIT $3`,
      [retry, putOffAfter(waits, retry, now), CHUNK - found.length, slots],
    );
    const dueAt = latestDue(waits, retry, now);
    for (const row of rows) found.push({ ...row, dueAt });
  }
  return found;
}

/** Skips deliveries that are about to be cancelled: they must not move behind the walk that cancels them. */
async function hasten(tx: Queries, found: readonly PutOffRow[]): Promise<readonly Waiting[]> {
  const rows = await tx.rows<{ event: number; endpoint: number }>(
    `UPDATE delivery d SET due_at = n.due_at FROM unnest($1::bigint[], $2::integer[], $3::bigint[]) AS n (event, endpoint, due_at)
     WHERE d.event = n.event AND d.endpoint = n.endpoint AND d.status = ${WAITING} AND d.due_at > n.due_at AND d.due_at < ${BEHIND}
       AND d.event > coalesce((SELECT cancel_to FROM endpoint p WHERE p.number = d.endpoint), -1)
     RETURNING d.event, d.endpoint`,
    [found.map(({ event }) => event), found.map(({ endpoint }) => endpoint), found.map(({ dueAt }) => dueAt)],
  );
  const moved = new Set(rows.map(({ event, endpoint }) => `${event} ${endpoint}`));
  return found
    .filter(({ event, endpoint }) => moved.has(`${event} ${endpoint}`))
    .map(({ id, event, random, dueAt }) => ({ endpoint: id, event: eventId(event, random), dueAt }));
}

async function forget(tx: Queries, ended: readonly { event: number; endpoint: number }[]): Promise<void> {
  await tx.change(
    `DELETE FROM started s USING unnest($1::bigint[], $2::integer[]) AS n (event, endpoint)
     WHERE s.event = n.event AND s.endpoint = n.endpoint`,
    [ended.map(({ event }) => event), ended.map(({ endpoint }) => endpoint)],
  );
}

interface ShiftRow {
  readonly event: number;
  readonly due_at: number;
  readonly retry: number;
  readonly random: string;
}

/** Walks against the direction of the shift, so that it does not meet a moved row again. */
async function shiftSome(tx: Queries, id: string, shift: Shift, from: Position | null): Promise<Shifted> {
  const [endpoint] = await tx.rows<{ number: number; cancel_to: number | null }>(
    "SELECT number, cancel_to FROM endpoint WHERE id = $1",
    [id],
  );
  if (endpoint === undefined) return { moved: [], next: null };
  const [later, after] = [movesLater(shift), staysUntil(shift)];
  const [compare, direction] = later ? ["<", "DESC"] : [">", "ASC"];
  const edge = later ? BEHIND : after;
  const rows = await tx.rows<ShiftRow>(
    `SELECT d.event, d.due_at, d.retry, e.random FROM delivery d JOIN event e ON e.key = d.event
     WHERE d.status = ${WAITING} AND d.endpoint = $1 AND (d.due_at, d.event) ${compare} ($2, $3) AND d.due_at > $4 AND d.due_at < ${BEHIND}
     ORDER BY d.due_at ${direction}, d.event ${direction} LIMIT ${CHUNK}`,
    [
      endpoint.number,
      bound(from?.dueAt ?? edge),
      from === null ? Number.MAX_SAFE_INTEGER : positionKey(from.event),
      bound(after),
    ],
  );
  const moved: Waiting[] = [];
  const keys: number[] = [];
  let last: Position | null = null;
  for (const row of rows) {
    const event = eventId(row.event, row.random);
    last = { dueAt: row.due_at, event };
    // Skip deliveries that are about to be cancelled: they must not move behind the walk that cancels them.
    if (shift.except.has(event) || row.event <= (endpoint.cancel_to ?? -1)) continue;
    const dueAt = movedDue(shift, row.due_at, row.retry);
    if (dueAt === row.due_at) continue;
    moved.push({ endpoint: id, event, dueAt });
    keys.push(row.event);
  }
  await tx.change(
    `UPDATE delivery d SET due_at = n.due_at FROM unnest($2::bigint[], $3::bigint[]) AS n (event, due_at)
     WHERE d.event = n.event AND d.endpoint = $1 AND d.status = ${WAITING} AND d.due_at < ${BEHIND}`,
    [endpoint.number, keys, moved.map(({ dueAt }) => dueAt)],
  );
  return { moved, next: rows.length < CHUNK ? null : last };
}
