/** Endpoints as the sender knows them: looked up when they are first needed, and anew when they change. */
import { isDamaged, type DamagedTarget, type Target } from "../domain/endpoint.ts";
import type { Store } from "../store/store.ts";
import type { Sending } from "./send/sending.ts";

/** `enabled` says of a damaged one that nothing is sent to it. */
type Known = Target | DamagedTarget;

export class Targets {
  readonly #store: Pick<Store, "endpoints">;
  readonly #sending: Pick<Sending, "setTarget">;
  /** A promise while one is being looked up. */
  readonly #targets = new Map<string, Known | Promise<Known | null>>();
  readonly #damaged = new Set<string>();

  constructor(store: Pick<Store, "endpoints">, sending: Pick<Sending, "setTarget">) {
    this.#store = store;
    this.#sending = sending;
  }

  /** Whether the sender has it already and may be given its deliveries. */
  isOpen(endpoint: string): boolean {
    const known = this.#targets.get(endpoint);
    return known !== undefined && !(known instanceof Promise) && known.enabled;
  }

  /** Whether it was found to be, when it was looked up. */
  isDamaged(endpoint: string): boolean {
    return this.#damaged.size > 0 && this.#damaged.has(endpoint);
  }

  /** Null while nobody knows the endpoint. */
  tenantOf(endpoint: string): string | null {
    const known = this.#targets.get(endpoint);
    return known === undefined || known instanceof Promise ? null : known.tenant;
  }

  /** The target, once the sender has it; null when there is no such endpoint any more. */
  async get(endpoint: string): Promise<Known | null> {
    return this.#targets.get(endpoint) ?? this.#lookUp(endpoint, null);
  }

  /** The target as it is now. A look that is under way ends first: the sender must hear the newest settings last. */
  async renew(endpoint: string): Promise<Known | null> {
    return this.#lookUp(endpoint, this.#targets.get(endpoint) ?? null);
  }

  forget(endpoint: string): void {
    this.#targets.delete(endpoint);
    this.#damaged.delete(endpoint);
  }

  #lookUp(endpoint: string, before: Known | Promise<unknown> | null): Promise<Known | null> {
    const lookup = this.#ask(endpoint, before).then(
      (target) => {
        // Forgotten or looked up anew meanwhile: this answer is not the last word.
        if (this.#targets.get(endpoint) !== lookup) return target;
        this.#note(endpoint, target);
        return target;
      },
      (error: unknown) => {
        if (this.#targets.get(endpoint) === lookup) this.#targets.delete(endpoint);
        throw error;
      },
    );
    this.#targets.set(endpoint, lookup);
    return lookup;
  }

  #note(endpoint: string, target: Known | null): void {
    this.forget(endpoint);
    if (target === null) return;
    this.#targets.set(endpoint, target);
    if (isDamaged(target)) this.#damaged.add(endpoint);
  }

  async #ask(endpoint: string, before: Known | Promise<unknown> | null): Promise<Known | null> {
    if (before instanceof Promise) await before.catch(() => {});
    const target = await this.#store.endpoints.target(endpoint);
    if (target !== null && !isDamaged(target)) await this.#sending.setTarget(target);
    return target;
  }
}
