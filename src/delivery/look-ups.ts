/** Asks the store for an endpoint, and tells the sender of it; one look-up of an endpoint after the other. */
import { isDamaged } from "../domain/endpoints/endpoint.ts";
import type { Store } from "../store/store.ts";
import type { KnownEndpoint } from "./memory/endpoints.ts";
import type { Sending } from "./send/sender.ts";

export class LookUps {
  readonly #store: Store;
  readonly #sending: Sending;
  /** The latest look-up of each endpoint: only its answer counts. */
  readonly #latest = new Map<string, Promise<KnownEndpoint | null>>();

  constructor(store: Store, sending: Sending) {
    this.#store = store;
    this.#sending = sending;
  }

  /** The one that is under way, if there is one. */
  get(endpoint: string): Promise<KnownEndpoint | null> | undefined {
    return this.#latest.get(endpoint);
  }

  begin(endpoint: string): Promise<KnownEndpoint | null> {
    const lookUp = this.#ask(endpoint, this.#latest.get(endpoint));
    this.#latest.set(endpoint, lookUp);
    return lookUp;
  }

  /** Whether no other look-up was begun since, and the endpoint was not deleted. */
  end(endpoint: string, lookUp: Promise<KnownEndpoint | null>): boolean {
    return this.#latest.get(endpoint) === lookUp && this.#latest.delete(endpoint);
  }

  /** The endpoint was deleted. */
  forget(endpoint: string): void {
    this.#latest.delete(endpoint);
  }

  async #ask(endpoint: string, before: Promise<unknown> | undefined): Promise<KnownEndpoint | null> {
    // The sender must hear the newest settings last.
    await before?.catch(() => {});
    const target = await this.#store.endpoints.target(endpoint);
    if (target !== null && !isDamaged(target)) await this.#sending.setTarget(target);
    return target;
  }
}
