/** Whether so much is sent that threads are worth their wake-ups: asked for at once, and no more after a rest. */
import type { Clock } from "../../clock.ts";

export interface DemandParts {
  readonly clock: Clock;
  /** More sends than this within a second ask for threads. */
  readonly busyPerSecond: number;
  /** After so long with less than half of that, there is no demand any more. */
  readonly restMs: number;
  readonly onBusy: () => void;
  readonly onRest: () => void;
}

const LOOK_MS = 1000;

export class Demand {
  readonly #parts: DemandParts;
  #counted = 0;
  #countedSince: number;
  #sinceRest = 0;
  #cancelTimer: (() => void) | null = null;

  constructor(parts: DemandParts) {
    this.#parts = parts;
    this.#countedSince = parts.clock.monotonic();
  }

  sent(sends: number): void {
    this.#sinceRest += sends;
    const now = this.#parts.clock.monotonic();
    if (now - this.#countedSince >= LOOK_MS) {
      this.#counted = 0;
      this.#countedSince = now;
    }
    this.#counted += sends;
    if (this.#counted > this.#parts.busyPerSecond && this.#cancelTimer === null) this.#parts.onBusy();
  }

  /** From now on `onRest` is to come, and `onBusy` is not. */
  awaitRest(): void {
    const { busyPerSecond, clock, onRest, restMs } = this.#parts;
    this.#sinceRest = 0;
    this.#cancelTimer = clock.after(restMs, () => {
      this.#cancelTimer = null;
      if (this.#sinceRest > (busyPerSecond / 2) * (restMs / 1000)) this.awaitRest();
      else onRest();
    });
  }

  /** Leaves no timer behind. */
  stop(): void {
    this.#cancelTimer?.();
  }
}
