/** Deliveries that were taken back, cancelled or erased, while memory held them: none of them is started any more. */
import type { Claim } from "../domain/delivery.ts";
import type { EventDelivery } from "../store/store.ts";
import type { Windows } from "./windows.ts";

export interface WithdrawalParts {
  /** All that the sender has not started of the endpoint, and now does not start. */
  readonly takeBack: (endpoint: string) => Promise<readonly Claim[]>;
  readonly windows: Windows;
  readonly release: (claim: Claim) => void;
  /** Hands them to the sender again, if they may still be sent. */
  readonly resend: (endpoint: string, claims: readonly Claim[]) => void;
}

/** A failed delivery may have been replayed while its manual attempt was held: whatever waits is read again. */
const WHEREVER = 0;

export class Withdrawal {
  readonly #parts: WithdrawalParts;
  /** Held still: on the wire, or on its way to the sender. */
  readonly #withdrawn = new Set<string>();

  constructor(parts: WithdrawalParts) {
    this.#parts = parts;
  }

  /** Resolves once none of them is held but what was started. */
  async withdraw(deliveries: readonly EventDelivery[]): Promise<void> {
    const { resend, takeBack, windows } = this.#parts;
    const endpoints = new Set<string>();
    for (const { endpoint, delivery } of deliveries) {
      if (windows.find(endpoint, delivery) === undefined) windows.release(endpoint, delivery);
      else {
        this.#withdrawn.add(delivery);
        endpoints.add(endpoint);
      }
    }
    // What was not meant takes its turn again.
    await Promise.all([...endpoints].map(async (endpoint) => resend(endpoint, await takeBack(endpoint))));
  }

  /** Lets go of those that were taken back; the answer is the others. */
  sift(claims: readonly Claim[]): readonly Claim[] {
    if (this.#withdrawn.size === 0) return claims;
    return claims.filter((claim) => {
      const withdrawn = this.#withdrawn.has(claim.delivery);
      if (withdrawn) this.#letGo(claim);
      return !withdrawn;
    });
  }

  released(delivery: string): void {
    if (this.#withdrawn.size > 0) this.#withdrawn.delete(delivery);
  }

  #letGo(claim: Claim): void {
    const { release, windows } = this.#parts;
    const { endpoint, event } = claim;
    release(claim);
    windows.noteWaiting({ endpoint, event, dueAt: WHEREVER });
    windows.plan(windows.of(endpoint));
  }
}
