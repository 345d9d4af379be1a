/** The endpoints as the sender knows them. Each is looked up when it is first needed, and again when it changes. */
import type { Claim } from "../../domain/deliveries/delivery.ts";
import { isDamaged, type DamagedTarget, type Target } from "../../domain/endpoints/endpoint.ts";

/** A damaged endpoint has `enabled` false, because nothing is sent to it. */
export type KnownEndpoint = Target | DamagedTarget;

export class Endpoints {
  readonly #known = new Map<string, KnownEndpoint>();
  /** The endpoints that are being looked up, each with the deliveries that wait for the result. */
  readonly #awaited = new Map<string, Claim[]>();
  /** Endpoints that were damaged when they were last looked up. */
  readonly damaged = new Set<string>();

  /** Undefined until the first look-up has ended, and during every later one. */
  get(endpoint: string): KnownEndpoint | undefined {
    return this.#known.get(endpoint);
  }

  /** True if the sender knows the endpoint and may get its deliveries. */
  isOpen(endpoint: string): boolean {
    return this.#known.get(endpoint)?.enabled === true;
  }

  /** Null while the endpoint is not known. */
  tenantOf(endpoint: string): string | null {
    return this.#known.get(endpoint)?.tenant ?? null;
  }

  /** Begins a look-up and forgets what was known before. Returns false if one is already in progress. */
  lookUp(endpoint: string): boolean {
    if (this.#awaited.has(endpoint)) return false;
    this.#known.delete(endpoint);
    this.#awaited.set(endpoint, []);
    return true;
  }

  /** Keeps the delivery until its endpoint is looked up. */
  await(claim: Claim): void {
    this.#awaited.get(claim.endpoint)!.push(claim);
  }

  /**
   * The look-up has ended. `target` is null if there is no such endpoint. Returns the deliveries that waited for it.
   */
  known(endpoint: string, target: KnownEndpoint | null): Claim[] {
    const waited = this.forget(endpoint);
    if (target !== null) {
      this.#known.set(endpoint, target);
      if (isDamaged(target)) this.damaged.add(endpoint);
    }
    return waited;
  }

  /** Returns the deliveries that waited for the endpoint. */
  forget(endpoint: string): Claim[] {
    const waited = this.#awaited.get(endpoint) ?? [];
    this.#awaited.delete(endpoint);
    this.#known.delete(endpoint);
    this.damaged.delete(endpoint);
    return waited;
  }
}
