/** An operator who pauses and resumes everything, as the API does it: answered once nothing more is started. */
import type { Process } from "./process.ts";

export class Brake {
  readonly #now: () => number;
  /** What was asked for last, and whether it was answered. */
  #asked: { readonly paused: boolean; answered: boolean } = { paused: false, answered: true };

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Whether nothing may start: a pause was answered, and nobody has asked for the opposite since. */
  get holds(): boolean {
    return this.#asked.paused && this.#asked.answered;
  }

  /** Whether it is known to be off: a full disk refuses to let go, and a process that dies never answers. */
  get isOff(): boolean {
    return !this.#asked.paused && this.#asked.answered;
  }

  toggle(process: Process): void {
    void (this.#asked.paused ? this.resume(process) : this.#pause(process));
  }

  async resume(process: Process): Promise<void> {
    const asked = (this.#asked = asking(false));
    try {
      await process.store.resume();
      if (!process.alive) return;
      process.dispatcher.resume();
      asked.answered = true;
    } catch {
      // Refused by a full disk.
    }
  }

  async #pause(process: Process): Promise<void> {
    const asked = (this.#asked = asking(true));
    try {
      await process.store.pause({ reason: "simulated", by: "sim", at: this.#now() });
      await process.dispatcher.pause();
      asked.answered = process.alive;
    } catch {
      // Refused by a full disk.
    }
  }
}

function asking(paused: boolean): { readonly paused: boolean; answered: boolean } {
  return { paused, answered: false };
}
