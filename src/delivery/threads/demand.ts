/**
 * Decides when there is so much to send that threads are worth their start and their wake-ups, and when they no longer
 * are.
 */
import type { Clock } from "../../clock.ts";

export interface DemandParts {
  readonly clock: Clock;
  /** Threads are wanted if there are more sends than this within a second, */
  readonly busyPerSecond: number;
  /** and more than this in total, without a quiet second in between. */
  readonly busyInAll: number;
  /** Threads are no longer wanted after this long with less than half of `busyPerSecond`. */
  readonly restMs: number;
  readonly onBusy: () => void;
  readonly onRest: () => void;
}

const LOOK_MS = 1000;
/**
 * Quiet time is measured in this many parts, so that it begins soon after a flood has ended rather than at the next
 * whole minute.
 */
const PARTS_OF_REST = 4;

export class Demand {
  readonly #parts: DemandParts;
  #counted = 0;
  #countedSince: number;
  /** The sends in the busy seconds up to this one. */
  #busySends = 0;
  /** The number of sends in this part of the quiet time, or of what may become one. */
  #inPart = 0;
  #cancelTimer: (() => void) | null = null;

  constructor(parts: DemandParts) {
    this.#parts = parts;
    this.#countedSince = parts.clock.monotonic();
  }

  sent(sends: number): void {
    const { busyInAll, busyPerSecond, clock, onBusy } = this.#parts;
    this.#inPart += sends;
    const now = clock.monotonic();
    const past = now - this.#countedSince;
    if (past >= LOOK_MS) {
      const wasBusy = this.#counted > busyPerSecond && past < 2 * LOOK_MS;
      this.#busySends = wasBusy ? this.#busySends + this.#counted : 0;
      this.#counted = 0;
      this.#countedSince = now;
    }
    this.#counted += sends;
    const isBusy = this.#counted > busyPerSecond && this.#busySends + this.#counted > busyInAll;
    if (isBusy && this.#cancelTimer === null) onBusy();
  }

  /** Waits for `onRest`; `onBusy` is not called until then. `quiet` is the number of quiet parts that are over. */
  awaitRest(quiet = 0): void {
    const { busyPerSecond, clock, onRest, restMs } = this.#parts;
    const partMs = restMs / PARTS_OF_REST;
    this.#inPart = 0;
    this.#cancelTimer = clock.after(partMs, () => {
      this.#cancelTimer = null;
      const isQuiet = this.#inPart <= (busyPerSecond / 2) * (partMs / 1000);
      if (!isQuiet) this.awaitRest();
      else if (quiet + 1 < PARTS_OF_REST) this.awaitRest(quiet + 1);
      else onRest();
    });
  }

  /** Leaves no timer behind. */
  stop(): void {
    this.#cancelTimer?.();
  }
}
