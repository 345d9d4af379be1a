/**
 * Attempts that an operator asked for, outside the ladder. The store owes them until they are made; they are made as
 * soon as memory has no other claim of the same delivery loaded, so that two attempts never meet.
 *
 *   asked for ──► owed ──loaded for something else──► its release ──► owed
 *                  └──► taken up ──► sent ──► recorded ──► released: owed no more, or once again if interrupted
 *
 * Methods answer with the deliveries that the store is to be asked about.
 */
import type { EventDelivery } from "../../store/store.ts";
import type { Endpoints } from "./endpoints.ts";
import type { Halts } from "./halts.ts";
import type { Windows } from "./windows.ts";

/** Taken up at once: their bodies are in memory. */
const MAX_TAKEN = 256;
const NONE: readonly EventDelivery[] = [];

export class ManualAttempts {
  readonly #windows: Windows;
  readonly #endpoints: Endpoints;
  readonly #halts: Halts;
  readonly #isElsewhere: (endpoint: string) => boolean;
  /** What the store owes, as far as is known here, by delivery id. */
  readonly owed = new Map<string, EventDelivery>();
  /** Those whose own claim is loaded. */
  readonly #taken = new Set<string>();
  /** Those the store is being asked about; true when the answer may be old. */
  readonly #asking = new Map<string, boolean>();

  constructor(windows: Windows, endpoints: Endpoints, halts: Halts, isElsewhere: (endpoint: string) => boolean) {
    this.#isElsewhere = isElsewhere;
    this.#windows = windows;
    this.#endpoints = endpoints;
    this.#halts = halts;
  }

  /** Whether something is about to be taken up. */
  get busy(): boolean {
    return this.#asking.size > 0;
  }

  /** Those of the endpoint that were taken up and are loaded for it. */
  takenFor(endpoint: string): EventDelivery[] {
    return [...this.#taken]
      .flatMap((delivery) => this.owed.get(delivery) ?? [])
      .filter((owed) => owed.endpoint === endpoint);
  }

  /** The last process owed it; `retry` takes it up. */
  owe(owed: EventDelivery): void {
    this.owed.set(owed.delivery, owed);
  }

  /** It may be the owed one whose own claim was loaded, to be tried alone. */
  tried(delivery: string): void {
    if (this.owed.has(delivery)) this.#taken.add(delivery);
  }

  /** The store owes this one from now on. */
  request(owed: EventDelivery): readonly EventDelivery[] {
    this.owe(owed);
    return this.#consider(owed) ? [owed] : NONE;
  }

  /** Memory let go of a claim of this delivery, whatever it was loaded for. */
  released(delivery: string): readonly EventDelivery[] {
    if (this.#asking.has(delivery)) this.#asking.set(delivery, true);
    const wasTaken = this.#taken.delete(delivery);
    const owed = this.owed.get(delivery);
    const asked = owed !== undefined && this.#consider(owed) ? [owed] : [];
    return wasTaken ? [...asked, ...this.#refill()] : asked;
  }

  /** Looks at all that is owed again. */
  retry(): readonly EventDelivery[] {
    const asked: EventDelivery[] = [];
    for (const owed of this.owed.values()) {
      if (this.#isFull) break;
      if (this.#consider(owed)) asked.push(owed);
    }
    return asked;
  }

  /**
   * The store has answered: it owes the attempt, or no more. The answer is whether it is to be made now, and what to
   * ask the store next: the same again, if its answer may be old.
   */
  answered(owed: EventDelivery, isOwed: boolean): { readonly isMade: boolean; readonly ask: readonly EventDelivery[] } {
    if (this.#asking.get(owed.delivery) === true) {
      this.#asking.set(owed.delivery, false);
      return { isMade: false, ask: [owed] };
    }
    this.#asking.delete(owed.delivery);
    if (!isOwed) {
      this.owed.delete(owed.delivery);
      return { isMade: false, ask: this.#refill() };
    }
    // A read may have loaded it meanwhile: its release comes back here.
    const isMade = this.#mayStart(owed);
    if (isMade) this.#taken.add(owed.delivery);
    return { isMade, ask: NONE };
  }

  /** The store could not say; `retry` asks again. */
  notAnswered({ delivery }: EventDelivery): void {
    this.#asking.delete(delivery);
  }

  /** There is room for another. */
  #refill(): readonly EventDelivery[] {
    return this.owed.size > this.#taken.size + this.#asking.size ? this.retry() : NONE;
  }

  get #isFull(): boolean {
    return this.#taken.size + this.#asking.size >= MAX_TAKEN;
  }

  #mayStart({ endpoint, delivery }: EventDelivery): boolean {
    const { onTrial, stopping } = this.#halts;
    if (stopping || onTrial || this.#endpoints.isDamaged(endpoint) || this.#isElsewhere(endpoint)) return false;
    return this.#windows.find(endpoint, delivery) === undefined;
  }

  #consider(owed: EventDelivery): boolean {
    if (this.#isFull || this.#asking.has(owed.delivery) || !this.#mayStart(owed)) return false;
    this.#asking.set(owed.delivery, false);
    return true;
  }
}
