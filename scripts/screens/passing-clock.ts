/** A clock that begins in the past and can be advanced. Timers that fall due in between run in order. */
import { systemClock, type Clock } from "../../src/clock.ts";

interface Timer {
  readonly at: number;
  readonly run: () => void;
  cancel: () => void;
}

export class PassingClock implements Clock {
  readonly nextTurn = systemClock.nextTurn;
  readonly #timers = new Set<Timer>();
  #behind: number;
  #passed = 0;

  constructor(behindMs: number) {
    this.#behind = behindMs;
  }

  now(): number {
    return systemClock.now() - this.#behind;
  }

  monotonic(): number {
    return systemClock.monotonic() + this.#passed;
  }

  uptime(): number {
    return systemClock.uptime() + this.#passed;
  }

  after(delayMs: number, run: () => void): () => void {
    const timer: Timer = { at: this.monotonic() + delayMs, run, cancel: () => {} };
    this.#timers.add(timer);
    this.#arm(timer);
    return () => this.#drop(timer);
  }

  /** Lets `ms` whole milliseconds pass at once. */
  pass(ms: number): void {
    this.#behind -= ms;
    this.#passed += ms;
    for (const timer of [...this.#timers].toSorted((a, b) => a.at - b.at)) {
      timer.cancel();
      this.#arm(timer);
    }
  }

  #arm(timer: Timer): void {
    timer.cancel = systemClock.after(Math.max(0, timer.at - this.monotonic()), () => {
      this.#drop(timer);
      timer.run();
    });
  }

  #drop(timer: Timer): void {
    timer.cancel();
    this.#timers.delete(timer);
  }
}
