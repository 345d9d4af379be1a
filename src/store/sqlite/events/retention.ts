/** The verbs about retention: `../../retention.ts`. */
import type { PruneRules, Pruned } from "../../store.ts";
import { CHUNK_SIZE, type Doors } from "../engine/doors.ts";
import type { Held } from "../deliveries/held.ts";
import type { Prune } from "./prune.ts";
import type { Responses } from "../attempts/responses.ts";
import type { Statistics } from "../statistics/statistics.ts";

interface Parts extends Doors {
  readonly prune: Prune;
  readonly held: Held;
  readonly responses: Responses;
  readonly statistics: Statistics;
}

export class RetentionVerbs {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  async pruneEvents(rules: PruneRules, from: string | null): Promise<Pruned> {
    return this.#parts.commit.run(() => this.#parts.prune.prune(rules, from), CHUNK_SIZE);
  }

  async expireHeld(before: number, now: number): Promise<number> {
    const endpoints = await this.#parts.commit.run(() => this.#parts.held.expire(before, now), CHUNK_SIZE);
    this.#parts.statistics.noteExpired(endpoints);
    return endpoints.length;
  }

  async forgetResponses(before: number): Promise<number> {
    return this.#parts.commit.run(() => this.#parts.responses.forget(before), CHUNK_SIZE);
  }
}
