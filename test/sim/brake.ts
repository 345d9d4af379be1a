/** An operator who pauses and resumes everything, as the API does it: answered once nothing more is started. */
import type { Process } from "./process.ts";
import { unawaited } from "../../src/domain/unawaited.ts";

interface Asked {
  readonly paused: boolean;
  answered: boolean;
  saved: boolean;
}

export class Brake {
  readonly #now: () => number;
  /** What was asked for last, whether it was answered, and whether a restart will still know of it. */
  #asked: Asked = { paused: false, answered: true, saved: true };

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

  /** The process is gone. What the disk did not take went with it, or was written after all by a commit that failed. */
  onCrash(): void {
    if (!this.#asked.saved) this.#asked.answered = false;
  }

  /** A restored store sends nothing before somebody says so. */
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
      // Refused by a full disk.
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
      // Refused by a full disk.
    }
  }
}

function asking(paused: boolean): Asked {
  return { paused, answered: false, saved: true };
}
