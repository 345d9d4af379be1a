/** An operator who pauses and resumes sending as the API does. The response comes once nothing more is started. */
import type { Process } from "./process.ts";
import { unawaited } from "../../src/domain/unawaited.ts";

interface Asked {
  readonly paused: boolean;
  answered: boolean;
  saved: boolean;
}

export class Brake {
  readonly #now: () => number;
  /** The last request, whether it was answered, and whether it would survive a restart. */
  #asked: Asked = { paused: false, answered: true, saved: true };

  constructor(now: () => number) {
    this.#now = now;
  }

  /** True if nothing may start: a pause was answered, and no resume has been requested since. */
  get holds(): boolean {
    return this.#asked.paused && this.#asked.answered;
  }

  /**
   * True if sending is certainly not paused. A full disk refuses to resume, and a process that dies does not respond.
   */
  get isOff(): boolean {
    return !this.#asked.paused && this.#asked.answered;
  }

  /** A pause that was not saved is lost with the process, unless a commit that failed saved it after all. */
  onCrash(): void {
    if (!this.#asked.saved) this.#asked.answered = false;
  }

  /** A restored store is paused until an operator resumes it. */
  restored(): void {
    this.#asked = { paused: true, answered: true, saved: true };
  }

  toggle(process: Process): void {
    unawaited(this.#asked.paused ? this.resume(process) : this.#pause(process));
  }

  async resume(process: Process): Promise<void> {
    const asked = (this.#asked = asking(false));
    try {
      await process.store.operations.resume();
      if (!process.alive) return;
      process.dispatcher.resume();
      asked.answered = true;
    } catch {
      // A full disk refused the resume.
    }
  }

  async #pause(process: Process): Promise<void> {
    const asked = (this.#asked = asking(true));
    try {
      const { saved = true } = await process.store.operations.pause({
        reason: "simulated",
        by: "sim",
        at: this.#now(),
      });
      await process.dispatcher.pause();
      asked.saved = saved;
      asked.answered = process.alive;
    } catch {
      // A full disk refused the pause.
    }
  }
}

function asking(paused: boolean): Asked {
  return { paused, answered: false, saved: true };
}
