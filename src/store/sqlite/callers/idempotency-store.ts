/** The verbs about requests that come again: `../../idempotency.ts`. */
import { WebhookdError } from "../../../domain/errors.ts";
import type { KeyedRequest } from "../../../domain/idempotency.ts";
import { CHUNK_SIZE, type Doors } from "../engine/doors.ts";
import type { IdempotencyKeys } from "./idempotency.ts";

interface Parts extends Doors {
  readonly idempotency: IdempotencyKeys;
}

export class IdempotencyVerbs {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  async recall(request: KeyedRequest, now: number): Promise<string | null> {
    const known = this.#parts.read(() => this.#parts.idempotency.find(request.tenant, request, now));
    if (known instanceof WebhookdError) throw known;
    return known;
  }

  async remember(request: KeyedRequest, answer: string): Promise<void> {
    await this.#parts.commit.run(() => this.#parts.idempotency.remember(request.tenant, request, answer));
  }

  async pruneIdempotency(now: number): Promise<number> {
    // Asked each minute: a commit, which writes, is only for when there is something to do.
    if (!this.#parts.read(() => this.#parts.idempotency.hasExpired(now))) return 0;
    return this.#parts.commit.run(() => this.#parts.idempotency.prune(now), CHUNK_SIZE);
  }
}
