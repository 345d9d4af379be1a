/** Whether so much is sent, and for so long, that threads are worth their start and their wake-ups; and no more after a rest. */
import type { Clock } from "../../clock.ts";

export interface DemandParts {
  readonly clock: Clock;
  /** More sends than this within a second ask for threads. */
  readonly busyPerSecond: number;
  /** And more than so many in all, with no quiet second among them. */
  readonly busyInAll: number;
  /** After so long with less than half of `busyPerSecond`, there is no demand any more. */
  readonly restMs: number;
  readonly onBusy: () => void;
  readonly onRest: () => void;
}

const LOOK_MS = 1000;
/** A rest is told in so many parts, so that it begins soon after a flood has ended, and not with the next whole minute. */
const PARTS_OF_REST = 4;

export class Demand {
  readonly #parts: DemandParts;
  #counted = 0;
  #countedSince: number;
  /** In the busy seconds up to this one. */
  #busySends = 0;
  /** In this part of a rest, or of what may become one. */
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

  /** From now on `onRest` is to come, and `onBusy` is not. `quiet`: how many parts of a rest are over. */
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
