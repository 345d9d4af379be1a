import { uptime } from "node:os";

/**
 * The only reader of time. Wall time gives instants (epoch milliseconds), monotonic time gives durations and
 * deadlines (milliseconds from an arbitrary start; it never jumps).
 */
export interface Clock {
  now(): number;
  monotonic(): number;
  /** Milliseconds the machine has been up, suspended time included; coarse, for telling a suspend from a clock that was set. */
  uptime(): number;
  /** Calls `run` once after `delayMs` of monotonic time; the returned function cancels it. For seconds, never for rungs. */
  after(delayMs: number, run: () => void): () => void;
  /** Calls `run` in a later turn of the event loop, after the I/O that is ready now. */
  nextTurn(run: () => void): void;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  uptime: () => uptime() * 1000,
  after(delayMs, run) {
    const timer = setTimeout(run, delayMs);
    return () => clearTimeout(timer);
  },
  nextTurn: (run) => void setImmediate(run),
};

/** What may come in a crowd is done for so long at a time, so that others have their turns in between. */
const SLICE_MS = 2;
/** Pieces done before the clock is looked at again. */
const UNTIMED = 8;

export class Slice {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #until: number;
  #done = 0;

  /** @param now by the monotonic clock, which most slices end without another look at */
  constructor(clock: Pick<Clock, "monotonic">, now: number) {
    this.#clock = clock;
    this.#until = now + SLICE_MS;
  }

  /** Asked after each piece: whether the rest must wait. */
  isOver(): boolean {
    return ++this.#done % UNTIMED === 0 && this.#clock.monotonic() >= this.#until;
  }
}

/** A piece is done at once, unless so many came before it in this turn that it waits for a later one. */
export class Crowd {
  readonly #clock: Clock;
  #waiting: (() => void)[] = [];
  /** Of this turn; null until something comes in it. */
  #slice: Slice | null = null;
  #isOver = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  do(run: () => void): void {
    if (this.#isOver) return void this.#waiting.push(run);
    if (this.#slice === null) this.#begin();
    run();
    this.#isOver = this.#slice!.isOver();
  }

  #begin(): void {
    this.#slice = new Slice(this.#clock, this.#clock.monotonic());
    this.#clock.nextTurn(() => {
      this.#slice = null;
      this.#isOver = false;
      const waiting = this.#waiting;
      this.#waiting = [];
      for (const run of waiting) this.do(run);
    });
  }
}
