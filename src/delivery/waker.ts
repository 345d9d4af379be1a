/**
 * Runs passes, one at a time: at each wake, and when something falls due before the next tick. A wake during a pass
 * makes one more pass and is never lost.
 */
import type { Clock } from "../clock.ts";

/** The tick comes each second; only what falls due before the next one gets a timer of its own. */
const TICK_MS = 1000;

export interface WakerParts {
  readonly clock: Clock;
  readonly pass: () => Promise<void>;
  readonly nextDueAt: () => number;
  /** A pass has ended and no other follows at once. */
  readonly onRest: () => void;
  readonly onError: (error: unknown) => void;
}

export class Waker {
  readonly #parts: WakerParts;
  #passing = false;
  #woken = false;
  #stopped = false;
  #cancelTimer: (() => void) | null = null;
  #timerAt = Number.POSITIVE_INFINITY;

  constructor(parts: WakerParts) {
    this.#parts = parts;
  }

  get passing(): boolean {
    return this.#passing;
  }

  wake(): void {
    this.#woken = true;
    if (this.#passing || this.#stopped) return;
    this.#passing = true;
    void this.#run();
  }

  /** Sleeps exactly until the next due time, if that comes before the next tick. */
  arm(): void {
    if (this.#stopped || this.#passing) return;
    const at = this.#parts.nextDueAt();
    const now = this.#parts.clock.now();
    if (at >= now + TICK_MS || at >= this.#timerAt) return;
    this.#disarm();
    this.#timerAt = at;
    this.#cancelTimer = this.#parts.clock.after(Math.max(1, at - now), () => {
      this.#disarm();
      this.wake();
    });
  }

  stop(): void {
    this.#stopped = true;
    this.#disarm();
  }

  async #run(): Promise<void> {
    try {
      while (this.#woken && !this.#stopped) {
        // Cleared before the pass, not after it.
        this.#woken = false;
        await this.#parts.pass();
      }
    } catch (error) {
      this.#parts.onError(error);
    }
    this.#passing = false;
    if (this.#woken && !this.#stopped) this.wake();
    else {
      this.arm();
      this.#parts.onRest();
    }
  }

  #disarm(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = null;
    this.#timerAt = Number.POSITIVE_INFINITY;
  }
}
