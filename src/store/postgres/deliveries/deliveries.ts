/** The contract for deliveries. */
import type { Claim, Position } from "../../../domain/deliveries/delivery.ts";
import { requestOf } from "../../../domain/deliveries/withdrawal.ts";
import type { Once } from "../../../domain/events/idempotency.ts";
import type {
  AttemptRequest,
  DeliveryStore,
  DuePage,
  EndedAttempt,
  EventDelivery,
  PendingDelivery,
  Recorded,
  Reordered,
  Waiting,
} from "../../store.ts";
import {
  dueFirstPage,
  duePages,
  earliestDue,
  freshPage,
  requestedClaim,
  requestedPage,
  waitingPage,
  type DueRead,
} from "./claims.ts";
import type { Counters } from "../statistics/counters.ts";
import type { Queries } from "../engine/database.ts";
import { isTaken } from "../engine/prepared.ts";
import type { Engine } from "../engine/engine.ts";
import { receivingOf } from "../endpoints/endpoint-rows.ts";
import type { Health } from "../endpoints/health.ts";
import type { IdempotencyKeys } from "../callers/idempotency.ts";
import { attemptedForJobs } from "../jobs/job-steps.ts";
import type { Pending } from "./pending.ts";
import { nameOf, recordAll } from "./record.ts";
import type { Lines } from "../ordering/lines.ts";
import {
  BEHIND,
  deliveryId,
  eventId,
  FRESH,
  isBehind,
  keyOf,
  parseDeliveryId,
  storedStatusOf,
  WAITING,
} from "../../rows/codes.ts";
import { unawaited } from "../../../domain/unawaited.ts";

interface Parts {
  readonly counters: Counters;
  readonly health: Health;
  readonly idempotency: IdempotencyKeys;
  readonly lines: Lines;
  readonly pending: Pending;
}

/** The part of an endpoint that never changes. */
interface Identity {
  readonly number: number;
  readonly tenant: string;
}

type Identities = ReadonlyMap<string, Identity>;

/** Once this many identities are remembered, all of them are forgotten. */
const MAX_REMEMBERED = 100_000;

interface Asked {
  readonly read: DueRead;
  resolve(page: DuePage): void;
  reject(error: unknown): void;
}

export class PostgresDeliveries implements DeliveryStore {
  /** A statement for each endpoint would cost more than the rows that it finds. */
  readonly dueAtOnce = 32;
  readonly #engine: Engine;
  readonly #parts: Parts;
  readonly #mostRemembered: number;
  readonly #remembered = new Map<string, Identity>();
  /** False once an attempt turned out to be stored already. From then on the server looks first. */
  #areNew = true;
  /** The reads that were requested in this turn of the event loop. */
  #asked: Asked[] = [];
  readonly #shared = (tx: Queries, batches: readonly (readonly EndedAttempt[])[]) => this.#recordAll(tx, batches);

  constructor(engine: Engine, parts: Parts, mostRemembered = MAX_REMEMBERED) {
    this.#engine = engine;
    this.#parts = parts;
    this.#mostRemembered = mostRemembered;
  }

