/** The clocks as memory has them: whether the wall clock was set, and the due times that move with it. */
import type { Position } from "../../domain/deliveries/delivery.ts";
import type { ClockChange, Ladder } from "../../domain/deliveries/due-time.ts";

/** One reading of the clocks, in milliseconds: instants are of the wall clock, durations of the monotonic one. */
export interface Now {
  readonly wall: number;
  readonly monotonic: number;
}

const SLACK_MS = 2000;
/** A clock that is slewed drifts from the other slowly: measured anew this often, it never adds up to a step. */
const SLEW_MS = 60_000;

/**
 * Notices when the wall clock was set. Instants are wall clock, so a retry that was planned before a step would come
 * early or late by its size. A suspended machine is no step, because time really passed.
 */
export class ClockSteps {
  readonly #uptimeNow: () => number;
  #last: Now;
  #uptime: number;

  /** `uptime`: milliseconds the machine has been up, suspended time included. Its answer is costly and coarse. */
  constructor(now: Now, uptime: () => number) {
    this.#uptimeNow = uptime;
    this.#last = now;
    this.#uptime = uptime();
  }

  /** Milliseconds by which the clock was set forward (or back, if negative) since the last check; 0 if it was not. */
  check(now: Now): number {
    const passed = now.monotonic - this.#last.monotonic;
    const apart = now.wall - this.#last.wall - passed;
    // Asked often, so the costly look at the uptime is for when something is up.
    if (Math.abs(apart) <= SLACK_MS) {
      if (passed > SLEW_MS) this.#restart(now);
      return 0;
    }
    const suspended = this.#uptimeNow() - this.#uptime - passed;
    this.#restart(now);
    // It is believed only where it clearly differs.
    const step = Math.abs(suspended) > SLACK_MS ? apart - suspended : apart;
    return Math.abs(step) > SLACK_MS ? step : 0;
  }

  #restart(now: Now): void {
    this.#last = now;
    this.#uptime = this.#uptimeNow();
  }
}

/** One setting of the clock, for every endpoint that memory knew then. */
export interface Move {
  readonly epoch: number;
  readonly change: ClockChange;
  /** By endpoint, the events whose due times were reckoned by the new clock already. */
  readonly settled: Map<string, Set<string>>;
  /** Still to be moved; `from` is how far the first of them has come. */
  readonly endpoints: string[];
  from: Position | null;
}

/**
 * Due times that move because the wall clock was set, so that a retry still comes its rung after the attempt before it:
 * never early, never later. Until an endpoint's deliveries are moved, nothing of it is read. A longer wait that a
 * receiver asked for may be cut to its rung by this: no row says which of the two it waits for.
 */
export class DueMoves {
  /** Counts the times that the clock was set: a due time belongs to the epoch in which it was reckoned. */
  epoch = 0;
  /** In the order in which they are to be made. */
  readonly pending: Move[] = [];
  readonly #ladder: Ladder;

  constructor(ladder: Ladder) {
    this.#ladder = ladder;
  }

  /** By so many milliseconds: forward, or back if negative; null where nobody knows, but back it was. */
  begin(by: number | null, { wall: at }: Now, endpoints: Iterable<string>): void {
    this.epoch++;
    const change = { by, at, ladder: this.#ladder };
    this.pending.push({ epoch: this.epoch, change, settled: new Map(), endpoints: [...endpoints], from: null });
  }

  /** The first move, at the first of its endpoints, has come as far as `next`; null for the end. */
  advance(next: Position | null): void {
    const move = this.pending[0]!;
    move.from = next;
    if (next === null) move.endpoints.shift();
  }

  /** The first move was made everywhere. */
  end(): void {
    this.pending.shift();
  }

  /**
   * A due time that was reckoned in `epoch` is about to be written: moves that come from later still apply to it. Said
   * before the write, because a move may share its commit.
   */
  noteWrite({ endpoint, event }: { endpoint: string; event: string }, epoch: number): void {
    for (const move of this.pending) if (move.epoch <= epoch) settledOf(move, endpoint).add(event);
  }
}

/** The events of the endpoint that the move must leave alone. */
export function settledOf({ settled }: Move, endpoint: string): Set<string> {
  let events = settled.get(endpoint);
  if (events === undefined) settled.set(endpoint, (events = new Set()));
  return events;
}
