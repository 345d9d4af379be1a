/**
 * After deaths of the process: what was on the wire then goes first and alone, so that another death names the guilty
 * one. At three deaths its attempt counts as failed, and everything else goes on.
 */
import type { Clock } from "../clock.ts";
import { deadly, type Outcome } from "../domain/attempt.ts";
import type { Claim } from "../domain/delivery.ts";
import type { Log } from "../log.ts";
import type { EventDelivery, Suspect } from "../store/store.ts";
import type { EndedClaim } from "./recorder.ts";

export interface SuspectsParts {
  readonly clock: Clock;
  readonly log: Log;
  /** Whether its attempt is still wanted, now that its turn has come. */
  readonly isOwed: (claim: Claim) => Promise<boolean>;
  readonly hold: (claim: Claim) => void;
  readonly send: (claim: Claim) => void;
  readonly urlOf: (endpoint: string) => Promise<string>;
  readonly record: (ended: EndedClaim) => void;
}

export class Suspects {
  readonly #parts: SuspectsParts;
  #onReleased: (() => void) | null = null;
  /** Taken back before their turn came. */
  readonly #withdrawn = new Set<string>();
  /** Nothing else is handed to the sender meanwhile. */
  onTrial = false;

  constructor(parts: SuspectsParts) {
    this.#parts = parts;
  }

  async try(suspects: readonly Suspect[]): Promise<void> {
    const { log, hold, send, isOwed } = this.#parts;
    log.warn({ suspects: suspects.length }, "the process died while these were sent; each goes alone first");
    this.onTrial = true;
    for (const { claim, interruptions } of suspects) {
      if (this.#withdrawn.has(claim.delivery) || !(await isOwed(claim))) continue;
      const released = new Promise<void>((resolve) => (this.#onReleased = resolve));
      hold(claim);
      const outcome = deadly(interruptions, "process");
      if (outcome === null) send(claim);
      else await this.#convict(claim, outcome);
      await released;
    }
    this.onTrial = false;
    this.#withdrawn.clear();
  }

  withdraw(deliveries: readonly EventDelivery[]): void {
    if (this.onTrial) for (const { delivery } of deliveries) this.#withdrawn.add(delivery);
  }

  /** Whatever was held alone has come to its end. */
  released(): void {
    this.#onReleased?.();
  }

  async #convict(claim: Claim, outcome: Outcome): Promise<void> {
    const { event, delivery, endpoint } = claim;
    this.#parts.log.error({ event, delivery, endpoint }, outcome.detail);
    const [url, startedAt] = [await this.#parts.urlOf(endpoint), this.#parts.clock.now()];
    this.#parts.record({ claim, ended: { delivery, endpoint, url, startedAt, secretVersion: null, outcome } });
  }
}
