import { uptime } from "node:os";

/**
 * The only reader of time. Wall time gives instants (epoch milliseconds); monotonic time gives durations and deadlines
 * (milliseconds from an arbitrary start; it never jumps).
 */
export interface Clock {
  now(): number;
  monotonic(): number;
  /**
   * Milliseconds since the machine started, including suspended time. Coarse; it distinguishes a suspended machine from
   * a clock that was set.
   */
  uptime(): number;
  /**
   * Calls `run` once after `delayMs` of monotonic time; the returned function cancels it. Meant for seconds, never for
   * rungs.
   */
  after(delayMs: number, run: () => void): () => void;
  /** Calls `run` in a later turn of the event loop, after the I/O that is ready now. */
  nextTurn(run: () => void): void;
}

/** `performance.now` counts from the start of each thread. Adding this makes all threads of a process agree. */
const TO_PROCESS = toProcess();

/** Keep the closest of several readings, because the thread may be preempted between reading the two clocks. */
function toProcess(): number {
  let best = { took: Number.POSITIVE_INFINITY, difference: 0 };
  for (let left = 5; left > 0; left--) {
    const before = performance.now();
    const common = Number(process.hrtime.bigint()) / 1e6;
    const took = performance.now() - before;
    if (took < best.took) best = { took, difference: common - before - took / 2 };
  }
  return best.difference;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now() + TO_PROCESS,
  uptime: () => uptime() * 1000,
  after(delayMs, run) {
    const timer = setTimeout(run, delayMs);
    return () => clearTimeout(timer);
  },
  nextTurn: (run) => void setImmediate(run),
};

/** Faster than any two clocks drift apart, unless one of them is set. */
const DRIFT = 0.0005;
/** The largest step of the clock at each answer, and the difference from which the database's clock counts as set. */
const SLEW_MS = 5;
const SET_MS = 500;

/**
 * The time of a database that several processes share, so that all of them agree on when something is due, whatever
 * their hosts' clocks say. Each answer of the database bounds the distance of its clock from the monotonic one. Several
 * answers together give narrower bounds than one does, and an answer outside the bounds means that the database's clock
 * was set.
 */
export class DatabaseClock implements Clock {
  readonly #host: Clock;
  /** The difference to the monotonic clock; NaN until the database has answered. */
  readonly #distance: Float64Array;
  #low = Number.NEGATIVE_INFINITY;
  #high = Number.POSITIVE_INFINITY;
  /** The time at which the bounds were measured, on the monotonic clock. */
  #boundAt = 0;
  #isSettled = false;

  /** `distance` comes from the same clock on another thread, which receives the answers. */
  constructor(host: Clock, distance: SharedArrayBuffer = noDistance()) {
    this.#host = host;
    this.#distance = new Float64Array(distance);
  }

  /** The shared state, for another thread of this process. */
  get distance(): SharedArrayBuffer {
    return this.#distance.buffer as SharedArrayBuffer;
  }

  /** Milliseconds by which the host's clock is ahead of the database's; null until the database has answered. */
  get aheadMs(): number | null {
    return Number.isNaN(this.#distance[0]!) ? null : Math.round(this.#host.now() - this.now());
  }

  /** The difference between the bounds on the distance. */
  get uncertaintyMs(): number {
    return this.#high - this.#low;
  }

  /** Call this once the distance is known well enough. From then on it changes only slowly. */
  settle(): void {
    this.#isSettled = true;
  }

  /** The database's clock showed `instant` at some moment between these two of the monotonic clock. */
  observe(instant: number, asked: number, answered: number): void {
    const widened = DRIFT * Math.max(0, asked - this.#boundAt);
    const [low, high] = [instant - answered, instant - asked];
    [this.#low, this.#high] = [Math.max(low, this.#low - widened), Math.min(high, this.#high + widened)];
    if (this.#low > this.#high) [this.#low, this.#high] = [low, high];
    this.#boundAt = asked;
    const before = this.#distance[0]!;
    const known = (this.#low + this.#high) / 2;
    const within = Math.min(Math.max(before, this.#low), this.#high);
    const isSet = Number.isNaN(before) || Math.abs(within - before) > SET_MS;
    // A retry waits from one reading of the clock to the next. If the clock jumped in between, it would be early.
    if (isSet || !this.#isSettled) this.#distance[0] = known;
    else this.#distance[0] = before + Math.min(Math.max(within - before, -SLEW_MS), SLEW_MS);
  }

  // These are properties, because some are passed on individually.
  readonly now = (): number => {
    const distance = this.#distance[0]!;
    return Number.isNaN(distance) ? this.#host.now() : Math.floor(this.#host.monotonic() + distance);
  };
  readonly monotonic = (): number => this.#host.monotonic();
  readonly uptime = (): number => this.#host.uptime();
  readonly after = (delayMs: number, run: () => void): (() => void) => this.#host.after(delayMs, run);
  readonly nextTurn = (run: () => void): void => this.#host.nextTurn(run);
}

/** Milliseconds by which this host's clock is ahead of `clock`; null if `clock` is the host's own. */
export function hostAheadMs(clock: Clock): number | null {
  return clock instanceof DatabaseClock ? clock.aheadMs : null;
}

function noDistance(): SharedArrayBuffer {
  const distance = new SharedArrayBuffer(Float64Array.BYTES_PER_ELEMENT);
  new Float64Array(distance)[0] = Number.NaN;
  return distance;
}

/** Work that may arrive all at once runs for this long at a time, so that other work can run in between. */
const SLICE_MS = 2;
/** The number of pieces that are done before the clock is read again. */
const UNTIMED = 8;

export class Slice {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #until: number;
  #done = 0;

  /** @param now on the monotonic clock; most slices end without another reading */
  constructor(clock: Pick<Clock, "monotonic">, now: number) {
    this.#clock = clock;
    this.#until = now + SLICE_MS;
  }

  /** Call this after each piece. Returns true if the remaining pieces must wait. */
  isOver(): boolean {
    return ++this.#done % UNTIMED === 0 && this.#clock.monotonic() >= this.#until;
  }
}

/** Runs each piece at once, unless so many ran before it in this turn that it must wait for a later one. */
export class Crowd {
  readonly #clock: Clock;
  #waiting: (() => void)[] = [];
  /** The slice of this turn. Null until something arrives in it. */
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
