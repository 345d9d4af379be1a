/**
 * One process has the whole store, by a lease that it renews: a row that names it, by the clock of the database. Another
 * one gets the store once the lease has run out. Whoever was late, stopped by its kernel or cut off, commits nothing more,
 * because each transaction holds on to that row.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { storageUnavailable } from "../sqlite/engine/condition.ts";
import { StoreRefused } from "../files/refused.ts";
import type { Ownership } from "../store.ts";
import type { Database, Queries } from "./engine/database.ts";
import type { Owner } from "./ownership.ts";

/** A death is noticed after so long; a database may be away for as long before nothing is sent any more. */
export const LEASE_MS = 5000;
const LEASE = "now() + $2 * interval '1 millisecond'";
/** Between two looks at whether the lease of another has run out. */
const LOOK_MS = 250;

interface Holder {
  readonly left: number;
  readonly until: string;
}

export class SoleOwner implements Owner {
  readonly #id = randomUUID();
  readonly #leaseMs: number;
  readonly #onLost: (error: Error) => void;
  #database: Database | null = null;

  /** `onLost` is called once another process has the store: this one must end. */
  constructor(leaseMs: number, onLost: (error: Error) => void) {
    this.#leaseMs = leaseMs;
    this.#onLost = onLost;
  }

  owns(): boolean {
    return true;
  }

  /**
   * Waits until a lease that nobody renews runs out; a standby waits for as long as it takes. The answer is whether the
   * last process did not end by itself.
   */
  async take(database: Database, isStandby: boolean, onWait: () => void): Promise<boolean> {
    this.#database = database;
    let first: Holder | null = null;
    // A clean stop takes its row away.
    for (let wasHeld = true; ;) {
      wasHeld = (await database.rows("SELECT 1 FROM node WHERE number = 0")).length > 0;
      const taken = await database.change(
        `INSERT INTO node (id, number, lease_until) VALUES ($1, 0, ${LEASE})
         ON CONFLICT (number) DO UPDATE SET id = excluded.id, lease_until = excluded.lease_until
           WHERE node.lease_until <= now()`,
        [this.#id, this.#leaseMs],
      );
      if (taken === 1) return wasHeld;
      const [holder] = await database.rows<Holder>(
        `SELECT (extract(epoch FROM lease_until - now()) * 1000)::integer AS left, lease_until::text AS until
         FROM node WHERE number = 0`,
      );
      if (holder === undefined) continue;
      if (first === null) onWait();
      else if (holder.until !== first.until && !isStandby) throw held();
      first ??= holder;
      await sleep(Math.max(1, Math.min(LOOK_MS, holder.left)));
    }
  }

  /** Inside a transaction, before its work. */
  async guard(tx: Queries): Promise<null> {
    const rows = await tx.rows("SELECT 1 FROM node WHERE id = $1 FOR SHARE", [this.#id]);
    if (rows.length === 0) throw this.#lost();
    return null;
  }

  async renew(): Promise<Ownership> {
    const sql = `UPDATE node SET lease_until = ${LEASE} WHERE id = $1`;
    if ((await this.#database!.change(sql, [this.#id, this.#leaseMs])) === 0) throw this.#lost();
    return { endpoints: "everything", holdsForMs: this.#leaseMs };
  }

  async arrived(): Promise<readonly []> {
    return [];
  }

  async release(): Promise<void> {
    await this.#database!.change("DELETE FROM node WHERE id = $1", [this.#id]);
  }

  #lost(): Error {
    const what = "another webhookd has taken this one's PostgreSQL database over, because its lease had run out";
    this.#onLost(new StoreRefused(75, what, "nothing is lost; if this host was not suspended, look at its load"));
    return storageUnavailable();
  }
}

function held(): StoreRefused {
  return new StoreRefused(
    75,
    "another webhookd is using the PostgreSQL database of [data] store",
    "use that one, or stop it first; with [data] standby = true this one waits, and takes over when the other ends",
  );
}
