/**
 * Lets one process have the whole store, by the lease of its row. Another process gets the store once the lease has run
 * out.
 */
import { randomUUID } from "node:crypto";
import type { Ownership } from "../store.ts";
import type { Database, Queries } from "./engine/database.ts";
import type { Engine } from "./engine/engine.ts";
import { NO_CHANGES } from "./engine/owner.ts";
import { hearTime } from "./engine/time.ts";
import { guard, lost, renewLease, takeStore, type About, type NewNode, type Node, type Wait } from "./node.ts";

export class SoleOwner implements Node {
  readonly owns = null;
  readonly slots = null;
  readonly stream = null;
  readonly alerts = null;
  readonly #node: NewNode;
  readonly #onLost: (error: Error) => void;
  #database: Database | null = null;
  #engine: Engine | null = null;

  /** Calls `onLost` once another process has the store, so that this one must end. */
  constructor(leaseMs: number, about: About, onLost: (error: Error) => void) {
    this.#node = { ...about, id: randomUUID(), leaseMs, alone: true };
    this.#onLost = onLost;
  }

  ownsSlot(): boolean {
    return true;
  }

  async take(database: Database, wait: Wait) {
    this.#database = database;
    return takeStore(database, this.#node, wait);
  }

  attach(engine: Engine): void {
    this.#engine = engine;
  }

  async guard(tx: Queries): Promise<null> {
    if (!(await guard(tx, this.#node))) throw this.#lost();
    return null;
  }

  async renew(): Promise<Ownership> {
    const { lease } = this.#database!;
    // If this fails, the renewal fails too.
    if (this.#engine !== null) hearTime(lease, this.#engine.clock).catch(() => {});
    if (!(await renewLease(lease, this.#node, null))) throw this.#lost();
    return { endpoints: "everything", holdsForMs: this.#node.leaseMs };
  }

  leave(): Promise<Ownership> {
    return this.renew();
  }

  async give(): Promise<void> {}

  async remoteChanges() {
    return NO_CHANGES;
  }

  async acknowledgeChanges(): Promise<void> {}

  async untilNotified(): Promise<void> {}

  async notify(): Promise<void> {}

  async nodes() {
    return [];
  }

  async drain() {
    return false;
  }

  async release(): Promise<void> {
    await this.#database!.lease.change("DELETE FROM node WHERE id = $1", [this.#node.id]);
  }

  #lost(): Error {
    const what = "another webhookd has taken over the PostgreSQL database from this one, because its lease had run out";
    return lost(this.#onLost, what);
  }
}
