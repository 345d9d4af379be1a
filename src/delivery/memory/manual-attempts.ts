/**
 * Attempts that an operator requested, outside the ladder. They stay in the store until they are made. One is made as
 * soon as memory has no other claim of the same delivery loaded, so that two attempts never overlap.
 *
 *   requested ──► owed ──loaded for something else──► its release ──► owed
 *                  └──► taken up ──► sent ──► recorded ──► released: done, or owed again if interrupted
 *
 * Methods return the deliveries that the store must be asked about.
 */
import type { EventDelivery } from "../../store/store.ts";
import type { Endpoints } from "./endpoints.ts";
import type { Halts } from "./halts.ts";
import type { Windows } from "./windows.ts";

/** The most that are taken up at once, because their bodies are in memory. */
const MAX_TAKEN = 256;
const NONE: readonly EventDelivery[] = [];

export class ManualAttempts {
  readonly #windows: Windows;
  readonly #endpoints: Endpoints;
  readonly #halts: Halts;
  readonly #isElsewhere: (endpoint: string) => boolean;
  /** The requested attempts that the store holds, as far as is known here, by delivery id. */
  readonly owed = new Map<string, EventDelivery>();
  /** Deliveries that are loaded for their requested attempt. */
  readonly #taken = new Set<string>();
  /** Deliveries that the store is being asked about; true if its answer may be out of date. */
  readonly #asking = new Map<string, boolean>();

  constructor(windows: Windows, endpoints: Endpoints, halts: Halts, isElsewhere: (endpoint: string) => boolean) {
    this.#isElsewhere = isElsewhere;
    this.#windows = windows;
    this.#endpoints = endpoints;
    this.#halts = halts;
  }

  /** True if something is about to be taken up. */
  get busy(): boolean {
    return this.#asking.size > 0;
  }

  /** The endpoint's deliveries that are loaded for a requested attempt. */
  takenFor(endpoint: string): EventDelivery[] {
    return [...this.#taken]
      .flatMap((delivery) => this.owed.get(delivery) ?? [])
      .filter((owed) => owed.endpoint === endpoint);
  }

  /** A request that the last process left behind; `retry` takes it up. */
  owe(owed: EventDelivery): void {
    this.owed.set(owed.delivery, owed);
  }

  /** Marks the delivery as taken up if it has a requested attempt, because a trial has loaded it. */
  tried(delivery: string): void {
    if (this.owed.has(delivery)) this.#taken.add(delivery);
  }

  /** An operator has just requested this attempt. */
  request(owed: EventDelivery): readonly EventDelivery[] {
    this.owe(owed);
    return this.#consider(owed) ? [owed] : NONE;
  }

  /** Memory has released a claim of this delivery, whatever it was loaded for. */
  released(delivery: string): readonly EventDelivery[] {
    if (this.#asking.has(delivery)) this.#asking.set(delivery, true);
    const wasTaken = this.#taken.delete(delivery);
    const owed = this.owed.get(delivery);
    const asked = owed !== undefined && this.#consider(owed) ? [owed] : [];
    return wasTaken ? [...asked, ...this.#refill()] : asked;
  }

  /** Considers all requested attempts again. */
  retry(): readonly EventDelivery[] {
    const asked: EventDelivery[] = [];
    for (const owed of this.owed.values()) {
      if (this.#isFull) break;
      if (this.#consider(owed)) asked.push(owed);
    }
    return asked;
  }

  /**
   * The store has answered whether it still holds the request. Returns whether to make the attempt now, and what to ask
   * next: the same again, if the answer may be out of date.
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
    // A read may have loaded the delivery meanwhile; its release will lead back here.
    const isMade = this.#mayStart(owed);
    if (isMade) this.#taken.add(owed.delivery);
    return { isMade, ask: NONE };
  }

  /** The store could not answer; `retry` asks again. */
  notAnswered({ delivery }: EventDelivery): void {
    this.#asking.delete(delivery);
  }

  /** Takes up another attempt in the place of one that ended. */
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
