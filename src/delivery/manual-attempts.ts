/**
 * Attempts that an operator asked for, outside the ladder. The store owes them until they are made; here they are made
 * as soon as memory holds no other claim of the same delivery, so that two attempts never meet.
 *
 *   asked for ──► owed ──held by another claim──► its release ──► owed
 *                  └──► taken up ──► sending ──► recorded ──► released: owed no more, or once again if interrupted
 */
import type { Claim } from "../domain/delivery.ts";
import { WebhookdError } from "../domain/errors.ts";
import type { EventDelivery, Store } from "../store/store.ts";

/** Taken up at once: their bodies are in memory. */
const MAX_TAKEN = 256;
const PAGE = 500;

export interface ManualAttemptsParts {
  readonly store: Pick<Store, "deliveries">;
  readonly isHeld: (of: EventDelivery) => boolean;
  readonly hold: (claim: Claim) => void;
  readonly send: (claim: Claim) => void;
  /** Nothing is handed to the sender while this is false; `retry` goes on. */
  readonly mayStart: (endpoint: string) => boolean;
  readonly onRest: () => void;
  readonly onFault: (error: unknown) => void;
}

export class ManualAttempts {
  readonly #parts: ManualAttemptsParts;
  /** What the store owes, as far as is known here, by delivery id. */
  readonly #owed = new Map<string, EventDelivery>();
  /** Those whose own claim memory holds. */
  readonly #taken = new Set<string>();
  /** Those the store is being asked about; true when the answer may be old. */
  readonly #asking = new Map<string, boolean>();

  constructor(parts: ManualAttemptsParts) {
    this.#parts = parts;
  }

  /** Whether something is about to be taken up. */
  get busy(): boolean {
    return this.#asking.size > 0;
  }

  /** What the last process owed. `retry` takes it up. */
  async load(): Promise<void> {
    for (let after: EventDelivery | null = null; ;) {
      const page: readonly EventDelivery[] = await this.#parts.store.deliveries.requestedAttempts(after, PAGE);
      for (const owed of page) this.#owed.set(owed.delivery, owed);
      if (page.length < PAGE) return;
      after = page.at(-1)!;
    }
  }

  /** Those of the endpoint that were taken up and are held for it. */
  takenFor(endpoint: string): EventDelivery[] {
    return [...this.#taken]
      .flatMap((delivery) => this.#owed.get(delivery) ?? [])
      .filter((owed) => owed.endpoint === endpoint);
  }

  /** Those of them that the store owes no more: what was held for the endpoint was cancelled. */
  async takenInVainFor(endpoint: string): Promise<EventDelivery[]> {
    const taken = this.takenFor(endpoint);
    const owed = await Promise.all(
      taken.map(({ delivery }) => this.#parts.store.deliveries.requestedAttempt(delivery)),
    );
    return taken.filter((_, at) => owed[at] === null);
  }

  /** The store owes this one from now on. */
  request(owed: EventDelivery): void {
    this.#owed.set(owed.delivery, owed);
    this.#consider(owed);
  }

  /** Memory let go of a claim of this delivery, whosever it was. */
  released(delivery: string): void {
    if (this.#owed.size === 0) return;
    if (this.#asking.has(delivery)) this.#asking.set(delivery, true);
    const wasTaken = this.#taken.delete(delivery);
    const owed = this.#owed.get(delivery);
    if (owed !== undefined) this.#consider(owed);
    if (wasTaken) this.#refill();
  }

  /** Looks at all that is owed again. */
  retry(): void {
    for (const owed of this.#owed.values()) {
      if (this.#isFull) return;
      this.#consider(owed);
    }
  }

  /** There is room for another. */
  #refill(): void {
    if (this.#owed.size > this.#taken.size + this.#asking.size) this.retry();
  }

  get #isFull(): boolean {
    return this.#taken.size + this.#asking.size >= MAX_TAKEN;
  }

  #consider(owed: EventDelivery): void {
    const { isHeld, mayStart } = this.#parts;
    if (this.#isFull || !mayStart(owed.endpoint) || isHeld(owed) || this.#asking.has(owed.delivery)) return;
    void this.#take(owed).catch((error: unknown) => {
      if (!(error instanceof WebhookdError)) this.#parts.onFault(error);
    });
  }

  async #take(owed: EventDelivery): Promise<void> {
    const { delivery } = owed;
    let claim: Claim | null;
    try {
      do {
        this.#asking.set(delivery, false);
        claim = await this.#parts.store.deliveries.requestedAttempt(delivery);
      } while (this.#asking.get(delivery) === true);
    } finally {
      this.#asking.delete(delivery);
    }
    if (claim === null) {
      this.#owed.delete(delivery);
      this.#refill();
    }
    // A read may have brought it in meanwhile: its release comes back here.
    else if (!this.#parts.isHeld(owed) && this.#parts.mayStart(owed.endpoint)) {
      this.#taken.add(delivery);
      this.#parts.hold(claim);
      this.#parts.send(claim);
    }
    this.#parts.onRest();
  }
}
