/** Gives back to the disk what memory holds and nobody has started: to make room, or because it may not start now. */
import type { Claim } from "../domain/delivery.ts";
import { WebhookdError } from "../domain/errors.ts";
import type { Store } from "../store/store.ts";
import type { Sending } from "./send/sending.ts";
import type { Windows } from "./windows.ts";

/** Deliveries that one commit writes back. */
const CHUNK = 500;

export interface ForgettingParts {
  readonly store: Pick<Store, "deliveries">;
  readonly sending: Pick<Sending, "forget">;
  readonly windows: Windows;
  readonly now: () => number;
  readonly release: (claim: Claim) => void;
  readonly onFault: (error: unknown) => void;
}

export class Forgetting {
  readonly #parts: ForgettingParts;
  #refused: Claim[] = [];

  constructor(parts: ForgettingParts) {
    this.#parts = parts;
  }

  /** What the sender had of the endpoint's deliveries and now does not start. They are still held. */
  async takeBack(endpoint: string): Promise<Claim[]> {
    const { sending, windows } = this.#parts;
    const given = await sending.forget(endpoint);
    return given.flatMap((delivery) => windows.find(endpoint, delivery) ?? []);
  }

  /**
   * Resolves once these deliveries of one endpoint are held no more. Never rejects: what a full disk does not take stays
   * held until somebody takes up the refused.
   */
  async forget(claims: readonly Claim[]): Promise<void> {
    for (let at = 0; at < claims.length; at += CHUNK) {
      try {
        await this.#park(claims.slice(at, at + CHUNK));
      } catch (error) {
        this.#refused.push(...claims.slice(at));
        if (!(error instanceof WebhookdError)) this.#parts.onFault(error);
        return;
      }
    }
    // With nothing on the wire, no end would have it read again.
    if (claims.length > 0) this.#parts.windows.plan(this.#parts.windows.of(claims[0]!.endpoint));
  }

  takeRefused(): Claim[] {
    return this.#refused.splice(0);
  }

  /** Held until it is written back: only a restart would read a fresh one. */
  async #park(claims: readonly Claim[]): Promise<void> {
    const { store, windows, release, now } = this.#parts;
    const parked = await store.deliveries.park(claims, now());
    for (const claim of claims) release(claim);
    // Where they wait on disk, which a clock that was set may have changed since they were read.
    for (const waiting of parked) windows.noteWaiting(waiting);
  }
}
