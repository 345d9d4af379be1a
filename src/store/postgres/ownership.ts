/**
 * Which endpoints this node sends for. Endpoints live in slots, and a slot belongs to a node while that node's lease runs,
 * by the clock of the database. A slot is taken by comparing its epoch, so that of two who want it one gets it.
 */
import { randomUUID } from "node:crypto";
import { WebhookdError } from "../../domain/errors.ts";
import { eventId, FRESH, WAITING } from "../sqlite/numbers/codes.ts";
import type { Ownership, OwnershipStore, Waiting } from "../store.ts";
import { SLOTS } from "./endpoints/endpoint-rows.ts";
import type { Queries } from "./engine/database.ts";
import { CHUNK, NODES, type Engine } from "./engine/engine.ts";

const EVERYTHING = { endpoints: "everything", holdsForMs: Number.POSITIVE_INFINITY } as const;

/** What the rest of the store needs to know of it. */
export interface Owner extends OwnershipStore {
  owns(slot: number): boolean;
}

/** Nobody else has the store. */
export const OWNS_EVERYTHING: Owner = {
  owns: () => true,
  renew: async () => EVERYTHING,
  arrived: async () => [],
  release: async () => {},
};

/** A commit may take so long, and clocks of nodes differ: what is due now is looked for so far back. */
const LOOK_BACK_MS = 6000;

interface Arrived {
  readonly event: number;
  readonly endpoint: string;
  readonly random: string;
  readonly due_at: number;
}

export class SharedOwnership implements Owner {
  readonly #engine: Engine;
  readonly #leaseMs: number;
  readonly #id = randomUUID();
  #owned: ReadonlySet<number> = new Set();
  /** What was named lately, and when it was due. */
  readonly #named = new Map<string, number>();

  constructor(engine: Engine, leaseMs: number) {
    this.#engine = engine;
    this.#leaseMs = leaseMs;
  }

  owns(slot: number): boolean {
    return this.#owned.has(slot);
  }

  async renew(): Promise<Ownership> {
    this.#owned = await this.#engine.write((tx) => this.#renew(tx));
    return { endpoints: { total: SLOTS, owned: this.#owned }, holdsForMs: this.#leaseMs };
  }

  async arrived(): Promise<readonly Waiting[]> {
    const now = this.#engine.clock.now();
    for (const [name, dueAt] of this.#named) if (dueAt < now - LOOK_BACK_MS) this.#named.delete(name);
    const rows = await this.#engine.database.rows<Arrived>(
      `SELECT d.event, p.id AS endpoint, e.random, d.due_at
       FROM delivery d JOIN endpoint p ON p.number = d.endpoint JOIN event e ON e.key = d.event
       WHERE d.status = ${WAITING} AND d.slot = ANY($1::smallint[]) AND d.due_at > $2 AND d.due_at <= $3
         AND p.enabled = 1 AND p.cancel_to IS NULL ORDER BY d.due_at, d.event LIMIT $4`,
      [[...this.#owned], now - LOOK_BACK_MS, now, CHUNK + this.#named.size],
    );
    const fresh = rows
      .map((row) => ({ endpoint: row.endpoint, event: eventId(row.event, row.random), dueAt: row.due_at }))
      .filter((one) => !this.#named.has(`${one.event} ${one.endpoint}`))
      .slice(0, CHUNK);
    for (const { endpoint, event, dueAt } of fresh) this.#named.set(`${event} ${endpoint}`, dueAt);
    return fresh;
  }

  async release(): Promise<void> {
    this.#owned = new Set();
    await this.#engine.write(async (tx) => {
      await tx.change("UPDATE slot SET owner = NULL, epoch = epoch + 1 WHERE owner = $1", [this.#id]);
      await tx.change("UPDATE node SET lease_until = now() WHERE id = $1", [this.#id]);
    });
  }

  /**
   * The number of this node, which no other has whose lease runs: keys of events end with it. Before anything is
   * published, and again should the lease have run out and somebody else have taken the number.
   */
  async join(tx: Queries): Promise<void> {
    const lease = "now() + $2 * interval '1 millisecond'";
    for (let number = 0; number < NODES; number++) {
      const taken = await tx.change(
        `INSERT INTO node (id, number, lease_until) VALUES ($1, $3, ${lease})
         ON CONFLICT (number) DO UPDATE SET id = excluded.id, lease_until = excluded.lease_until
           WHERE node.lease_until <= now()`,
        [this.#id, this.#leaseMs, number],
      );
      if (taken === 0) continue;
      const [last] = await tx.rows<{ key: number | null }>("SELECT max(key) AS key FROM event");
      this.#engine.keys.become(number, last!.key ?? 0);
      this.#engine.numbers.become(number, last!.key ?? 0);
      return;
    }
    throw new WebhookdError("storage_unavailable", `the store has ${NODES} nodes already`);
  }

  async #renew(tx: Queries): Promise<ReadonlySet<number>> {
    const renewed = await tx.change(
      "UPDATE node SET lease_until = now() + $2 * interval '1 millisecond' WHERE id = $1",
      [this.#id, this.#leaseMs],
    );
    if (renewed === 0) await this.join(tx);
    const [counts] = await tx.rows<{ live: number }>("SELECT count(*) AS live FROM node WHERE lease_until > now()");
    const own = await tx.rows<{ slot: number }>("SELECT slot FROM slot WHERE owner = $1 ORDER BY slot", [this.#id]);
    const share = Math.ceil(SLOTS / Math.max(1, counts!.live));
    const kept = own.slice(0, share).map(({ slot }) => slot);
    const given = own.slice(share).map(({ slot }) => slot);
    await tx.change("UPDATE slot SET owner = NULL, epoch = epoch + 1 WHERE owner = $1 AND slot = ANY($2::smallint[])", [
      this.#id,
      given,
    ]);
    const taken = await this.#take(tx, share - kept.length);
    return new Set([...kept, ...taken]);
  }

  async #take(tx: Queries, wanted: number): Promise<readonly number[]> {
    if (wanted <= 0) return [];
    const free = await tx.rows<{ slot: number; epoch: number }>(
      `SELECT s.slot, s.epoch FROM slot s LEFT JOIN node n ON n.id = s.owner AND n.lease_until > now()
       WHERE n.id IS NULL ORDER BY s.slot LIMIT $1`,
      [wanted],
    );
    const rows = await tx.rows<{ slot: number }>(
      `UPDATE slot s SET owner = $1, epoch = s.epoch + 1
       FROM unnest($2::smallint[], $3::bigint[]) AS f (slot, epoch)
       WHERE s.slot = f.slot AND s.epoch = f.epoch RETURNING s.slot`,
      [this.#id, free.map(({ slot }) => slot), free.map(({ epoch }) => epoch)],
    );
    const taken = rows.map(({ slot }) => slot);
    // The memory of the node that had them is gone, or will not be asked again: what it was to send at once waits.
    if (taken.length > 0) {
      await tx.change(
        `UPDATE delivery SET status = ${WAITING}, due_at = least(due_at, $2::bigint)
         WHERE status = ${FRESH} AND slot = ANY($1::smallint[])`,
        [taken, this.#engine.clock.now()],
      );
    }
    return taken;
  }
}
