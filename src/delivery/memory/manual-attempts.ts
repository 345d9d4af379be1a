/**
 * Attempts that an operator requested, outside the ladder. They stay in the store until they are made. One is made as
 * soon as memory has no other claim of the same delivery loaded, so that two attempts never overlap.
 *
 *   requested ──► wanted ──loaded for something else──► its release ──► wanted
 *                  └──► taken up ──► sent ──► recorded ──► released: done, or wanted again if interrupted
 *
 * Methods return the deliveries to ask the store about.
 */
import type { EventDelivery } from "../../store/store.ts";
import type { Endpoints } from "./endpoints.ts";
import type { Halts } from "./halts.ts";
import type { Windows } from "./windows.ts";

/** The maximum number that are taken up at a time, because their bodies are in memory. */
const MAX_TAKEN = 256;
const NONE: readonly EventDelivery[] = [];

export class ManualAttempts {
  readonly #windows: Windows;
  readonly #endpoints: Endpoints;
  readonly #halts: Halts;
  readonly #isElsewhere: (endpoint: string) => boolean;
  /** The requested attempts that the store holds, as far as this process knows, by delivery id. */
  readonly requested = new Map<string, EventDelivery>();
  /** Deliveries that are loaded for their requested attempt. */
  readonly #taken = new Set<string>();
  /** Deliveries about which the store is being asked. True if its answer may be out of date. */
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
      .flatMap((delivery) => this.requested.get(delivery) ?? [])
      .filter((wanted) => wanted.endpoint === endpoint);
  }

  /** A request was left behind by the last process. `retry` takes it up. */
  add(wanted: EventDelivery): void {
    this.requested.set(wanted.delivery, wanted);
  }

  /** Marks the delivery as taken up if it has a requested attempt, because a trial has loaded it. */
  tried(delivery: string): void {
    if (this.requested.has(delivery)) this.#taken.add(delivery);
  }

  /** An operator has just requested this attempt. */
  request(wanted: EventDelivery): readonly EventDelivery[] {
    this.add(wanted);
    return this.#consider(wanted) ? [wanted] : NONE;
  }

  /** Memory has released a claim of this delivery, whatever it was loaded for. */
  released(delivery: string): readonly EventDelivery[] {
    if (this.#asking.has(delivery)) this.#asking.set(delivery, true);
    const wasTaken = this.#taken.delete(delivery);
    const wanted = this.requested.get(delivery);
    const asked = wanted !== undefined && this.#consider(wanted) ? [wanted] : [];
    return wasTaken ? [...asked, ...this.#refill()] : asked;
  }

  /** Considers all requested attempts again. */
  retry(): readonly EventDelivery[] {
    const asked: EventDelivery[] = [];
    for (const wanted of this.requested.values()) {
      if (this.#isFull) break;
      if (this.#consider(wanted)) asked.push(wanted);
    }
    return asked;
  }

  /**
   * The store has answered whether it still holds the request. Returns whether to make the attempt now, and what to ask
   * next: the same again, if the answer may be out of date.
   */
  answered(
    wanted: EventDelivery,
    isRequested: boolean,
  ): { readonly isMade: boolean; readonly ask: readonly EventDelivery[] } {
    if (this.#asking.get(wanted.delivery) === true) {
      this.#asking.set(wanted.delivery, false);
      return { isMade: false, ask: [wanted] };
    }
    this.#asking.delete(wanted.delivery);
    if (!isRequested) {
      this.requested.delete(wanted.delivery);
      return { isMade: false, ask: this.#refill() };
    }
    // A read may have loaded the delivery in the meantime. Its release will lead back here.
    const isMade = this.#mayStart(wanted);
    if (isMade) this.#taken.add(wanted.delivery);
    return { isMade, ask: NONE };
  }

  /** The store could not answer. `retry` asks again. */
  notAnswered({ delivery }: EventDelivery): void {
    this.#asking.delete(delivery);
  }

  /** Takes up another attempt in place of one that ended. */
  #refill(): readonly EventDelivery[] {
    return this.requested.size > this.#taken.size + this.#asking.size ? this.retry() : NONE;
  }

  get #isFull(): boolean {
    return this.#taken.size + this.#asking.size >= MAX_TAKEN;
  }

  #mayStart({ endpoint, delivery }: EventDelivery): boolean {
    const { onTrial, stopping } = this.#halts;
    if (stopping || onTrial || this.#endpoints.damaged.has(endpoint) || this.#isElsewhere(endpoint)) return false;
    return this.#windows.find(endpoint, delivery) === undefined;
  }

  #consider(wanted: EventDelivery): boolean {
    if (this.#isFull || this.#asking.has(wanted.delivery) || !this.#mayStart(wanted)) return false;
    this.#asking.set(wanted.delivery, false);
    return true;
  }
}
