import type { Clock } from "../../src/clock.ts";

interface Event {
  readonly at: number;
  readonly order: number;
  readonly run: () => void;
}

/** Virtual time with one queue. Everything that waits is in it, and a seed decides the order. */
export class VirtualClock {
  monotonic = 0;
  #wall = Date.parse("2026-11-20T00:00:00.000Z");
  #order = 0;
  #queue: Event[] = [];

  /** Returns the clock of one process. While `isAlive` is false, its timers do nothing. */
  forProcess(isAlive: () => boolean): Clock {
    return {
      now: () => this.now(),
      monotonic: () => this.monotonic,
      uptime: () => this.monotonic,
      after: (delayMs, run) => this.at(this.monotonic + Math.max(0, delayMs), () => isAlive() && run()),
      nextTurn: (run) => void this.at(this.monotonic, () => isAlive() && run()),
    };
  }

  at(instant: number, run: () => void): () => void {
    const event = { at: Math.max(instant, this.monotonic), order: this.#order++, run };
    let index = this.#queue.length;
    while (index > 0 && this.#queue[index - 1]!.at > event.at) index--;
    this.#queue.splice(index, 0, event);
    return () => {
      const found = this.#queue.indexOf(event);
      if (found !== -1) this.#queue.splice(found, 1);
    };
  }

  now(): number {
    return Math.floor(this.#wall);
  }

  step(byMs: number): void {
    this.#wall += byMs;
  }

  /** Runs the next item that is due by `until`. If there is none, moves the time to `until` and returns false. */
  runNext(until: number): boolean {
    const next = this.#queue[0];
    if (next === undefined || next.at > until) {
      this.#pass(until);
      return false;
    }
    this.#queue.shift();
    this.#pass(next.at);
    next.run();
    return true;
  }

  #pass(to: number): void {
    this.#wall += to - this.monotonic;
    this.monotonic = to;
  }
}
