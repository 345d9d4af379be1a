/** The verbs about API keys: `../../keys.ts`. */
import type { Once } from "../../../domain/idempotency.ts";
import type { ApiKey, NewApiKey } from "../../../domain/key.ts";
import type { Pruned } from "../../store.ts";
import { CHUNK_SIZE, type Doors } from "../engine/doors.ts";
import type { Keys } from "./keys.ts";

interface Parts extends Doors {
  readonly keys: Keys;
}

export class KeyVerbs {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  async addKey(key: NewApiKey, now: number, once?: Once<void>): Promise<void> {
    await this.#parts.once(once, now, () => this.#parts.keys.add(key, now));
  }

  async getKey(id: string): Promise<ApiKey | null> {
    return this.#parts.read(() => this.#parts.keys.get(id));
  }

  async hasAdminKey(now: number): Promise<boolean> {
    return this.#parts.read(() => this.#parts.keys.hasAdmin(now));
  }

  async revokeKey(id: string, now: number): Promise<boolean> {
    return this.#parts.commit.run(() => this.#parts.keys.revoke(id, now));
  }

  async pruneKeys(before: number, from: string | null): Promise<Pruned> {
    return this.#parts.commit.run(() => this.#parts.keys.prune(before, from), CHUNK_SIZE);
  }

  touchKey(id: string, now: number): void {
    if (!this.#parts.keys.isWorthNoting(id, now)) return;
    const work = this.#parts.commit.run(() => this.#parts.keys.touch(id, now), {
      events: 0,
      deliveries: 1,
      patient: true,
    });
    // Whoever published or recorded beside it hears of the fault.
    work.catch(() => {});
  }
}
