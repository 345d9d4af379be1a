/** Endpoints as the sender knows them: looked up when they are first needed, and anew when they change. */
import type { Target } from "../domain/endpoint.ts";
import type { Store } from "../store/store.ts";
import type { Sending } from "./sending.ts";

export class Targets {
  readonly #store: Pick<Store, "target">;
  readonly #sending: Pick<Sending, "setTarget">;
  /** A promise while one is being looked up. */
  readonly #targets = new Map<string, Target | Promise<Target | null>>();

  constructor(store: Pick<Store, "target">, sending: Pick<Sending, "setTarget">) {
    this.#store = store;
    this.#sending = sending;
  }

  /** Whether the sender has it already. */
  knows(endpoint: string): boolean {
    const known = this.#targets.get(endpoint);
    return known !== undefined && !(known instanceof Promise);
  }

  /** The target, once the sender has it; null when there is no such endpoint any more. */
  async get(endpoint: string): Promise<Target | null> {
    const known = this.#targets.get(endpoint);
    if (known !== undefined) return known;
    const lookup = this.#store.target(endpoint).then(async (target) => {
      if (target !== null) await this.#sending.setTarget(target);
      // Forgotten or looked up anew meanwhile: this answer is not the last word.
      if (this.#targets.get(endpoint) !== lookup) return target;
      if (target === null) this.#targets.delete(endpoint);
      else this.#targets.set(endpoint, target);
      return target;
    });
    this.#targets.set(endpoint, lookup);
    return lookup;
  }

  /** Whether it was known, or being looked up. */
  forget(endpoint: string): boolean {
    return this.#targets.delete(endpoint);
  }
}
