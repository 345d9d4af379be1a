/** Endpoints as the sender knows them: looked up when they are first needed, and anew when they change. */
import type { Claim } from "../../domain/deliveries/delivery.ts";
import { isDamaged, type DamagedTarget, type Target } from "../../domain/endpoints/endpoint.ts";

/** `enabled` says of a damaged one that nothing is sent to it. */
export type KnownEndpoint = Target | DamagedTarget;

export class Endpoints {
  readonly #known = new Map<string, KnownEndpoint>();
  /** Those that are being looked up, and the deliveries that wait for it. */
  readonly #awaited = new Map<string, Claim[]>();
  readonly #damaged = new Set<string>();

  /** Undefined while it is being looked up, and before that. */
  get(endpoint: string): KnownEndpoint | undefined {
    return this.#known.get(endpoint);
  }

  /** Whether the sender has it already and may be given its deliveries. */
  isOpen(endpoint: string): boolean {
    return this.#known.get(endpoint)?.enabled === true;
  }

  /** Whether it was damaged when it was last looked up. */
  isDamaged(endpoint: string): boolean {
    return this.#damaged.size > 0 && this.#damaged.has(endpoint);
  }

  /** Null while the endpoint is not known. */
  tenantOf(endpoint: string): string | null {
    return this.#known.get(endpoint)?.tenant ?? null;
  }

  /** It is being looked up from now on, whatever was known of it; false when it is already. */
  lookUp(endpoint: string): boolean {
    if (this.#awaited.has(endpoint)) return false;
    this.#known.delete(endpoint);
    this.#awaited.set(endpoint, []);
    return true;
  }

  /** The delivery waits until its endpoint is looked up. */
  await(claim: Claim): void {
    this.#awaited.get(claim.endpoint)!.push(claim);
  }

  /** The look-up is over: the endpoint is known, or null. The answer is what waited for it. */
  known(endpoint: string, target: KnownEndpoint | null): Claim[] {
    const waited = this.forget(endpoint);
    if (target !== null) {
      this.#known.set(endpoint, target);
      if (isDamaged(target)) this.#damaged.add(endpoint);
    }
    return waited;
  }

  /** The answer is what waited for it. */
  forget(endpoint: string): Claim[] {
    const waited = this.#awaited.get(endpoint) ?? [];
    this.#awaited.delete(endpoint);
    this.#known.delete(endpoint);
    this.#damaged.delete(endpoint);
    return waited;
  }
}
