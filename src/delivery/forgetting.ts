/** Gives back to the disk what memory holds and nobody has started: to make room, or because it may not start now. */
import type { Claim } from "../domain/delivery.ts";
import type { Store } from "../store/store.ts";
import type { Sending } from "./sending.ts";
import type { Windows } from "./windows.ts";

/** Deliveries that one commit writes back. */
const CHUNK = 500;

export interface ForgettingParts {
  readonly store: Pick<Store, "park">;
  readonly sending: Pick<Sending, "forget" | "send">;
  readonly windows: Windows;
  readonly now: () => number;
  readonly release: (claim: Claim) => void;
}

export class Forgetting {
  readonly #parts: ForgettingParts;

  constructor(parts: ForgettingParts) {
    this.#parts = parts;
  }

  /** Resolves once nothing of the endpoint is held but what was started; after an error what is left is sent. */
  async forget(endpoint: string): Promise<void> {
    const { sending, windows } = this.#parts;
    const window = windows.of(endpoint);
    const claims = (await sending.forget(endpoint)).flatMap((delivery) => window.held.get(delivery) ?? []);
    for (let at = 0; at < claims.length; at += CHUNK) {
      try {
        await this.#park(claims.slice(at, at + CHUNK));
      } catch (error) {
        sending.send(claims.slice(at));
        throw error;
      }
    }
    // With nothing on the wire, no end would have it read again.
    windows.plan(window);
  }

  /** Held until it is written back: only a restart would read a fresh one. */
  async #park(claims: readonly Claim[]): Promise<void> {
    const { store, windows, release, now } = this.#parts;
    const parked = await store.park(claims, now());
    for (const claim of claims) release(claim);
    // Where they wait on disk, which a clock that was set may have changed since they were read.
    for (const waiting of parked) windows.noteWaiting(waiting);
  }
}