  due(endpoint: string, after: Position, until: number, limit: number): Promise<DuePage> {
    return new Promise((resolve, reject) => {
      this.#asked.push({ read: { endpoint, after, until, limit }, resolve, reject });
      if (this.#asked.length === 1) queueMicrotask(() => unawaited(this.#readDue()));
    });
  }

  dueFirst(endpoint: string, after: Position, until: number, limit: number): Promise<DuePage> {
    return dueFirstPage(this.#engine.database, endpoint, after, until, limit);
  }

  earliestDue(after: string | null, limit: number): Promise<Map<string, number>> {
    return earliestDue(this.#engine.database, this.#engine.owner.slots, after, limit);
  }

  waiting(endpoint: string, after: Position, limit: number): Promise<readonly PendingDelivery[]> {
    return waitingPage(this.#engine.database, endpoint, after, limit);
  }

  fresh(after: PendingDelivery | null, limit: number): Promise<readonly PendingDelivery[]> {
    return freshPage(this.#engine.database, this.#engine.owner.slots, after, limit);
  }

  async record(attempts: readonly EndedAttempt[]): Promise<Recorded[]> {
    const locksLines = attempts.some(({ claim }) => claim.ordered !== undefined);
    const size = { rows: attempts.length, locksLines };
    const { recorded, identities } = await this.#engine.share(this.#shared, attempts, size);
    const now = this.#engine.clock.now();
    for (const [at, attempt] of attempts.entries()) {
      const identity = identities.get(attempt.claim.endpoint);
      if (identity === undefined) continue;
      this.#parts.health.note(identity.number, attempt);
      this.#parts.counters.noteAttempt(attempt, recorded[at]!, identity.tenant, now);
    }
    return recorded;
  }

  park(deliveries: readonly Waiting[], now: number): Promise<Waiting[]> {
    return this.#engine.write(async (tx) => {
      const identities = await this.#identify(tx, deliveries);
      const known = deliveries.map((one) => ({ ...one, number: identities.get(one.endpoint)?.number ?? -1 }));
      return parkAll(tx, known, now);
    });
  }

  requestAttempt(
    tenant: string | null,
    delivery: string,
    now: number,
    once?: Once<AttemptRequest>,
  ): Promise<AttemptRequest> {
    return this.#parts.idempotency.commit(once, now, async (tx) => {
      const requested = await request(tx, tenant, delivery);
      if (requested.result === "requested") await this.#engine.owner.notify(tx, { requested: [requested] });
      return requested;
    });
  }

  async requestedAttempt(delivery: string): Promise<Claim | null> {
    const parsed = parseDeliveryId(delivery);
    return parsed === null ? null : requestedClaim(this.#engine.database, parsed.event, parsed.endpoint);
  }

  requestedAttempts(after: EventDelivery | null, limit: number): Promise<readonly EventDelivery[]> {
    return requestedPage(this.#engine.database, this.#engine.owner.slots, after, limit);
  }

  reordered(): Reordered | null {
    return this.#parts.lines.take();
  }

  /** Carries out together all reads that were requested in the same turn. */
  async #readDue(): Promise<void> {
    const asked = this.#asked;
    this.#asked = [];
    try {
      const pages = await duePages(
        this.#engine.database,
        asked.map(({ read }) => read),
      );
      for (const [at, { resolve }] of asked.entries()) resolve(pages[at]!);
    } catch (error) {
      for (const { reject } of asked) reject(error);
    }
  }

  async #recordAll(tx: Queries, batches: readonly (readonly EndedAttempt[])[]) {
    const all = batches.flat();
    // Every transaction that locks an endpoint and its deliveries begins with the endpoint, so that two of them cannot
    // wait for each other. Publishes in the same transaction have locked it by now; the deliveries are locked after
    // this.
    const identities = await this.#identify(
      tx,
      all.map(({ claim }) => claim),
    );
    const placed = all.map((ended) => {
      const identity = identities.get(ended.claim.endpoint);
      if (identity === undefined) return null;
      return { ended, tenant: identity.tenant, event: keyOf(ended.claim.event), endpoint: identity.number };
    });
    const numbers = placed.flatMap((one) => one?.endpoint ?? []);
    const [recorded] = await Promise.all([
      recordAll(tx, this.#parts, placed, this.#engine, this.#areNew).catch((error: unknown) => this.#failed(error)),
      this.#parts.health.load(tx, numbers),
    ]);
    await attemptedForJobs(tx, placed, recorded);
    let at = 0;
    return batches.map((batch) => ({ recorded: recorded.slice(at, (at += batch.length)), identities }));
  }

  #failed(error: unknown): never {
    if (isTaken(error)) this.#areNew = false;
    throw error;
  }

