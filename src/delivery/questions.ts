/**
 * What must be asked before deliveries go on: the store for an endpoint, or whether it still owes an attempt; this host
 * whether its resolvers answer. Each answer is the input of a transition, whose effects come back.
 */
import type { Clock } from "../clock.ts";
import type { Claim } from "../domain/deliveries/delivery.ts";
import { isDamaged } from "../domain/endpoints/endpoint.ts";
import type { EventDelivery, Store } from "../store/store.ts";
import { endpointKnown, endpointUnknown } from "./core/changed.ts";
import { requestAnswered } from "./core/disk.ts";
import type { Effects } from "./core/effects.ts";
import type { KnownEndpoint } from "./memory/endpoints.ts";
import type { Memory } from "./memory/memory.ts";
import type { Sending } from "./send/sender.ts";

/** For all of this host's resolvers, however many there are and however patient the question itself is. */
const PATIENCE_MS = 3000;

export interface QuestionsParts {
  readonly store: Store;
  readonly clock: Clock;
  /** Why this host's resolvers are of no use to anybody, or null. */
  readonly askResolvers: () => Promise<string | null>;
}

export interface LookedUp {
  /** As it is now, and the sender knows it; null when there is none. */
  readonly target: KnownEndpoint | null;
  /** Null when the answer does not count: it was looked up once more since, or deleted. */
  readonly effects: Effects | null;
}

export class Questions {
  readonly #parts: QuestionsParts;
  readonly #memory: Memory;
  readonly #sending: Sending;
  /** The latest look-up of each endpoint: only its answer counts. */
  readonly #latest = new Map<string, Promise<KnownEndpoint | null>>();
  #cancelTimer: (() => void) | null = null;

  constructor(parts: QuestionsParts, memory: Memory, sending: Sending) {
    this.#parts = parts;
    this.#memory = memory;
    this.#sending = sending;
  }

  /** The look-up that is under way, if there is one. */
  lookUpOf(endpoint: string): Promise<KnownEndpoint | null> | undefined {
    return this.#latest.get(endpoint);
  }

  /** Asks the store for an endpoint, and tells the sender of it. */
  async lookUp(endpoint: string): Promise<LookedUp> {
    this.#memory.endpoints.lookUp(endpoint);
    const lookUp = this.#tellSender(endpoint, this.#latest.get(endpoint));
    this.#latest.set(endpoint, lookUp);
    const counts = () => this.#latest.get(endpoint) === lookUp && this.#latest.delete(endpoint);
    try {
      const target = await lookUp;
      return { target, effects: counts() ? endpointKnown(this.#memory, endpoint, target) : null };
    } catch (error) {
      if (counts()) endpointUnknown(this.#memory, endpoint);
      throw error;
    }
  }

  /** The endpoint was deleted: what a look-up says of it from now on does not count. */
  forget(endpoint: string): void {
    this.#latest.delete(endpoint);
  }

  /** What to make an attempt from that was asked for by hand, if it is owed still. */
  async askFor(owed: EventDelivery): Promise<Effects> {
    let claim: Claim | null;
    try {
      claim = await this.#parts.store.deliveries.requestedAttempt(owed.delivery);
    } catch (error) {
      this.#memory.manual.notAnswered(owed);
      throw error;
    }
    return requestAnswered(this.#memory, owed, claim);
  }

  /** Why this host's resolvers are of no use to anybody, or null. Stays unanswered after `cancel`. */
  async askResolvers(): Promise<string | null> {
    const { askResolvers, clock } = this.#parts;
    const why = await new Promise<string | null>((resolve) => {
      const late = () => resolve(`this host's DNS resolvers gave no answer within ${PATIENCE_MS / 1000} s`);
      this.#cancelTimer = clock.after(PATIENCE_MS, late);
      void askResolvers().then(resolve, () => resolve(null));
    });
    this.cancel();
    return why;
  }

  cancel(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = null;
  }

  async #tellSender(endpoint: string, before: Promise<unknown> | undefined): Promise<KnownEndpoint | null> {
    // The sender must hear the newest settings last.
    if (before !== undefined) await before.catch(() => {});
    const target = await this.#parts.store.endpoints.target(endpoint);
    if (target !== null && !isDamaged(target)) await this.#sending.setTarget(target);
    return target;
  }
}
