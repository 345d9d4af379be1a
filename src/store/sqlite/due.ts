/** Reading what is due. Nothing is claimed on disk: a row stays as it is until its attempt is recorded. */
import { hash } from "node:crypto";
import type { Database, Statement } from "better-sqlite3";
import type { Claim, Position } from "../../domain/delivery.ts";
import type { DuePage } from "../store.ts";
import { triggerOf, WAITING } from "./codes.ts";
import type { EndpointEntry, EndpointIndex } from "./endpoint-index.ts";
import { deliveryId, eventId, positionKey } from "./ids.ts";

interface Row {
  readonly event: number;
  readonly due_at: number;
  readonly attempts: number;
  readonly round: number;
  readonly retry: number;
  readonly trigger: number;
  readonly random: string;
  readonly body_hash: Buffer;
  readonly body: Buffer | null;
}

const NOTHING: DuePage = { claims: [], nextDueAt: null };

export class Due {
  readonly #index: EndpointIndex;
  readonly #page: Statement<[number, number, number, number, number], Row>;
  readonly #one: Statement<[number, number], Row>;
  readonly #next: Statement<[number, number, number], number>;
  readonly #earliest: Statement<[number], { endpoint: number; due_at: number }>;

  constructor(db: Database, index: EndpointIndex) {
    this.#index = index;
    this.#page = db.prepare(
      `SELECT d.event, d.due_at, d.attempts, d.round, d.retry, d.trigger, e.random, e.body_hash, e.body
       FROM delivery d INDEXED BY delivery_waiting CROSS JOIN event e ON e.key = d.event
       WHERE d.status = ${WAITING} AND d.endpoint = ? AND (d.due_at, d.event) > (?, ?) AND d.due_at <= ?
       ORDER BY d.due_at, d.event LIMIT ?`,
    );
    this.#one = db.prepare(
      `SELECT d.event, d.due_at, d.attempts, d.round, d.retry, d.trigger, e.random, e.body_hash, e.body
       FROM delivery d JOIN event e ON e.key = d.event
       WHERE d.status = ${WAITING} AND d.event = ? AND d.endpoint = ?`,
    );
    this.#next = db
      .prepare<[number, number, number], number>(
        `SELECT due_at FROM delivery INDEXED BY delivery_waiting
         WHERE status = ${WAITING} AND endpoint = ? AND (due_at, event) > (?, ?) ORDER BY due_at, event LIMIT 1`,
      )
      .pluck();
    this.#earliest = db.prepare(
      `SELECT endpoint, due_at FROM delivery INDEXED BY delivery_waiting
       WHERE status = ${WAITING} AND endpoint > ? ORDER BY endpoint, due_at LIMIT 1`,
    );
  }

  page(endpointId: string, after: Position, until: number, limit: number): DuePage {
    const endpoint = this.#index.byId(endpointId);
    if (endpoint === undefined) return NOTHING;
    const from = positionKey(after.event);
    const rows = this.#page.all(endpoint.number, after.dueAt, from, until, limit);
    const last = rows.at(-1);
    const nextDueAt = this.#next.get(endpoint.number, last?.due_at ?? after.dueAt, last?.event ?? from) ?? null;
    return { claims: rows.map((row) => claimOf(endpoint, row)), nextDueAt };
  }

  /** Null when it does not wait. */
  claim(event: number, endpoint: number): Claim | null {
    const row = this.#one.get(event, endpoint);
    return row === undefined ? null : claimOf(this.#index.byNumber(endpoint), row);
  }

  /** Hops from endpoint to endpoint along the index: as many steps as endpoints, however much is waiting. */
  earliest(): Map<string, number> {
    const earliest = new Map<string, number>();
    for (let row = this.#earliest.get(-1); row !== undefined; row = this.#earliest.get(row.endpoint)) {
      earliest.set(this.#index.byNumber(row.endpoint).id, row.due_at);
    }
    return earliest;
  }
}

function claimOf(endpoint: EndpointEntry, row: Row): Claim {
  const event = eventId(row.event, row.random);
  const body = row.body ?? Buffer.alloc(0);
  const claim: Claim = {
    event,
    delivery: deliveryId(event, endpoint.number),
    endpoint: endpoint.id,
    body,
    number: row.attempts + 1,
    round: row.round,
    retry: row.retry,
    trigger: triggerOf(row.trigger),
    dueAt: row.due_at,
    fresh: false,
  };
  // SQLite notices no flipped bit in a row's data.
  return hash("sha256", body, "buffer").equals(row.body_hash) ? claim : { ...claim, corrupt: true };
}