  /** Returns a separate map for the batch, because the remembered identities may be forgotten before it is done. */
  async #identify(queries: Queries, some: readonly { readonly endpoint: string }[]): Promise<Identities> {
    const identities = new Map<string, Identity>();
    const unknown = new Set<string>();
    for (const { endpoint } of some) {
      const identity = this.#remembered.get(endpoint);
      if (identity === undefined) unknown.add(endpoint);
      else identities.set(endpoint, identity);
    }
    if (unknown.size === 0) return identities;
    if (this.#remembered.size >= this.#mostRemembered) this.#remembered.clear();
    const sql = "SELECT id, number, tenant FROM endpoint WHERE id = ANY($1::text[])";
    for (const { id, ...identity } of await queries.rows<Identity & { id: string }>(sql, [[...unknown]])) {
      this.#remembered.set(id, identity);
      identities.set(id, identity);
    }
    return identities;
  }
}

/** Writes fresh deliveries as waiting, and returns the position of each delivery that waits. */
async function parkAll(
  tx: Queries,
  deliveries: readonly (Waiting & { readonly number: number })[],
  now: number,
): Promise<Waiting[]> {
  const columns = [deliveries.map(({ event }) => keyOf(event)), deliveries.map(({ number }) => number)];
  await tx.change(
    `UPDATE delivery d SET status = ${WAITING}, due_at = least(d.due_at, $3::bigint)
     FROM unnest($1::bigint[], $2::integer[]) AS n (event, endpoint)
     WHERE d.event = n.event AND d.endpoint = n.endpoint AND d.status = ${FRESH}`,
    [...columns, now],
  );
  const rows = await tx.rows<{ event: number; endpoint: number; due_at: number }>(
    `SELECT d.event, d.endpoint, d.due_at FROM unnest($1::bigint[], $2::integer[]) AS n (event, endpoint)
     JOIN delivery d ON d.event = n.event AND d.endpoint = n.endpoint WHERE d.status = ${WAITING} AND d.due_at < ${BEHIND}`,
    columns,
  );
  const waiting = new Map(rows.map((row) => [nameOf(row), row.due_at]));
  return deliveries.flatMap(({ event, endpoint, number }) => {
    const dueAt = waiting.get(nameOf({ event: keyOf(event), endpoint: number }));
    return dueAt === undefined ? [] : [{ endpoint, event, dueAt }];
  });
}

interface Wanted {
  readonly event: number;
  readonly endpoint: number;
  readonly status: number;
  readonly due_at: number | null;
  readonly random: string;
  readonly tenant: string;
  readonly erased: boolean;
  readonly id: string;
  readonly enabled: number;
  readonly deleted: boolean;
  readonly cancel_to: number | null;
}

async function request(tx: Queries, tenant: string | null, delivery: string): Promise<AttemptRequest> {
  const parsed = parseDeliveryId(delivery);
  if (parsed === null) return { result: "not_found" };
  // Another node may be erasing the event. This lock keeps what is read below unchanged.
  await tx.rows("SELECT 1 FROM event WHERE key = $1 FOR SHARE", [parsed.event]);
  const [row] = await tx.rows<Wanted>(
    `SELECT d.event, d.endpoint, d.status, d.due_at, e.random, e.tenant, e.body IS NULL AS erased, p.id, p.enabled,
       p.deleted_at IS NOT NULL AS deleted, p.cancel_to
     FROM delivery d JOIN event e ON e.key = d.event JOIN endpoint p ON p.number = d.endpoint
     WHERE d.event = $1 AND d.endpoint = $2 FOR UPDATE OF d`,
    [parsed.event, parsed.endpoint],
  );
  const isIt = row !== undefined && deliveryId(eventId(row.event, row.random), row.endpoint) === delivery;
  if (!isIt || (tenant !== null && row.tenant !== tenant)) return { result: "not_found" };
  const { event, status, due_at: dueAt, erased: isErased } = row;
  const found = { event, status: storedStatusOf(status), isErased, isBehind: isBehind(dueAt) };
  const result = requestOf(found, receivingOf(row));
  if (result !== "requested") return { result };
  await tx.change(
    `INSERT INTO manual_attempt (event, endpoint, urgent) VALUES ($1, $2, 1)
     ON CONFLICT (event, endpoint) DO UPDATE SET urgent = 1`,
    [row.event, row.endpoint],
  );
  return { result: "requested", endpoint: row.id, delivery };
}
