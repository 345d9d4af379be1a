/**
 * Asks the questions that deliveries wait for: the store about an endpoint or a requested attempt, and this host
 * whether its resolvers answer. Each answer is the input of a transition, whose effects are returned.
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
import { unawaited } from "../domain/unawaited.ts";

/** Limits the time for all of this host's resolvers together, however many there are. */
const PATIENCE_MS = 3000;

export interface QuestionsParts {
  readonly store: Store;
  readonly clock: Clock;
  /** Returns why this host's resolvers are of no use, or null. */
  readonly askResolvers: () => Promise<string | null>;
}

export interface LookedUp {
  /** The current state of the endpoint, which the sender knows too. Null if there is none. */
  readonly target: KnownEndpoint | null;
  /** Null if the answer does not count, because the endpoint was looked up again or deleted in the meantime. */
  readonly effects: Effects | null;
}

export class Questions {
  readonly #parts: QuestionsParts;
  readonly #memory: Memory;
  readonly #sending: Sending;
  /** The latest look-up of each endpoint. Only its answer counts. */
  readonly #latest = new Map<string, Promise<KnownEndpoint | null>>();
  #cancelTimer: (() => void) | null = null;

  constructor(parts: QuestionsParts, memory: Memory, sending: Sending) {
    this.#parts = parts;
    this.#memory = memory;
    this.#sending = sending;
  }

  /** Returns the look-up in progress, if there is one. */
  lookUpOf(endpoint: string): Promise<KnownEndpoint | null> | undefined {
    return this.#latest.get(endpoint);
  }

  /** Asks the store for an endpoint, and passes it to the sender. */
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

  /** The endpoint was deleted, so ignore the result of a look-up in progress. */
  forget(endpoint: string): void {
    this.#latest.delete(endpoint);
  }

  /** Asks for the claim of an attempt that was requested by hand, if it is still wanted. */
  async askFor(wanted: EventDelivery): Promise<Effects> {
    let claim: Claim | null;
    try {
      claim = await this.#parts.store.deliveries.requestedAttempt(wanted.delivery);
    } catch (error) {
      this.#memory.manual.notAnswered(wanted);
      throw error;
    }
    return requestAnswered(this.#memory, wanted, claim);
  }

  /** Returns why this host's resolvers are of no use, or null. Never resolves after `cancel`. */
  async askResolvers(): Promise<string | null> {
    const { askResolvers, clock } = this.#parts;
    const why = await new Promise<string | null>((resolve) => {
      const late = () => resolve(`this host's DNS resolvers gave no answer within ${PATIENCE_MS / 1000} s`);
      this.#cancelTimer = clock.after(PATIENCE_MS, late);
      unawaited(askResolvers().then(resolve, () => resolve(null)));
    });
    this.cancel();
    return why;
  }

  cancel(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = null;
  }

  async #tellSender(endpoint: string, before: Promise<unknown> | undefined): Promise<KnownEndpoint | null> {
    // The sender must get the newest settings last.
    if (before !== undefined) await before.catch(() => {});
    const target = await this.#parts.store.endpoints.target(endpoint);
    if (target !== null && !isDamaged(target)) await this.#sending.setTarget(target);
    return target;
  }
}
