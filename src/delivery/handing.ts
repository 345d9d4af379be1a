/** Hands what memory holds to the sender, once it knows the endpoint; what may not start goes back to the disk. */
import type { Claim } from "../domain/delivery.ts";
import { isDamaged, type DamagedTarget, type Target } from "../domain/endpoint.ts";
import type { Forgetting } from "./forgetting.ts";
import type { Sending } from "./send/sending.ts";
import type { Targets } from "./targets.ts";
import type { Withdrawal } from "./withdrawal.ts";

export interface HandingParts {
  readonly sending: Pick<Sending, "send">;
  readonly targets: Pick<Targets, "isOpen" | "get">;
  readonly withdrawal: Pick<Withdrawal, "sift">;
  readonly forgetting: Pick<Forgetting, "forget">;
  readonly release: (claim: Claim) => void;
  readonly wake: () => void;
  /** What had to wait for the endpoint is handed over, or gone. */
  readonly onRest: () => void;
  readonly onFault: (error: unknown) => void;
}

export class Handing {
  readonly #parts: HandingParts;

  constructor(parts: HandingParts) {
    this.#parts = parts;
  }

  /** All of the endpoint; they are held. */
  send(endpoint: string, claims: readonly Claim[]): void {
    const { onFault, onRest, release, sending, targets, withdrawal } = this.#parts;
    if (targets.isOpen(endpoint)) {
      sending.send(withdrawal.sift(claims));
      return;
    }
    void targets
      .get(endpoint)
      .then(async (target) => {
        if (target !== null) await this.handOver(target, claims);
        else for (const claim of claims) release(claim);
        onRest();
      })
      .catch(onFault);
  }

  /**
   * To the sender; or back to the disk while the endpoint is disabled, or damaged. To a disabled one what was asked for
   * is sent all the same.
   */
  async handOver(target: Target | DamagedTarget, held: readonly Claim[]): Promise<void> {
    const { forgetting, sending, wake, withdrawal } = this.#parts;
    const claims = withdrawal.sift(held);
    const isWanted = ({ trigger }: Claim) => target.enabled || trigger === "test" || trigger === "manual";
    const sent = isDamaged(target) ? [] : claims.filter(isWanted);
    if (sent.length > 0) sending.send(sent);
    if (sent.length === claims.length) return;
    await forgetting.forget(claims.filter((claim) => !sent.includes(claim)));
    // Enabled again meanwhile, perhaps.
    wake();
  }
}
