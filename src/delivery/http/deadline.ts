import type { Clock } from "../../clock.ts";

/** Something with a time limit. It is in at most one list at a time. */
export abstract class Timed {
  dueAt = 0;
  list: Deadlines | null = null;
  before: Timed | null = null;
  after: Timed | null = null;

  /** Called once, outside any list, when the limit has passed. */
  abstract expire(): void;
}

/** A timer this late means that the process itself stood still. */
const STALLED_MS = 100;

/**
 * One time limit shared by all who have it. They become due in the order they came, so a linked list and one timer do
 * the work of a timer each; whatever ends in time leaves nothing behind.
 */
export class Deadlines {
  readonly #clock: Clock;
  readonly #limitMs: number;
  #first: Timed | null = null;
  #last: Timed | null = null;
  #cancelTimer: (() => void) | null = null;

  constructor(clock: Clock, limitMs: number) {
    this.#clock = clock;
    this.#limitMs = limitMs;
  }

  add(entry: Timed): void {
    entry.dueAt = this.#clock.monotonic() + this.#limitMs;
    entry.list = this;
    entry.before = this.#last;
    if (this.#last === null) this.#first = entry;
    else this.#last.after = entry;
    this.#last = entry;
    if (this.#cancelTimer === null) this.#arm(this.#limitMs);
  }

  remove(entry: Timed): void {
    if (entry.list !== this) return;
    if (entry.before === null) this.#first = entry.after;
    else entry.before.after = entry.after;
    if (entry.after === null) this.#last = entry.before;
    else entry.after.before = entry.before;
    entry.list = entry.before = entry.after = null;
  }

  /** Leaves no timer behind. What is in the list never becomes due. */
  close(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = null;
  }

  #arm(delayMs: number): void {
    this.#cancelTimer = this.#clock.after(delayMs, this.#ring);
  }

  readonly #ring = (): void => {
    this.#cancelTimer = null;
    const now = this.#clock.monotonic();
    // Answers that came during a stall still lie in the socket: they are read first, and count.
    if (this.#first !== null && now - this.#first.dueAt > STALLED_MS)
      this.#cancelTimer = this.#clock.after(1, this.#expire);
    else this.#expire();
  };

  readonly #expire = (): void => {
    this.#cancelTimer = null;
    const now = this.#clock.monotonic();
    for (let entry = this.#first; entry !== null && entry.dueAt <= now; entry = this.#first) {
      this.remove(entry);
      entry.expire();
    }
    if (this.#first !== null && this.#cancelTimer === null) this.#arm(Math.max(1, this.#first.dueAt - now));
  };
}
