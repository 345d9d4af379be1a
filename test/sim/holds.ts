/** An operator who disables and enables endpoints as the API does. The response comes once nothing more is started. */
import type { Plant } from "./plants.ts";
import type { Process } from "./process.ts";
import type { Random } from "./random.ts";
import { unawaited } from "../../src/domain/unawaited.ts";

interface Asked {
  readonly enabled: boolean;
  /** The time since when the endpoint may have been disabled. A second disable cancels nothing. */
  readonly heldAt: number;
  answered: boolean;
}

export class Holds {
  readonly #random: Random;
  readonly #now: () => number;
  readonly #unheard: Plant["unheard"];
  /** The last request for each endpoint, and whether it was answered. */
  readonly #asked = new Map<string, Asked>();
  readonly #monotonic: () => number;
  /**
   * The time of the last response that cancelled held deliveries, by endpoint. Infinity while a response may be in
   * progress.
   */
  readonly #cancelledAt = new Map<string, number>();

  constructor(random: Random, now: () => number, monotonic: () => number, unheard: Plant["unheard"]) {
    this.#random = random;
    this.#now = now;
    this.#monotonic = monotonic;
    this.#unheard = unheard;
  }

  toggle(process: Process, endpoint: string): void {
    const enabled = this.#asked.get(endpoint)?.enabled === false;
    unawaited(this.#set(process, endpoint, enabled, enabled && this.#random.chance(0.3) ? "cancel" : "release"));
  }

  enable(process: Process, endpoint: string): void {
    unawaited(this.#set(process, endpoint, true, "release"));
  }

  /**
   * True if the endpoint is certainly enabled. A full disk refuses to enable it, and a process that dies does not
   * respond.
   */
  isOpen(endpoint: string): boolean {
    const asked = this.#asked.get(endpoint);
    return asked === undefined || (asked.enabled && asked.answered);
  }

  /**
   * The time since when only attempts by hand may start, because a disable was answered and no enable has been
   * requested since. Null if others may start.
   */
  heldSince(endpoint: string): number | null {
    const asked = this.#asked.get(endpoint);
    return asked !== undefined && !asked.enabled && asked.answered ? asked.heldAt : null;
  }

  /** True if the endpoint may have been disabled at any time. */
  wasDisabled(endpoint: string): boolean {
    return this.#asked.has(endpoint);
  }

  /** The time from which no cancelled delivery may be sent to the endpoint. Null if none was cancelled. */
  cancelledAt(endpoint: string): number | null {
    return this.#cancelledAt.get(endpoint) ?? null;
  }

  async #set(process: Process, endpoint: string, enabled: boolean, held: "release" | "cancel"): Promise<void> {
    const heldAt = this.isOpen(endpoint) ? this.#monotonic() : this.#asked.get(endpoint)!.heldAt;
    const asked = { enabled, heldAt, answered: false };
    this.#asked.set(endpoint, asked);
    if (held === "cancel") this.#cancelledAt.set(endpoint, Number.POSITIVE_INFINITY);
    try {
      await process.store.endpoints.update(null, endpoint, (settings) => ({ ...settings, enabled }), this.#now(), held);
      if (this.#unheard !== (enabled ? "enable" : "disable")) await process.dispatcher.refresh(endpoint);
      asked.answered = process.alive;
      if (asked.answered && held === "cancel") this.#cancelledAt.set(endpoint, this.#monotonic());
    } catch {
      // A full disk refused it, so nothing has changed.
    }
  }
}
