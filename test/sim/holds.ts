/** An operator who disables and enables endpoints, as the API does it: answered once nothing more is started. */
import type { Plant } from "./plants.ts";
import type { Process } from "./process.ts";
import type { Random } from "./random.ts";
import { unawaited } from "../../src/domain/unawaited.ts";

interface Asked {
  readonly enabled: boolean;
  /** From when on it may have been disabled: a disable of what is disabled takes nothing back. */
  readonly heldAt: number;
  answered: boolean;
}

export class Holds {
  readonly #random: Random;
  readonly #now: () => number;
  readonly #unheard: Plant["unheard"];
  /** What was asked for last, and whether it was answered. */
  readonly #asked = new Map<string, Asked>();
  readonly #monotonic: () => number;
  /** Where what was held was cancelled; when the last such answer came, Infinity while one may be on its way. */
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

  /** Whether it is known to be enabled: a full disk refuses to, and a process that dies never answers. */
  isOpen(endpoint: string): boolean {
    const asked = this.#asked.get(endpoint);
    return asked === undefined || (asked.enabled && asked.answered);
  }

  /**
   * Since when nothing may start but what is asked for by hand, or null: a disable was answered, and nobody has asked for
   * the opposite since.
   */
  heldSince(endpoint: string): number | null {
    const asked = this.#asked.get(endpoint);
    return asked !== undefined && !asked.enabled && asked.answered ? asked.heldAt : null;
  }

  /** Whether it may ever have been disabled. */
  wasDisabled(endpoint: string): boolean {
    return this.#asked.has(endpoint);
  }

  /** From when on nothing that is cancelled may be sent to it; null if nothing of it was cancelled. */
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
      // Refused by a full disk: it is as it was.
    }
  }
}
