/** What a change of an endpoint, or its end, means for what memory holds of it. */
import type { Forgetting } from "./forgetting.ts";
import type { Handing } from "./handing.ts";
import type { ManualAttempts } from "./manual-attempts.ts";
import type { Releases } from "./releases.ts";
import type { Sending } from "./send/sending.ts";
import type { Targets } from "./targets.ts";
import type { DeliveryWatcher } from "./watcher.ts";
import type { Windows } from "./windows.ts";
import type { Withdrawal } from "./withdrawal.ts";

export interface EndpointChangesParts {
  readonly watcher?: Pick<DeliveryWatcher, "changed">;
  readonly windows: Windows;
  readonly targets: Targets;
  readonly sending: Pick<Sending, "forget">;
  readonly manual: Pick<ManualAttempts, "takenFor" | "takenInVainFor">;
  readonly withdrawal: Pick<Withdrawal, "withdraw">;
  readonly handing: Pick<Handing, "handOver">;
  readonly forgetting: Pick<Forgetting, "takeBack">;
  readonly releases: Pick<Releases, "release">;
  readonly wake: () => void;
  readonly onRest: () => void;
}

export class EndpointChanges {
  readonly #parts: EndpointChangesParts;

  constructor(parts: EndpointChangesParts) {
    this.#parts = parts;
  }

  /** As `Deliveries.refresh`. */
  async refresh(endpoint: string): Promise<void> {
    const { forgetting, handing, manual, targets, wake, watcher, windows, withdrawal } = this.#parts;
    watcher?.changed(endpoint);
    const target = await targets.renew(endpoint);
    if (target === null) return this.drop(endpoint);
    // What was asked for before it was disabled is owed no more; nor what was cancelled when it was enabled.
    const given = target.enabled ? await manual.takenInVainFor(endpoint) : manual.takenFor(endpoint);
    await withdrawal.withdraw(given);
    if (!target.enabled) await handing.handOver(target, await forgetting.takeBack(endpoint));
    windows.plan(windows.of(endpoint));
    wake();
  }

  /** As `Deliveries.drop`. */
  async drop(endpoint: string): Promise<void> {
    const { onRest, releases, sending, targets, watcher, windows } = this.#parts;
    watcher?.changed(endpoint);
    targets.forget(endpoint);
    windows.of(endpoint).nextDueAt = Number.POSITIVE_INFINITY;
    for (const delivery of await sending.forget(endpoint)) releases.release({ endpoint, delivery });
    onRest();
  }
}
