/**
 * After deaths of the process: what was on the wire then goes first and alone, so that another death names the guilty
 * one. At three deaths its attempt counts as failed, and everything else goes on.
 */
import type { Clock } from "../clock.ts";
import { deadly, type Outcome } from "../domain/deliveries/attempt.ts";
import type { Claim } from "../domain/deliveries/delivery.ts";
import type { Log } from "../log.ts";
import type { EventDelivery, Store, Suspect } from "../store/store.ts";
import { ended } from "./core/ended.ts";
import { tried } from "./core/requested.ts";
import type { Executor } from "./executor.ts";

export interface TrialParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly store: Store;
}

export class Trial {
  readonly #parts: TrialParts;
  readonly #executor: Executor;
  /** Taken back before their turn came. */
  readonly #withdrawn = new Set<string>();

  constructor(parts: TrialParts, executor: Executor) {
    this.#parts = parts;
    this.#executor = executor;
  }

  async run(suspects: readonly Suspect[]): Promise<void> {
    const { log, store } = this.#parts;
    const { halts } = this.#executor.memory;
    log.warn(
      { suspects: suspects.length },
      "the process died while these were being sent; each is now sent alone, before anything else",
    );
    halts.onTrial = true;
    for (const { claim, interruptions } of suspects) {
      const { delivery, trigger } = claim;
      if (this.#withdrawn.has(delivery)) continue;
      // A disable takes back what was asked for by hand; what else is owed goes back to the disk.
      if (trigger === "manual" && (await store.deliveries.requestedAttempt(delivery)) === null) continue;
      const verdict = deadly(interruptions, "process");
      this.#executor.do(tried(this.#executor.memory, claim, verdict === null));
      const released = this.#executor.released(claim);
      if (verdict !== null) await this.#convict(claim, verdict);
      await released;
    }
    halts.onTrial = false;
    this.#withdrawn.clear();
  }

  withdraw(deliveries: readonly EventDelivery[]): void {
    if (this.#executor.memory.halts.onTrial) for (const { delivery } of deliveries) this.#withdrawn.add(delivery);
  }

  async #convict({ event, delivery, endpoint }: Claim, outcome: Outcome): Promise<void> {
    this.#parts.log.error({ event, delivery, endpoint }, outcome.detail);
    const url = (await this.#executor.lookUp(endpoint))?.url ?? "";
    const end = { delivery, endpoint, url, startedAt: this.#parts.clock.now(), secretVersion: null, outcome };
    this.#executor.do(ended(this.#executor.memory, [end], this.#executor.now()));
  }
}
