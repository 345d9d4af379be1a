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
