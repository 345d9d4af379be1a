/**
 * Endpoints that the daemon disables by itself, where the operator asked for it: a receiver that says it is gone, or one
 * that has failed for too long. What such an endpoint is owed is held like that of any other that is disabled.
 */
import type { Clock } from "../clock.ts";
import type { Claim } from "../domain/delivery.ts";
import type { DisabledReason } from "../domain/endpoint.ts";
import { WebhookdError } from "../domain/errors.ts";
import type { Log } from "../log.ts";
import type { Store } from "../store/store.ts";
import type { Ended } from "./send/sending.ts";

export interface DisablingRules {
  /** At an answer of 410. */
  readonly onGone: boolean;
  /** After so many milliseconds of failures without a success; 0 for never. */
  readonly afterMs: number;
}

export interface DisablingParts {
  readonly store: Pick<Store, "endpoints">;
  readonly clock: Clock;
  readonly log: Log;
  readonly rules: DisablingRules;
  readonly onDisabled: (endpoint: string, reason: DisabledReason) => Promise<void>;
  readonly onFault: (error: unknown) => void;
}

export class Disabling {
  readonly #parts: DisablingParts;

  constructor(parts: DisablingParts) {
    this.#parts = parts;
  }

  /** A test says nothing of how its endpoint fares. */
  look({ trigger }: Claim, { endpoint, url, outcome }: Ended): void {
    const { onGone, afterMs } = this.#parts.rules;
    if (outcome.outcome !== "failed" || trigger === "test") return;
    if (onGone && outcome.statusCode === 410) this.#run(this.#disable(endpoint, url, "gone"));
    else if (afterMs > 0) this.#run(this.#disableIfFailing(endpoint, url));
  }

  async #disableIfFailing(endpoint: string, url: string): Promise<void> {
    const { store, clock, rules } = this.#parts;
    const since = await store.endpoints.failingSince(endpoint);
    if (since !== null && clock.now() - since >= rules.afterMs) await this.#disable(endpoint, url, "failing");
  }

  async #disable(endpoint: string, url: string, reason: DisabledReason): Promise<void> {
    const { store, clock, log, onDisabled } = this.#parts;
    if (!(await store.endpoints.disable(endpoint, url, reason, clock.now()))) return;
    log.warn({ endpoint, reason }, "endpoint.disabled");
    await onDisabled(endpoint, reason);
  }

  /** What the store does not take now, the next failure tries again. */
  #run(work: Promise<void>): void {
    work.catch((error: unknown) => {
      if (!(error instanceof WebhookdError)) this.#parts.onFault(error);
    });
  }
}
