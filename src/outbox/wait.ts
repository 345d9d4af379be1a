/** Waits for a time, or until somebody ends it. An end between two waits ends the next one. */
import type { Clock } from "../clock.ts";

export class Wait {
  readonly #clock: Clock;
  #isEnded = false;
  #end: (() => void) | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Resolves to true if it was ended before its time. */
  async for(ms: number): Promise<boolean> {
    if (!this.#isEnded) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#end = resolve;
      const cancel = this.#clock.after(ms, resolve);
      await promise;
      cancel();
      this.#end = null;
    }
    const isEnded = this.#isEnded;
    this.#isEnded = false;
    return isEnded;
  }

  end(): void {
    this.#isEnded = true;
    this.#end?.();
  }
}
