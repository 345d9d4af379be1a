/** An operator who disables and enables endpoints, as the API does it: answered once nothing more is started. */
import type { Plant } from "./plants.ts";
import type { Process } from "./process.ts";

export class Holds {
  readonly #now: () => number;
  readonly #unheard: Plant["unheard"];
  /** What was asked for last, and whether it was answered. */
  readonly #asked = new Map<string, { readonly enabled: boolean; readonly at: number; answered: boolean }>();
  readonly #monotonic: () => number;

  constructor(now: () => number, monotonic: () => number, unheard: Plant["unheard"]) {
    this.#now = now;
    this.#monotonic = monotonic;
    this.#unheard = unheard;
  }

  toggle(process: Process, endpoint: string): void {
    void this.#set(process, endpoint, this.#asked.get(endpoint)?.enabled === false);
  }

  enable(process: Process, endpoint: string): void {
    void this.#set(process, endpoint, true);
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
    return asked !== undefined && !asked.enabled && asked.answered ? asked.at : null;
  }

  async #set(process: Process, endpoint: string, enabled: boolean): Promise<void> {
    const asked = { enabled, at: this.#monotonic(), answered: false };
    this.#asked.set(endpoint, asked);
    try {
      await process.store.updateEndpoint(null, endpoint, (settings) => ({ ...settings, enabled }), this.#now());
      if (this.#unheard !== (enabled ? "enable" : "disable")) await process.dispatcher.refresh(endpoint);
      asked.answered = process.alive;
    } catch {
      // Refused by a full disk: it is as it was.
    }
  }
}
