import type { Clock } from "../../src/clock.ts";
import { PATIENT_MS } from "../../src/store/sqlite/engine/group-commit.ts";

interface Timer {
  at: number;
  order: number;
  run: () => void;
}

/**
 * Timers as short as this pace the disk and not the ladder. They run in real time: otherwise nothing would ever be
 * committed.
 */
const PACING_MS = 10;

/**
 * A clock that stands still until a test moves it. Its timers fire in order as it moves. Turns of the event loop are
 * real.
 */
export class ManualClock implements Clock {
  #wall: number;
  #monotonic = 0;
  #order = 0;
  #timers: Timer[] = [];

  constructor(start = Date.parse("2026-11-20T09:55:00.000Z")) {
    this.#wall = start;
  }

  now(): number {
    return this.#wall;
  }

  monotonic(): number {
    return this.#monotonic;
  }

  uptime(): number {
    return this.#monotonic;
  }

  after(delayMs: number, run: () => void): () => void {
    if (delayMs < PACING_MS || delayMs === PATIENT_MS) {
      const pacing = setTimeout(run, Math.min(delayMs, PACING_MS));
      return () => clearTimeout(pacing);
    }
    const timer = { at: this.#monotonic + Math.max(0, delayMs), order: this.#order++, run };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  }

  nextTurn(run: () => void): void {
    setImmediate(run);
  }

  /** Lets time pass. `duration` is milliseconds or text such as "30s", "2m" or "1h". */
  advance(duration: number | string): void {
    const end = this.#monotonic + toMs(duration);
    for (;;) {
      const next = this.#timers.filter((timer) => timer.at <= end).sort((a, b) => a.at - b.at || a.order - b.order)[0];
      if (next === undefined) break;
      this.#timers = this.#timers.filter((timer) => timer !== next);
      this.#pass(next.at - this.#monotonic);
      next.run();
    }
    this.#pass(end - this.#monotonic);
  }

  /** Sets the wall clock, as an administrator or NTP does, without letting time pass. */
  step(by: number | string): void {
    this.#wall += toMs(by);
  }

  #pass(ms: number): void {
    this.#monotonic += ms;
    this.#wall += ms;
  }
}

const UNITS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

function toMs(duration: number | string): number {
  if (typeof duration === "number") return duration;
  const [, sign, amount, unit] = /^(-?)(\d+)(ms|s|m|h)$/.exec(duration) ?? [];
  if (amount === undefined) throw new Error(`not a duration: ${duration}`);
  return (sign ? -1 : 1) * Number(amount) * UNITS[unit!]!;
}
